"""The JSON documents of trials: `--json` prints them, `results` stores them.

`schema.json` describes each field. Rates are bit/s, durations seconds, latencies µs. Gains and the
ends of their intervals are shares of the baseline: 0.03 is 3 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, NotRequired, TypedDict, TypeVar

T = TypeVar("T")
Record = dict[str, object]  # a flat dataclass, without unknown values


class Both(TypedDict, Generic[T]):
    """The same value of both hosts."""

    here: T
    there: T


class Interface(TypedDict, total=False):
    """An interface that carried traffic: counts of the whole run, rates of the measured time."""

    rx_bytes: int
    rx_packets: int
    rx_errors: int
    rx_dropped: int
    rx_fifo: int
    rx_frame: int
    tx_bytes: int
    tx_packets: int
    tx_errors: int
    tx_dropped: int
    mtu: int
    speed: int  # Mbit/s
    driver: str
    counts: str  # frames, or super-packets of a virtual device
    rx_bits_per_second: float
    tx_bits_per_second: float
    rx_packets_per_second: float
    tx_packets_per_second: float
    rx_payload_bytes: int
    tx_payload_bytes: int
    rx_wire_bits_per_second: float  # with preamble, FCS and gap; not of a virtual device
    tx_wire_bits_per_second: float


class HostName(TypedDict):
    """Node name and kernel release of a host; empty if unknown."""

    host: str
    kernel: str


class EndsDocument(TypedDict):
    """What limited the busiest flow of a test, and where it lost segments; seen from both ends."""

    here: str  # name of this host
    there: str
    writer: str
    reader: str
    end: str  # of the stage that limited: here there between
    stage: str
    name: str
    because: str
    sent: NotRequired[int]  # segments
    lost: NotRequired[list[float]]  # at least, at most, between the two stacks
    refused: NotRequired[int]  # segments, by the sender's own queues; sent again
    lost_end: NotRequired[str]  # of the place that lost most
    lost_stage: NotRequired[str]


class EndsRow(TypedDict):
    """In how many runs of an experiment a stage limited."""

    end: str  # here there between
    stage: str
    runs: int


class TestDocument(TypedDict):
    """One trial: `nettop test`."""

    tool: str
    version: str
    at: float
    to: str
    streams: int
    seconds: float
    direction: str
    bits_per_second: float | None
    intervals: list[Record]
    cores: Both[list[Mapping[str, float]]]
    interfaces: Both[Mapping[str, Interface]]
    totals: Both[Mapping[str, float]]
    hosts: Both[HostName]
    settings: dict[str, str]
    checks: list[Record]
    options: Record
    retransmits: NotRequired[int]
    sent_bits_per_second: NotRequired[float]
    loss: NotRequired[Record]
    latency: NotRequired[Record]
    details: NotRequired[Record]
    ends: NotRequired[EndsDocument]


class GuardRow(TypedDict):
    """A loss rate before and after, in losses per packet."""

    name: str
    a: float
    b: float
    alarm: float
    ok: bool


class ChangeRow(TypedDict):
    """A tested setting with its values, risk and equivalent command."""

    setting: str
    before: int | str | list[int]
    after: int | str | list[int]
    risk: str
    shell: str


class Forecast(TypedDict):
    """A prediction beside the measurement; `predicted` as in a finding."""

    predicted: dict[str, object] | None
    measured: float | None  # median rate with the change; None: another metric
    # whether it is within the prediction; None: nothing was predicted, or for other traffic
    inside: bool | None


class Conditions(TypedDict):
    """The conditions of a measurement."""

    at: float
    host: NotRequired[str]
    tool: str
    to: str
    peer: str | None
    streams: int
    run_seconds: float
    options: NotRequired[Record]  # of each run, those that differ from their defaults
    no_ends: NotRequired[bool]  # both hosts were not read during the load
    changed_at: NotRequired[str]  # prefix of the other host whose settings were changed
    changed_by: NotRequired[str]  # the words that run the nettop there, with that prefix
    kernel: str
    version: NotRequired[str]
    drivers: NotRequired[dict[str, str]]
    ends: NotRequired[list[EndsRow]]
    settings: NotRequired[dict[str, str]]


class OutcomeFields(TypedDict):
    """The comparison of two states: `a` is the baseline, `b` the change."""

    metric: str
    unit: str
    a: list[float]
    b: list[float]
    median_difference: float
    interval: list[float]
    confidence: float
    verdict: str
    because: str
    kept: bool
    guards: list[GuardRow]
    steady_baseline: bool
    seconds: float
    minimum_seconds: float


class ProveDocument(OutcomeFields, Forecast, Conditions):
    """One proof: `nettop prove`."""

    finding: str
    changes: list[ChangeRow]
    ids: list[int]  # journal entries of the kept changes


class SweepRow(TypedDict):
    """One value of a sweep; state 0 has no comparison."""

    value: str
    figures: list[float]
    median: float
    median_difference: NotRequired[float]
    interval: NotRequired[list[float]]
    confidence: NotRequired[float]
    verdict: NotRequired[str]
    because: NotRequired[str]


class SweepDocument(Conditions):
    """One sweep: `nettop sweep`."""

    setting: str
    metric: str
    unit: str
    rows: list[SweepRow]
    best: str
    margin: float
    verdict: str
    kept: bool
    ids: list[int]


class TuneStep(TypedDict):
    """The proof of one finding: kept, not kept or skipped, and why."""

    finding: str
    title: str
    state: str
    because: str
    median_difference: NotRequired[float]
    interval: NotRequired[list[float]]
    verdict: NotRequired[str]
    predicted: NotRequired[dict[str, object] | None]
    measured: NotRequired[float | None]
    inside: NotRequired[bool | None]


class TuneTotal(TypedDict):
    """The gain of all kept changes; `by` names how it was computed from several."""

    median_difference: float
    interval: list[float]
    confidence: NotRequired[float]
    by: NotRequired[str]


class TuneDocument(Conditions):
    """One tuning: `nettop tune`."""

    budget: float
    seconds: float
    steps: list[TuneStep]
    total: TuneTotal | None
    gains: list[float]
    ids: list[int]
    undo: str | None
    cancelled: bool


class Measurement(TypedDict):
    """A measured cell of a published table, in the published unit."""

    measured: float
    retransmits: NotRequired[int]
    asked: NotRequired[float]  # bit/s of datagrams, without preamble and gap
    offered: NotRequired[float]  # the rate at which they were sent
    seconds: float
    faults: NotRequired[list[str]]
    latency: NotRequired[Mapping[str, object]]
    points: NotRequired[object]  # of a sweep, as in its own result


class StudyRow(TypedDict, total=False):
    """A cell of a published table, measured or skipped; `published`: number, pair or words."""

    point: str
    published: object
    unit: str  # if it is not that of the study
    suspect: bool
    incomparable: str  # why there is no ratio
    against: str  # the point that this one is a change of
    skipped: str
    measured: float  # the median of `samples`
    samples: list[float]  # of each run, if there are several
    retransmits: int
    asked: float  # bit/s of datagrams
    offered: float
    seconds: float
    faults: list[str]
    latency: Mapping[str, object]
    points: object


class StudyDocument(TypedDict):
    """One repeated table: `nettop study run`."""

    study: str
    title: str
    paper: str
    place: str
    tool: str
    unit: str
    at: float
    to: str
    options: NotRequired[Record]  # of all runs, those that differ from their defaults
    repeats: NotRequired[int]
    conditions: Mapping[str, Mapping[str, object]]
    requires: Sequence[str]
    notes: Sequence[str]
    encodes: Sequence[str]
    rows: list[StudyRow]
    cancelled: bool
