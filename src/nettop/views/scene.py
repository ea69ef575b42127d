"""The input of a pane: the `Scene` (data of the host) and the `View` (what the user looks at).

Both are immutable. `build` makes scenes, keys make views, panes read both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, TypedDict, Unpack

from ..facts import Facts
from ..frame.rates import Frame
from ..terms.text import Line
from ..terms.units import Units
from .options import Options
from .origin import SceneOrigin
from .past import History, PortRates, Summary

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding, Silent
    from ..config.edit import Value
    from ..facts.kinds.nic import Counters, Nic
    from ..facts.pair import Joined, Unmatched

IN_FORCE: Final = frozenset({"applied", "rounded", "pending", "begun"})  # states of a change
_IDLE: Final = 1000.0  # bytes/s below which an interface is idle


@dataclass(frozen=True, slots=True)
class Step:
    """One change that a finding recommends: values, equivalent command, risk."""

    setting: str
    before: str
    after: str
    shell: str = ""
    risk: str = "none"
    because: str = ""  # why it cannot be done here; empty if it can


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One change in the journal."""

    id: str
    wall: float
    setting: str
    before: str
    after: str
    state: str  # applied rounded pending reverted undone conflict refused unchanged seen
    finding: str = ""
    user: str = ""
    because: str = ""
    since: str = ""  # how something else changed the setting since
    host: str = ""  # the other end of the flows, where it was made there


@dataclass(frozen=True, slots=True)
class StoredResult:
    """One stored test or experiment, as the list of results shows it."""

    id: str
    wall: float
    tool: str
    title: str
    bits_per_second: float | None = None
    figures: tuple[tuple[str, str], ...] = ()  # label, text
    intervals: tuple[float, ...] = ()  # bit/s of each second
    verdict: str = ""
    unit: str = ""
    before: tuple[float, ...] = ()  # of a proof: the values of its pairs
    after: tuple[float, ...] = ()
    interval: tuple[float, float] = (0.0, 0.0)  # of the relative median difference
    middle: float = 0.0  # that difference
    higher: bool | None = None  # whether a higher value is better
    rows: tuple[tuple[str, str, str, str, str], ...] = ()  # point, published, measured, ratio, note
    study: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)  # in force
    spread: tuple[str, tuple[tuple[float, int], ...]] = ("", ())  # title, (µs, count)
    points: tuple[tuple[str, float, str], ...] = ()  # of a sweep: label, value, remark
    to: str = ""  # address of the peer


@dataclass(frozen=True, slots=True)
class Paper:
    """A study: a published table that can be repeated here."""

    id: str
    title: str
    paper: str
    place: str
    tool: str
    unit: str
    points: tuple[tuple[str, str, str], ...] = ()  # name, published, why it is never run
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunningTest:
    """The running test; times in seconds."""

    title: str
    elapsed: float
    seconds: float
    intervals: tuple[float, ...] = ()  # bit/s of each second
    retransmits: float | None = None
    here: Mapping[int, float] = field(default_factory=dict)  # CPU: percent busy
    there: Mapping[int, float] = field(default_factory=dict)
    stage: str = ""
    proof: StoredResult | None = None  # the pairs of a proof so far


@dataclass(frozen=True, slots=True)
class Pending:
    """A change that reverts at `deadline` (wall seconds) unless confirmed."""

    id: str
    setting: str
    deadline: float


@dataclass(frozen=True, slots=True)
class Question:
    """A question before a write: it shows what would be written. Enter agrees, Esc cancels."""

    title: str
    sheets: tuple[tuple[str, tuple[Line, ...]], ...]  # name (a file, a format) and its lines
    verb: str  # what Enter does: change, keep, undo, mute, prove, sweep, tune, study, …
    yes: str = "do it"  # the text beside Enter
    changes: tuple[tuple[str, str, str], ...] = ()  # setting, before, after: exactly these
    finding: str = ""  # or the study, or the name on the list of muted findings
    warnings: tuple[str, ...] = ()  # other owners, automatic revert, what cannot persist
    entries: tuple[str, ...] = ()  # numbers of journal entries; of tune: its findings
    wanted: tuple[tuple[str, str], ...] = ()  # of keep and prove: setting, value
    files: tuple[tuple[str, str], ...] = ()  # of keep: path, text
    identities: tuple[str, ...] = ()  # the device or process of each change, "" where unknown
    whole: bool = True  # Enter agrees only after every row of the sheet was on the screen
    host: str = ""  # the other end of the flows, where it is done there
    form: tuple[tuple[str, str], ...] = ()  # of prove at another host: the options of the test


