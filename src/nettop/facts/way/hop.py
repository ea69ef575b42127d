"""Where a packet goes next: the kernel's answer, or what the tables say where it has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...collect.ways import UNASKED
from ...terms.dataclass import dataclass
from .host import Host
from .lookup import REFUSALS, Found, lookup

if TYPE_CHECKING:
    from ...collect.ways import Question

REFUSED: Final = {
    "EINVAL": "blackhole", "EHOSTUNREACH": "unreachable", "EACCES": "prohibit", "ENETUNREACH": "",
}  # fmt: skip
SENT: Final = ("unicast", "local", "broadcast", "multicast", "anycast")


@dataclass(frozen=True, slots=True)
class Hop:
    """The next step of a packet. `kind` as of routes; empty: no route."""

    kind: str = ""
    network: str | None = None
    table: int | None = None
    interface: str | None = None
    gateway: str | None = None
    address: str | None = None  # source address
    mtu: int | None = None
    error: str = ""  # errno of the kernel's refusal
    unasked: str = ""  # why the kernel was not asked; empty: it answered
    found: Found = Found()

    @property
    def goes(self) -> bool:
        """Whether there is a route that carries packets."""
        return self.kind in SENT


def routed(host: Host, question: Question) -> Hop:
    """The next hop of a packet."""
    found = lookup(host, question)
    answer = host.answer(question)
    if answer is not None and not answer.error:
        return Hop(answer.kind, answer.network, answer.table, answer.interface, answer.gateway,
                   answer.address, answer.mtu, found=found)  # fmt: skip
    if answer is not None and answer.error != UNASKED:
        kind = found.kind if found.kind in REFUSALS else REFUSED.get(answer.error, "")
        return Hop(kind, error=answer.error, found=found)
    why = "not asked yet" if answer is None else answer.why
    if not found.routes:
        return Hop(found.kind, unasked=why, found=found)
    first = next((row for row in found.routes if not row.dead), found.routes[0])
    interface = "lo" if first.kind == "local" else first.interface
    source = first.source or host.first(first.interface, first.family)
    return Hop(first.kind, first.to, first.table, interface, first.gateway, source, unasked=why,
               found=found)  # fmt: skip
