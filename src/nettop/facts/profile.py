"""The profile of the host, from its present traffic: packet sizes, round trips, capture sockets.

The thresholds are engineering judgement, not measurement. The user's choice has priority, and the
reason is always shown. The profile changes only after another one was seen for `STEADY` seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..terms.dataclass import dataclass
from ..terms.units import many, seconds
from . import Profile
from .counters import middle
from .kinds.capture import Capture
from .kinds.flow import Flow
from .kinds.nic import Nic

QUIET: Final = 125_000.0  # bytes/s: below 1 Mbit/s there is no profile
BUSY_PACKETS: Final = 1000.0  # packets/s: at this rate small packets are the purpose of the host
BULK_FRAME: Final = 1000.0  # bytes
SMALL_FRAME: Final = 300.0
LAN_RTT: Final = 0.002  # seconds
WAN_RTT: Final = 0.010
LATENCY_RTT: Final = 0.001
JUMBO: Final = 9216  # bytes: what is longer is segmented by the card, or later
FEW_FLOWS: Final = 64
STEADY: Final = 5.0  # seconds for which another profile must be seen to replace the present one


@dataclass(frozen=True, slots=True)
class Guess:
    """A profile with its reason; `sure` is False if there is too little traffic to decide."""

    name: str
    why: str
    sure: bool = True


def guess(nics: Sequence[Nic], flows: Sequence[Flow], captures: Sequence[Capture]) -> Guess:
    """The profile that the traffic of one frame suggests."""
    seen = _capturing(nics, captures)
    if seen is not None:
        return seen
    ports = [nic for nic in nics if nic.kind == "nic"] or [
        nic for nic in nics if nic.kind not in ("loopback", "bond", "bridge", "vlan")
    ]
    moved, frame, packets = _traffic(ports)
    small = frame is not None and frame < SMALL_FRAME and packets >= BUSY_PACKETS
    if frame is None or (moved < QUIET and not small):
        return Guess("server", "the default while there is little traffic", sure=False)
    trips = [
        trip for flow in flows if (trip := _trip(flow)) is not None and (flow.bulk or _moves(flow))
    ]
    trip = middle(trips)
    seen_text = f"mean packet {frame:.0f} bytes" if frame <= JUMBO else "offloaded segments"
    if trip is None:
        return Guess("server", seen_text)
    seen_text += f", median least round trip {seconds(trip)}"
    if frame > BULK_FRAME and trip > WAN_RTT:
        return Guess("bulk-wan", seen_text)
    if frame > BULK_FRAME and trip < LAN_RTT:
        return Guess("bulk-lan", seen_text)
    if small and trip < LATENCY_RTT and len(trips) <= FEW_FLOWS:
        return Guess("latency", f"{seen_text}, {many(len(trips), 'flows')}")
    return Guess("server", seen_text)


@dataclass(slots=True)
class Chooser:
    """The profile in force. It stays the same while the guesses of single frames alternate."""

    current: Guess | None = None
    other: Guess | None = None
    since: float = 0.0

    def choose(self, wanted: str | None, found: Guess, at: float) -> Profile:
        """The user's profile `wanted`; without one, the profile guessed for `STEADY` seconds."""
        if wanted:
            return Profile(wanted, "chosen", chosen=True)
        current = self.current
        if current is None or not current.sure or found.name == current.name:
            if current is None or found.sure:
                self.current = found
            self.other = None
        elif found.sure:
            if self.other is None or self.other.name != found.name:
                self.other, self.since = found, at
            elif at - self.since >= STEADY:
                self.current, self.other = found, None
        else:
            self.other = None
        now = self.current or found
        return Profile(now.name, now.why)


def _capturing(nics: Sequence[Nic], captures: Sequence[Capture]) -> Guess | None:
    """The profile `capture` if a packet socket has a ring, a fanout, losses or a promiscuous NIC.

    DHCP clients and LLDP daemons have packet sockets too.
    """
    ports = {nic.name: nic for nic in nics if nic.kind != "loopback"}
    for one in captures:
        port = ports.get(one.nic or "")
        if one.nic is not None and port is None:
            continue
        takes_all = port is not None and bool(port.promisc) and port.master is None
        if one.ring_version is not None or one.fanout is not None or one.drops_per_s or takes_all:
            where = one.nic or "every interface"
            return Guess("capture", f"{one.process or 'a packet socket'} captures on {where}")
    return None


def _traffic(ports: Sequence[Nic]) -> tuple[float, float | None, float]:
    """Bytes/s of the busier direction, its mean packet in bytes (or None), packets/s of both."""
    rates = [nic.per_s for nic in ports]
    moving = [rate for rate in rates if rate.rx_packets or rate.tx_packets]
    ways = [
        (sum(getattr(rate, size) or 0 for rate in moving),
         sum(getattr(rate, count) or 0 for rate in moving))
        for size, count in (("rx_bytes", "rx_packets"), ("tx_bytes", "tx_packets"))
    ]  # fmt: skip
    size, count = max(ways)
    return size, (size / count if count else None), ways[0][1] + ways[1][1]


def _trip(flow: Flow) -> float | None:
    """The minimum round trip if known, in seconds: the mean would include queues of a full link."""
    return flow.min_rtt if flow.min_rtt is not None else flow.rtt


def _moves(flow: Flow) -> bool:
    return bool(flow.rx_per_s or flow.tx_per_s)