@dataclass(frozen=True, slots=True)
class Ended:
    """A finding that held during this run and no longer holds."""

    finding: Finding
    steps: tuple[Step, ...] = ()  # its recommended changes, as they were shown
    wall: float = 0.0  # time of the first sample in which it did not hold


@dataclass(frozen=True, slots=True)
class Peer:
    """The other end of the flows (--peer), and what both ends show of the joined flows."""

    hosts: tuple[str, str]  # names of this host and of the other
    message: str = ""  # why there is no new picture; the last one stays
    joined: tuple[Joined, ...] = ()
    unmatched: tuple[Unmatched, ...] = ()
    findings: tuple[Finding, ...] = ()  # of the other host; ids, targets and titles name it
    plans: Mapping[str, tuple[Step, ...]] = field(default_factory=dict)  # by finding id
    clock: str = ""  # of a recorded pair: how far the clocks are apart
    way: str = ""  # the words before `nettop` that run it there
    ended: tuple[str, ...] = ()  # flows that ended in the last seconds, while both ends saw them


@dataclass(frozen=True, slots=True)
class Note:
    """One message: the result of a key, or why it could not be done."""

    text: str
    role: str = ""
    wall: float = 0.0


_MOMENT: Final[Mapping[str, bool]] = {"kept": False}  # a field that each sample sets
_KEPT: Final[Mapping[str, bool]] = {"kept": True}  # a field that stays from scene to scene


