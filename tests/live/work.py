"""What the load of a host carries and loses, from the counters of both ends."""

from dataclasses import dataclass
from itertools import pairwise

from live.place import Place

FILES = "dev snmp snmp6 netstat"
FELL = 0.7  # of what was carried before: less is harm, not noise of a machine with two cores
ROSE = 2.0  # times the lost share of before, from LOST on: harm too
LOST = 0.01  # of the packets
LEAST = {"bits": 1e5, "datagrams": 10.0, "connections": 10.0}  # per second: less is no load
PLACES = {
    "datagrams": ("Udp InDatagrams", "Udp6InDatagrams"),
    "connections": ("Tcp PassiveOpens",),
    "lost": ("Tcp RetransSegs", "Udp RcvbufErrors", "Udp6RcvbufErrors", "TcpExt ListenDrops"),
}


@dataclass(frozen=True)
class Work:
    """A load for some seconds; all but `lost` are rates per second."""

    bits: float
    packets: float
    datagrams: float
    connections: float
    lost: float  # share of the packets: sent again, or dropped by a socket of either end

    def told(self) -> str:
        """The two figures that say most."""
        busy = max(("connections", "datagrams"), key=lambda name: float(getattr(self, name)))
        size = f"{self.bits / 1e6:,.1f} Mbit/s"
        if (often := float(getattr(self, busy))) >= LEAST[busy]:
            size += f", {often:,.0f} {busy}/s"
        return f"{size}, {self.lost:.1%} lost"


def counters(place: Place) -> dict[str, float]:
    """The sums of both ends that `Work` needs; of the interfaces, the busiest of this end."""
    here, there = (
        place.do(f"{end} sh -c 'cd /proc/net; for f in {FILES}; do cat $f; done'")
        for end in ("here", "there")
    )
    found = {"bits": 0.0, "packets": 0.0}
    for line in here.splitlines():
        name, colon, rest = line.partition(":")
        cells = rest.split()
        if colon and len(cells) == 16 and name.strip() != "lo":
            both = {"bits": 8.0 * (int(cells[0]) + int(cells[8])),
                    "packets": float(int(cells[1]) + int(cells[9]))}  # fmt: skip
            found = max(found, both, key=lambda one: one["bits"])
    values = [_named(text) for text in (here, there)]
    sums = {
        kind: sum(one.get(name, 0.0) for one in values for name in names)
        for kind, names in PLACES.items()
    }
    return {**found, **sums}


def between(before: dict[str, float], after: dict[str, float], seconds: float) -> Work:
    """What was carried meanwhile."""
    moved = {name: max(0.0, value - before[name]) for name, value in after.items()}
    lost = moved.pop("lost") / max(1.0, moved["packets"])
    return Work(**{name: value / seconds for name, value in moved.items()}, lost=lost)


def worse(before: Work, after: Work) -> list[str]:
    """In what the load carries less than before, or loses a larger share."""
    fell = [
        name
        for name, least in LEAST.items()
        if getattr(before, name) >= least and getattr(after, name) < FELL * getattr(before, name)
    ]
    return [*fell, *(["lost"] if after.lost > max(LOST, ROSE * before.lost) else [])]


def _named(text: str) -> dict[str, float]:
    """The tables of snmp and netstat, a line of names and one of values; snmp6, one each."""
    found: dict[str, float] = {}
    lines = text.splitlines()
    for one, other in pairwise(lines):
        group, colon, rest = one.partition(":")
        if colon and other.startswith(f"{group}:") and not rest.split()[0].lstrip("-").isdigit():
            pairs = zip(rest.split(), other.partition(":")[2].split(), strict=False)
            found |= {f"{group} {name}": float(value) for name, value in pairs}
    for line in lines:
        match line.split():
            case [name, value] if value.isdigit():
                found[name] = float(value)
    return found
