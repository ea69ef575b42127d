"""The BPF programs that may have dropped packets: of tc, XDP, control groups and routes.

`seen`: the drop and the host, as in `drop_causes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from ..collect.failed_calls import OPENED
from ..collect.ways import Question
from ..terms.text import most
from .filter_causes import again
from .peers import program
from .way.flow import Host
from .way.lookup import lookup

PROGRAMMED: Final = "run_lwt_bpf"  # the place of what a program of a route drops


def hooked(seen: Any) -> Mapping[str, Any]:
    """The BPF programs at the hook or interface, where no rule or filter is known to drop."""
    found = _programs(seen)
    if not found or seen.drop.filters:
        return {}
    first, _, place = found.most_common(1)[0][0].partition("@")
    number = place.rpartition("/")[2]
    return {"first": first, "place": place, "number": number, "programs": most(found)}


def by_xdp(seen: Any) -> Mapping[str, Any]:
    """The program of XDP at the interface."""
    return hooked(seen) if "_xdp" in seen.drop.place else {}


def grouped(seen: Any) -> Mapping[str, Any]:
    """The BPF programs of the receivers' control groups."""
    found = _programs(seen)
    if not found:
        return {}
    first = found.most_common(1)[0][0]
    named = most(Counter({program(one): count for one, count in found.items()}))
    return {"name": first.partition("@")[0], "first": program(first), "programs": named}


def sending(seen: Any) -> Mapping[str, Any]:
    """The BPF programs of the senders' control groups, and who sends."""
    found = grouped(seen)
    if not found:
        return {}
    to = {(row.to, str(row.to_port)) for row in seen.rows}
    who = Counter[str]()
    for call in seen.host.frame.rows("failed_calls"):
        if (call.address, call.port) in to and call.error != OPENED:
            who[f"{call.process}[{call.pid}]"] += call.events
    sole = len(_programs(seen)) == 1
    return {
        **found,
        "who": most(who) or "its processes",
        "verb": "rejects" if sole else "may reject",
        "raises": again(seen),
    }


def _programs(seen: Any) -> Counter[str]:
    """The packets by BPF program that may have dropped them, as NAME@PLACE."""
    found = Counter[str]()
    for row in seen.rows:
        for one in filter(None, row.by.split(",")):
            found[one] += row.packets
    return found


def programmed(seen: Any) -> Mapping[str, Any]:
    """The BPF programs of the routes to where such packets go."""
    found = Counter[str]()
    for row in seen.rows:
        found[route_programs(seen.host, row.to)] += row.packets
    named = most(found) if seen.drop.place == PROGRAMMED else ""
    return {"programs": named} if named else {}


def route_programs(host: Host, to: str) -> str:
    """The BPF programs of the route to an address, in words; empty: none is known."""
    routes = lookup(host, Question(to)).routes if to else ()
    return next((f"{row.programs} of route {row.to}" for row in routes if row.programs), "")