@dataclass(frozen=True)
class Scene:
    """Everything that a pane may draw at one moment.

    `build.merge` reads the metadata of the fields; a field without metadata is a KeyError there.
    """

    facts: Facts | None = field(default=None, metadata=_MOMENT)
    frame: Frame | None = field(default=None, metadata=_MOMENT)
    findings: tuple[Finding, ...] = field(default=(), metadata=_MOMENT)
    silent: tuple[Silent, ...] = field(default=(), metadata=_MOMENT)  # lazy: see `build.scene_of`
    plans: Mapping[str, tuple[Step, ...]] = field(default_factory=dict, metadata=_MOMENT)
    muted: tuple[Finding, ...] = field(default=(), metadata=_MOMENT)  # muted ones that hold
    past: History = field(default_factory=History, metadata=_MOMENT)
    ended: tuple[Ended, ...] = field(default=(), metadata=_MOMENT)  # latest first
    seen: tuple[JournalEntry, ...] = field(default=(), metadata=_MOMENT)  # see `altered`
    notes: tuple[Note, ...] = field(default=(), metadata=_MOMENT)
    recording: str = field(default="", metadata=_MOMENT)  # the file being written
    interval: float = field(default=1.0, metadata=_MOMENT)  # seconds between samples
    wall: float = field(default=0.0, metadata=_MOMENT)
    shortfall: str = field(default="", metadata=_MOMENT)  # why too little was read to judge
    boxed: bool = field(default=False, metadata=_MOMENT)  # it comes from the black box
    stretched: Mapping[str, float] = field(
        default_factory=dict, metadata=_MOMENT
    )  # seconds between readings of tables that wait longer, to keep the budget
    quiet: float = field(default=0.0, metadata=_MOMENT)  # the same, while no data moves
    ages: Mapping[str, float] = field(default_factory=dict, metadata=_MOMENT)  # s, of `stretched`

    peer: Peer | None = field(default=None, metadata=_MOMENT)

    journal: tuple[JournalEntry, ...] = field(default=(), metadata=_KEPT)
    results: tuple[StoredResult, ...] = field(default=(), metadata=_KEPT)
    studies: tuple[Paper, ...] = field(default=(), metadata=_KEPT)  # lazy
    progress: RunningTest | None = field(default=None, metadata=_KEPT)
    pending: tuple[Pending, ...] = field(default=(), metadata=_KEPT)
    question: Question | None = field(default=None, metadata=_KEPT)
    mutes: tuple[str, ...] = field(default=(), metadata=_KEPT)  # the list of muted findings
    origin: SceneOrigin | None = field(default=None, metadata=_KEPT)  # None: this host
    units: Units = field(default_factory=Units, metadata=_KEPT)
    ordinary: bool = field(default=False, metadata=_KEPT)  # nettop runs here without root
    processor: str = field(default="", metadata=_KEPT)  # model name; empty until it is known
    tools: tuple[str, ...] = field(default=("iperf3", "bulk"), metadata=_KEPT)  # test tools
    about: Mapping[str, str] = field(default_factory=dict, metadata=_KEPT)  # what a tool measures
    stored: Mapping[str, Value] = field(default_factory=dict, metadata=_KEPT)  # options of the file
    ago: float = field(default=0.0, metadata=_KEPT)  # seconds before the present; 0: the present

    @property
    def distant(self) -> bool:
        """Whether another host is shown (--host), where an installed nettop can make changes."""
        return self.origin is not None and self.origin.kind == "host"

    def finding(self, id_: str) -> Finding | None:
        """The finding of that id: one that holds, is muted, or ended during this run."""
        known = (*self.findings, *self.muted, *(one.finding for one in self.ended))
        known += self.peer.findings if self.peer is not None else ()
        return next((f for f in known if f.id == id_), None)

    def steps(self, id_: str) -> tuple[Step, ...]:
        """The steps of a finding, also of one that has ended."""
        if id_ in self.plans:
            return self.plans[id_]
        if self.peer is not None and id_ in self.peer.plans:
            return self.peer.plans[id_]
        return next((one.steps for one in self.ended if one.finding.id == id_), ())

    @cached_property
    def foremost(self) -> Nic | None:
        """The interface that is shown if none is chosen: see `nic_of`."""
        nics = self.facts.nics if self.facts is not None else ()
        known = {nic.name: nic for nic in nics}
        for finding in self.findings:
            name = str(finding.target).partition("/")[0]
            if finding.severity == "critical" and name in known:
                return known[name]
        recent: dict[str, float] = {}
        for moment in self.past.fine[-10:]:
            for name, moved in _moved(moment).items():
                if moved > recent.get(name, 0.0):
                    recent[name] = moved

        def rate(nic: Nic) -> float:
            return max(_bytes(nic.per_s), recent.get(nic.name, 0.0))

        def rank(nic: Nic) -> tuple[bool | float, ...]:
            real, local = nic.kind == "nic", nic.kind == "loopback"
            weight = rate(nic) * (100 if real else 0.01 if local else 1)
            return (
                not local or weight >= _IDLE,
                real or nic.master is None,
                weight if weight >= _IDLE else 0.0,
                not local,
                real,
                bool(nic.carrier),
                bool(nic.carries_ssh),
            )

        return max(nics, key=rank, default=None)


@dataclass(frozen=True, slots=True)
class Spot:
    """Cursor, scroll position, sort order and filter of one pane."""

    on: str = ""  # id of the row under the cursor: it follows its row when the order changes
    index: int = 0  # of that row; the cursor's place if the row is gone
    top: int = 0  # first visible line of a text longer than the screen
    left: int = 0  # first visible column of a matrix wider than the screen
    sort: int = 0
    invert: bool = False
    filter: str = ""
    open: str = ""  # id of the item whose detail is shown
    mode: int = 0  # for the pane's own keys, for example seconds or hours


class _Changes(TypedDict, total=False):
    """The fields of a `Spot`, all optional: the arguments of `View.at`."""

    on: str
    index: int
    top: int
    left: int
    sort: int
    invert: bool
    filter: str
    open: str
    mode: int


