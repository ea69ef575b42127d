"""Types of a trial: options, progress, measurement and result."""

from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from typing import Any, TypeAlias

from ..changes import context
from ..terms.dataclass import DataclassInstance, dataclass

Document: TypeAlias = dict[str, Any]
"""JSON that a command prints or `results` stores; `schema.json` describes each field.

Rates are bit/s, durations seconds, latencies µs; gains and the ends of their intervals are shares
of the baseline: 0.03 is 3 %.
"""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of one trial. A tool refuses an option that it does not support."""

    to: str = "127.0.0.1"  # address of the other host
    # command prefix of the other host; None: the user started the server of the tool
    peer: str | None = None
    seconds: float = 10.0  # measured time, after the warm-up
    warmup: float = 1.0  # seconds of warm-up, not measured
    streams: int = 1
    reverse: bool | None = None  # the other host sends; None: not said, so this one
    bidirectional: bool = False
    udp: bool = False
    rate: float | None = None  # offered bit/s (paced); None: as fast as possible
    length: int | None = None  # bytes per write, or payload of a datagram
    window: int | None = None  # socket buffer, bytes; None: autotuning
    mss: int | None = None
    congestion: str | None = None
    zero_copy: bool = False
    busy_poll: int | None = None  # µs
    segments: int = 1  # datagrams of one send call
    cpu_here: tuple[int, ...] = ()  # cores of the tool; empty: all
    cpu_there: tuple[int, ...] = ()
    port: int | None = None
    interface: str | None = None  # capture and pktgen
    sizes: tuple[int, ...] = ()  # sweeps: payload bytes
    spacings: tuple[float, ...] = ()  # sweeps: microseconds between packets
    count: int | None = None  # packets or exchanges
    neighbour: int | None = None  # memory-intensive load on this core during the trial
    file: str | None = None  # bulk: the sender reads it
    into: str | None = None  # bulk: folder into which the receiver writes
    pid: int | None = None  # capture: observe the capture of this process
    no_ends: bool = False  # do not read both hosts during the load
    host: str | None = None  # command prefix of the end `here`; None: this machine

    @property
    def direction(self) -> str:
        """`send`, `receive` or `both`, seen from this host."""
        return "both" if self.bidirectional else "receive" if self.reverse else "send"


@dataclass(frozen=True, slots=True)
class Standing:
    """The intermediate result of an experiment with two states."""

    unit: str
    higher: bool  # whether more is better
    before: tuple[float, ...]
    after: tuple[float, ...]
    middle: float = 0.0  # the median relative gain of the pairs so far
    interval: tuple[float, float] | None = None  # None: no pair is complete


@dataclass(frozen=True, slots=True)
class Progress:
    """One second of a running trial or experiment, for a live plot."""

    what: str  # tool, or the step of an experiment
    second: float
    of: float  # seconds expected
    bits_per_second: float | None = None  # rate of the busiest interface of this host
    busy: tuple[float, ...] = ()  # percent busy of each core here
    note: str = ""
    busy_there: tuple[float, ...] = ()  # likewise of the other host; empty: unknown
    retransmits: int | None = None  # TCP segments retransmitted by the sender since the start
    resent: float | None = None  # of the segments sent: of the host that resends more
    standing: Standing | None = None  # of an experiment


def resent(totals: Mapping[str, float]) -> float:
    """The share of retransmitted segments among those that a host sent, from its counts."""
    return totals.get("TcpRetransSegs", 0.0) / max(totals.get("TcpOutSegs", 0.0), 1000.0)


@dataclass(frozen=True, slots=True)
class Interval:
    """About one second of a transfer, measured by the receiver."""

    start: float
    seconds: float
    bits_per_second: float
    retransmits: int | None = None


def steady(intervals: Sequence[Interval], warmup: float) -> tuple[Interval, ...]:
    """The intervals after the warm-up (seconds); all of them if there is none."""
    return tuple(i for i in intervals if i.start >= warmup - 0.1) or tuple(intervals)


def mean_rate(intervals: Sequence[Interval]) -> float | None:
    """The mean rate, weighted by duration; None without intervals."""
    seconds = sum(i.seconds for i in intervals)
    return sum(i.bits_per_second * i.seconds for i in intervals) / seconds if seconds else None


@dataclass(frozen=True, slots=True)
class Loss:
    """Packets that did not arrive."""

    sent: int
    received: int
    reordered: int | None = None

    @property
    def percent(self) -> float:
        """100 · (sent - received) / sent, never below zero."""
        return 100.0 * max(0, self.sent - self.received) / self.sent if self.sent else 0.0


@dataclass(frozen=True, slots=True)
class Latency:
    """A distribution of times in microseconds."""

    min: float
    p50: float
    p99: float
    p999: float
    max: float
    fwhm: float  # full width at half maximum of the main peak
    count: int
    unit: str = "us"
    histogram: tuple[tuple[float, int], ...] = ()  # (lower edge, count), empty bins left out


@dataclass(frozen=True, slots=True)
class Measured:
    """The output of a tool; values are those of the receiver."""

    version: str = ""
    bits_per_second: float | None = None
    intervals: tuple[Interval, ...] = ()
    bytes: int | None = None  # payload received in all, warm-up included
    lasted: float | None = None  # seconds that `bytes` took
    sent_bits_per_second: float | None = None
    retransmits: int | None = None
    loss: Loss | None = None
    latency: Latency | None = None
    details: Mapping[str, object] = field(default_factory=dict)  # fields of this tool only


@dataclass(frozen=True, slots=True)
class Check:
    """One plausibility check; `because` names the compared values."""

    name: str
    ok: bool
    because: str


@dataclass(frozen=True, slots=True)
class Side:
    """Activity of one host during the measured time."""

    host: str = ""
    kernel: str = ""
    cores: tuple[Mapping[str, float], ...] = ()  # percent by mode, with `cpu`
    interfaces: Mapping[str, Document] = field(default_factory=dict)
    totals: Mapping[str, float] = field(default_factory=dict)  # counts over the whole run

    def busiest(self) -> str | None:
        """The interface that moved the most bytes; None if none moved any."""
        moved = {n: f["rx_bytes"] + f["tx_bytes"] for n, f in self.interfaces.items()}
        return max(moved, key=lambda n: moved[n]) if moved else None


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The complete result of one trial."""

    tool: str
    options: Options
    measured: Measured
    here: Side
    there: Side
    settings: Mapping[str, str]
    checks: tuple[Check, ...]
    at: float  # wall clock seconds
    ends: Document | None = None  # what both ends showed; None: not read

    @property
    def bits_per_second(self) -> float | None:
        """The receiver's rate after the warm-up."""
        return self.measured.bits_per_second

    @property
    def faults(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if not check.ok)

    def document(self) -> Document:
        """The JSON of `nettop test`."""
        m, o = self.measured, self.options
        document: Document = {
            "tool": self.tool, "version": m.version, "at": self.at, "to": o.to,
            "streams": o.streams, "seconds": o.seconds, "direction": o.direction,
            "bits_per_second": m.bits_per_second,
            "intervals": [record(interval) for interval in m.intervals],
            "cores": {"here": list(self.here.cores), "there": list(self.there.cores)},
            "interfaces": {"here": self.here.interfaces, "there": self.there.interfaces},
            "totals": {"here": self.here.totals, "there": self.there.totals},
            "hosts": {
                "here": {"host": self.here.host, "kernel": self.here.kernel},
                "there": {"host": self.there.host, "kernel": self.there.kernel},
            },
            "settings": dict(self.settings),
            "checks": [record(check) for check in self.checks],
            "options": given(o),
        }  # fmt: skip
        if m.retransmits is not None:
            document["retransmits"] = m.retransmits
        if m.sent_bits_per_second is not None:
            document["sent_bits_per_second"] = m.sent_bits_per_second
        if m.loss is not None:
            document["loss"] = {**record(m.loss), "percent": m.loss.percent}
        if m.latency is not None:
            document["latency"] = record(m.latency)
        if m.details:
            document["details"] = dict(m.details)
        if self.ends is not None:
            document["ends"] = self.ends
        return document


def given(options: Options) -> Document:
    """The options that differ from their defaults, with `netns`: where the command runs.

    `netns` is the name of the network namespace of this process, if it has one (`ip netns`).
    """
    name = "" if options.host else context.netns().name
    differing = {
        f.name: getattr(options, f.name)
        for f in fields(options)
        if getattr(options, f.name) != f.default
    }
    return {**differing, "netns": name} if name else differing


def record(value: DataclassInstance) -> Document:
    """A flat dataclass as a JSON object, without fields that are None."""
    pairs = ((f.name, getattr(value, f.name)) for f in fields(value))
    return {name: item for name, item in pairs if item is not None}
