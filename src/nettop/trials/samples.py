"""Samples of both hosts, one per second during a trial, and their summary: a `Side` per host.

The same program (`far/sample.py`) samples both hosts, so that the values are comparable.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field
from typing import Final, TypeVar

from ..terms.dataclass import dataclass
from .end import ANSWER, End, Peer, PeerError
from .far.schema import LinkState, Message
from .result import Document, Options, Progress, Side, resent

T = TypeVar("T")

MODES: Final = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
COUNTERS: Final = (
    "rx_bytes", "rx_packets", "rx_errors", "rx_dropped", "rx_fifo", "rx_frame",
    "tx_bytes", "tx_packets", "tx_errors", "tx_dropped",
)  # fmt: skip
# Ethernet 14 + IPv4 20 + TCP 20 + TCP timestamps 12, in each frame or super-packet
TCP_OVERHEAD: Final = 66
IPV6_MORE: Final = 20
# Drivers that count packets of up to 64 KiB from the stack, not frames on a wire
SUPER: Final = frozenset({"virtio_net", "xen-netfront", "hv_netvsc"})

SYSCTLS: Final = (
    "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_timestamps", "net.ipv4.tcp_sack", "net.ipv4.tcp_window_scaling",
    "net.core.rmem_max", "net.core.wmem_max", "net.core.rmem_default", "net.core.default_qdisc",
    "net.core.netdev_max_backlog", "net.core.netdev_budget",
)  # fmt: skip


@dataclass
class Samples:
    """The samplers of both ends (`here`, `there`) and their messages."""

    ends: dict[str, End] = field(default_factory=dict)
    about: dict[str, Message] = field(default_factory=dict)  # the message about each host
    points: dict[str, list[Message]] = field(default_factory=lambda: {"here": [], "there": []})

    def begin(self, stack: ExitStack, here: Peer, there: Peer | None) -> None:
        """Start the samplers and wait for the first sample of each; PeerError."""
        for name, where in (("here", here), ("there", there)):
            if where is None:
                continue
            end = stack.enter_context(where.start("sample", {}))
            self.ends[name] = end
        for name in self.ends:
            while not self.points[name]:
                if not self._take(name, ANSWER):
                    raise PeerError(f"the sampler {self.ends[name].where} ended at once")

    def _take(self, name: str, seconds: float) -> bool:
        """Read one message of a sampler; False if there is none within `seconds`."""
        try:
            message = self.ends[name].receive(seconds)
        except TimeoutError:
            if seconds:
                raise PeerError(f"the sampler {self.ends[name].where} does not answer") from None
            return False
        if message is None:
            return False
        if "cores" in message:
            self.points[name].append(message)
        elif "links" in message:
            self.about[name] = message
        return True

    def progress(self, options: Options, begun: float | None, length: float) -> Iterator[Progress]:
        """The samples since the last call as progress; none before traffic began (`begun`)."""
        before = len(self.points["here"])
        for name in self.ends:
            while self._take(name, 0.0):
                pass
        if begun is None or "here" not in self.ends:
            return
        far = self.points["there"][-2:]
        for old, new in zip(
            self.points["here"][before - 1 :], self.points["here"][before:], strict=False
        ):
            seconds = new["at"] - old["at"]
            if seconds > 0:
                rates = [
                    8 * max(n[0] - o[0], n[6] - o[6]) / seconds
                    for o, n in _pairs(old["interfaces"], new["interfaces"])
                ]
                yield Progress(
                    options.direction, max(0.0, new["arrived"] - begun), length,
                    max(rates, default=None), _busy(old, new),
                    busy_there=_busy(*far) if len(far) > 1 else (),
                    retransmits=self._retransmits("there" if options.reverse else "here"),
                    resent=self._resent(),
                )  # fmt: skip

    def _retransmits(self, sender: str) -> int | None:
        """TCP segments that the sender retransmitted since its first sample; None: unknown."""
        points = self.points[sender]
        if len(points) < 2 or "TcpRetransSegs" not in points[0]["totals"]:
            return None
        now = points[-1]["totals"].get("TcpRetransSegs", 0)
        return max(0, int(now - points[0]["totals"]["TcpRetransSegs"]))

    def _resent(self) -> float | None:
        """The share of segments sent again, as the verdict of an experiment has it."""
        every = (points for points in self.points.values() if len(points) > 1)
        return max((resent(_counted(points[0], points[-1])) for points in every), default=None)

    def finish(self) -> None:
        """Stop the samplers and read their last samples."""
        for end in self.ends.values():
            end.stop()
        for name, end in self.ends.items():
            for message in end.messages(5.0):
                if "cores" in message:
                    self.points[name].append(message)

    def sides(self, begun: float | None, options: Options) -> tuple[Side, Side]:
        """Both hosts during the measured time; empty without two samples."""
        return self._side("here", begun, options), self._side("there", begun, options)

    def _side(self, name: str, begun: float | None, options: Options) -> Side:
        points = self.points[name]
        if len(points) < 2:
            return Side()
        start = (begun or points[0]["arrived"]) + options.warmup
        steady = [p for p in points if start - 0.1 <= p["arrived"] <= start + options.seconds + 0.1]
        first, last = (steady[0], steady[-1]) if len(steady) > 1 else (points[0], points[-1])
        links = self.about[name]["links"]
        return Side(
            host=self.about[name].get("host", ""),
            kernel=self.about[name].get("kernel", ""),
            cores=tuple(_cores(first["cores"], last["cores"])),
            interfaces=_interfaces(points[0], points[-1], first, last, links, ":" in options.to),
            totals=_totals(points[0], points[-1]),
        )


def _pairs(old: Mapping[str, T], new: Mapping[str, T]) -> Iterator[tuple[T, T]]:
    return ((old[name], new[name]) for name in new if name in old)


def _busy(old: Message, new: Message) -> tuple[float, ...]:
    return tuple(
        100.0 - core["idle"] - core["iowait"] for core in _cores(old["cores"], new["cores"])
    )


def _cores(
    old: Mapping[str, Sequence[int]], new: Mapping[str, Sequence[int]]
) -> Iterator[dict[str, float]]:
    """The time of each core by mode, in percent, with its number `cpu`."""
    for cpu in sorted(set(old) & set(new), key=int):
        steps = [max(0, b - a) for a, b in zip(old[cpu], new[cpu], strict=True)]
        whole = sum(steps)
        if whole:
            shares = {m: round(100.0 * s / whole, 1) for m, s in zip(MODES, steps, strict=True)}
            yield {"cpu": int(cpu), **shares}


def _interfaces(
    begin: Message,
    end: Message,
    first: Message,
    last: Message,
    links: Mapping[str, LinkState],
    v6: bool,
) -> dict[str, Document]:
    """Interfaces with traffic: counts from `begin` to `end`, rates from `first` to `last`."""
    by_name = {}
    headers = TCP_OVERHEAD + IPV6_MORE * v6
    seconds = max(1e-9, last["at"] - first["at"])
    for name in end["interfaces"]:
        if name not in begin["interfaces"]:
            continue
        counts = _differences(COUNTERS, begin["interfaces"][name], end["interfaces"][name])
        if not counts["rx_packets"] + counts["tx_packets"]:
            continue
        rates = _differences(COUNTERS, first["interfaces"][name], last["interfaces"][name])
        link = links.get(name, {})
        driver = link.get("driver")
        virtual = name == "lo" or "subsystem" not in link or driver in SUPER
        entry: dict[str, object] = {
            **counts,
            "mtu": link.get("mtu"),
            "speed": link.get("speed"),
            "driver": driver,
            "counts": "super-packets" if virtual else "frames",
            "rx_bits_per_second": 8 * rates["rx_bytes"] / seconds,
            "tx_bits_per_second": 8 * rates["tx_bytes"] / seconds,
            "rx_packets_per_second": rates["rx_packets"] / seconds,
            "tx_packets_per_second": rates["tx_packets"] / seconds,
            "rx_payload_bytes": max(0, counts["rx_bytes"] - headers * counts["rx_packets"]),
            "tx_payload_bytes": max(0, counts["tx_bytes"] - headers * counts["tx_packets"]),
        }
        if not virtual:  # preamble, FCS and gap are on the wire, but not in the counters
            for side in ("rx", "tx"):
                wire = rates[f"{side}_bytes"] + 24 * rates[f"{side}_packets"]
                entry[f"{side}_wire_bits_per_second"] = 8 * wire / seconds
        known = {key: value for key, value in entry.items() if value is not None}
        by_name[name] = known
    return by_name


def _differences(names: Sequence[str], old: Sequence[int], new: Sequence[int]) -> dict[str, int]:
    return {n: max(0, b - a) for n, a, b in zip(names, old, new, strict=True)}


def _counted(begin: Message, end: Message) -> dict[str, float]:
    """The counts of TCP and UDP between two samples."""
    return {
        name: float(end["totals"][name] - begin["totals"][name])
        for name in end["totals"]
        if name in begin["totals"]
    }


def _totals(begin: Message, end: Message) -> dict[str, float]:
    """TCP, UDP, softnet and interrupt counts of the whole run."""
    totals = _counted(begin, end)
    for column, name in enumerate(("SoftnetProcessed", "SoftnetDropped", "SoftnetSqueezed")):
        before = sum(row[column] for row in begin["softnet"])
        totals[name] = float(max(0, sum(row[column] for row in end["softnet"]) - before))
    taken = sum(end["interrupts"]) - sum(begin["interrupts"])
    totals["Interrupts"] = float(max(0, taken))
    return totals


NIC: Final = (
    "link.mtu", "ring.rx", "ring.tx", "channels.combined", "coalesce.adaptive-rx",
    "coalesce.rx-usecs", "pause.rx", "feature.rx-gro", "feature.tx-tcp-segmentation",
    "feature.tx-generic-segmentation",
)  # fmt: skip


def settings_in_force(interface: str | None = None) -> dict[str, str]:
    """The settings of this host that affect a transfer, by address, as far as they can be read."""
    from .. import settings as tunables
    from ..host.source import Live

    in_force = {}
    source = Live()
    for name in NIC if interface else ():
        address = f"{name}@{interface}"
        try:
            in_force[address] = tunables.read(source, tunables.parse(address))
        except (OSError, ValueError, LookupError):
            continue  # not supported by this driver
    for name in SYSCTLS:
        try:
            with open("/proc/sys/" + name.replace(".", "/")) as file:
                in_force[f"sysctl.{name}"] = " ".join(file.read().split())
        except OSError:
            continue
    return in_force