@dataclass(frozen=True, slots=True)
class Left:
    """A place that Enter on a figure left, for Esc to lead back to."""

    pane: str
    spots: Mapping[str, Spot]
    nic: str
    opened: str  # the detail that was opened at the other place


@dataclass(frozen=True, slots=True)
class View:
    """What the user looks at: pane, cursor, filter, sort order. Keys and the mouse change it."""

    pane: str = "overview"
    spots: Mapping[str, Spot] = field(default_factory=dict)
    nic: str = ""  # the chosen interface; empty: the busiest
    profile: str = ""  # chosen profile; empty: detected
    paused: bool = False
    typing: bool = False  # keys go into the filter
    help: bool = False
    fold_idle: bool = True  # one line for all idle cores
    driver_names: bool = False  # the driver's own counter names
    reasons: bool = False  # count packet drops by kernel reason
    span: int = 0  # index in SPANS of the history pane
    marks: tuple[float, ...] = ()  # the ruler: moments (monotonic seconds), at most two
    form: Mapping[str, str] = field(default_factory=dict)  # edited values of the test form
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # chosen, by pane
    options: Options = field(default_factory=Options)  # in effect in this run
    editing: str = ""  # the form field or setting whose value is typed
    draft: str = ""  # the text typed so far
    untouched: bool = False  # the draft is the old value: the first character replaces it
    sheet: int = 0  # index of the question's sheet
    scroll: int = 0  # first visible row of that sheet
    read: int = 0  # rows of the sheet that were on the screen
    unread: int = -1  # rows of the sheet that were not yet; -1: none was
    proving: str = ""  # the finding to prove once its address is typed
    back: tuple[Left, ...] = ()  # the places that Esc leads back to, the last one first
    full: bool = False  # the graph of the pane on the whole screen
    moment: float = 0.0  # the moment shown (wall seconds); 0: the present

    @property
    def spot(self) -> Spot:
        """The spot of the pane shown."""
        return self.spots.get(self.pane, Spot())

    def at(self, **changes: Unpack[_Changes]) -> View:
        """The view with changes to the spot of the pane shown."""
        return replace(self, spots={**self.spots, self.pane: replace(self.spot, **changes)})


def under(items: tuple[str, ...], spot: Spot) -> int:
    """The index of the row under a cursor that is bound to an id; -1 if that row is gone.

    A cursor that was not painted yet has no id; its row is `spot.index`.
    """
    if spot.on:
        return items.index(spot.on) if spot.on in items else -1
    return min(spot.index, len(items) - 1)


def chosen(items: tuple[str, ...], spot: Spot) -> int:
    """The index of the row under the cursor: by id, else by the last index; -1 without rows."""
    if spot.on in items:
        return items.index(spot.on)
    return min(spot.index, len(items) - 1)


def nic_of(scene: Scene, view: View) -> Nic | None:
    """The interface shown: the chosen one, else that of a critical finding, else the busiest.

    The rate of a real NIC counts a hundredfold, so that a container's veth is chosen only while the
    NIC is idle; that of loopback counts a hundredth. The highest rate of the last ten seconds
    counts, so that the choice is stable.
    """
    facts = scene.facts
    if facts is None or not facts.nics:
        return None
    return next((nic for nic in facts.nics if nic.name == view.nic), None) or scene.foremost


@lru_cache(maxsize=16)
def _moved(moment: Summary) -> Mapping[str, float]:
    """The rate of each interface at that moment, both directions together, bytes/s."""
    return {name: rate for name, rates in moment.ports.items() if (rate := _bytes(rates))}


def _bytes(rate: Counters | PortRates) -> float:
    """Both directions of a `Counters` or a `Port` together, bytes/s; unknown counts as 0."""
    rx, tx = (rate.rx, rate.tx) if isinstance(rate, PortRates) else (rate.rx_bytes, rate.tx_bytes)
    return (rx or 0.0) + (tx or 0.0)
