"""Drops of a host of `way_tables`, as facts tell them."""

from types import SimpleNamespace
from typing import Any, Final

from way_tables import SOUND

from nettop.collect import drop_reasons
from nettop.facts.kinds.drop import Drop, build
from nettop.frame.pairs import entries
from nettop.frame.rates import Frame

WIDTH: Final = 2.0
FACTS: Any = SimpleNamespace(
    nics=(), host=SimpleNamespace(few_ports=None, udp_in=None, ip_in=None),
    sysctls={"net.ipv4.ip_local_port_range": "32768\t60999"},
)  # fmt: skip


def seen(reason: str = "OTHERHOST", place: str = "ip_rcv_core", **more: Any) -> drop_reasons.Row:
    known: dict[str, Any] = {
        "source": "10.0.0.2", "source_port": 40000, "to": "10.0.0.1", "to_port": 80, **more,
    }  # fmt: skip
    return drop_reasons.Row(reason, place, "here", "2", "udp", "80", 40, WIDTH, **known)


def told(*rows: drop_reasons.Row, entries_of: Any = None, **tables: Any) -> Drop:
    read: dict[str, Any] = {"drop_reasons": entries(rows, (), 1.0)}
    for name, found in {**SOUND, **tables}.items():
        read[name] = list(entries(found, (), 1.0))
    (found,) = build(Frame(9.0, 9.0, {**read, **(entries_of or {})}, {}, {}), FACTS)
    return found
