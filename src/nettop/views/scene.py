"""What a pane draws: the `Scene` (data of the host) and the `View` (what the user looks at).

Both are immutable. `build` makes scenes, keys make views, panes read both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypedDict, Unpack

from ..facts import Facts
from ..facts.kinds.nic import Counters, Nic
from ..frame.rates import Frame
from ..terms.text import Line
from ..terms.units import Units
from .past import Past, Port

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding, Silent

STANDING: Final = frozenset({"applied", "rounded", "pending", "begun"})  # states of a change
_RESTING: Final = 1000.0  # bytes/s below which an interface is idle


@dataclass(frozen=True, slots=True)
class Step:
    """One change that a finding would make: the command an expert would type, and the risk."""

    setting: str
    before: str
    after: str
    shell: str = ""
    risk: str = "none"
    because: str = ""  # why it cannot be done here; empty when it can


@dataclass(frozen=True, slots=True)
class Made:
    """One change of the journal."""

    id: str
    wall: float
    setting: str
    before: str
    after: str
    state: str  # applied rounded pending reverted undone conflict refused unchanged
    finding: str = ""
    who: str = ""
    because: str = ""
    since: str = ""  # what others changed since


@dataclass(frozen=True, slots=True)
class Result:
    """One stored test or experiment, as the list of results shows it."""

    id: str
    wall: float
    tool: str
    title: str
    bits_per_second: float | None = None
    figures: tuple[tuple[str, str], ...] = ()  # label, text
    intervals: tuple[float, ...] = ()  # bit/s, a second each
    verdict: str = ""
    because: str = ""
    unit: str = ""
    before: tuple[float, ...] = ()  # of a proof: each pair's figures
    after: tuple[float, ...] = ()
    interval: tuple[float, float] = (0.0, 0.0)  # of the relative difference
    middle: float = 0.0
    higher: bool | None = None  # whether more is better
    rows: tuple[tuple[str, str, str, str, str], ...] = ()  # of a study: as outcome.table shows
    study: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)  # in force


@dataclass(frozen=True, slots=True)
class Paper:
    """A published table that can be repeated here."""

    id: str
    title: str
    paper: str
    place: str
    tool: str
    unit: str
    points: tuple[tuple[str, str, str], ...] = ()  # name, published, why it is never run
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """A test that runs now."""

    title: str
    elapsed: float
    seconds: float
    intervals: tuple[float, ...] = ()  # bit/s, a second each
    retransmits: float | None = None
    here: Mapping[int, float] = field(default_factory=dict)  # CPU: percent busy
    there: Mapping[int, float] = field(default_factory=dict)
    stage: str = ""
    proof: Result | None = None  # the pairs of a proof so far


@dataclass(frozen=True, slots=True)
class Pending:
    """A change that reverts at `deadline` (wall seconds) unless confirmed."""

    id: str
    setting: str
    deadline: float
    total: float = 30.0


@dataclass(frozen=True, slots=True)
class Question:
    """What would be written, shown before it is written: Enter agrees, Esc cancels.

    Enter agrees only when every row of the sheet was on the screen, unless `whole` is False.
    """

    title: str
    sheets: tuple[tuple[str, tuple[Line, ...]], ...]  # name (a file, a format) and its lines
    verb: str  # what Enter does: change, keep, undo, mute, unmute, prove, study, export
    yes: str = "do it"  # the same in words
    changes: tuple[tuple[str, str, str], ...] = ()  # setting, before, after: exactly these
    finding: str = ""  # or the study, or the name on the list of muted findings
    doubts: tuple[str, ...] = ()  # who else owns it, what cannot be kept
    entries: tuple[str, ...] = ()  # numbers of the journal that are taken back
    wanted: tuple[tuple[str, str], ...] = ()  # of keep and prove: setting, value
    files: tuple[tuple[str, str], ...] = ()  # of keep: path, text
    identities: tuple[str, ...] = ()  # the device or process of each change, "" where unknown
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Ended:
    """A finding that held during this run and holds no longer."""

    finding: Finding
    steps: tuple[Step, ...] = ()  # what would have put it right, as it was shown
    wall: float = 0.0  # when it was first seen not to hold


@dataclass(frozen=True, slots=True)
class Note:
    """One message: the result of a key, or why it could not be done."""

    text: str
    role: str = ""
    wall: float = 0.0


_MOMENT: Final[Mapping[str, bool]] = {"kept": False}  # a field that each sample makes anew
_KEPT: Final[Mapping[str, bool]] = {"kept": True}  # one that stays from scene to scene


@dataclass(frozen=True)
class Scene:
    """Everything a pane may draw at one moment.

    `build.merge` goes by the metadata of the fields: one without metadata is a KeyError there.
    """

    facts: Facts | None = field(default=None, metadata=_MOMENT)
    frame: Frame | None = field(default=None, metadata=_MOMENT)
    findings: tuple[Finding, ...] = field(default=(), metadata=_MOMENT)
    silent: tuple[Silent, ...] = field(default=(), metadata=_MOMENT)  # lazy: see `build.scene_of`
    plans: Mapping[str, tuple[Step, ...]] = field(
        default_factory=dict, metadata=_MOMENT
    )  # by finding id
    muted: tuple[Finding, ...] = field(default=(), metadata=_MOMENT)  # hold, and are muted
    past: Past = field(default_factory=Past, metadata=_MOMENT)
    ended: tuple[Ended, ...] = field(default=(), metadata=_MOMENT)  # the latest first
    notes: tuple[Note, ...] = field(default=(), metadata=_MOMENT)
    recording: str = field(default="", metadata=_MOMENT)  # the file being written
    interval: float = field(default=1.0, metadata=_MOMENT)  # seconds between samples
    wall: float = field(default=0.0, metadata=_MOMENT)

    journal: tuple[Made, ...] = field(default=(), metadata=_KEPT)
    results: tuple[Result, ...] = field(default=(), metadata=_KEPT)
    studies: tuple[Paper, ...] = field(default=(), metadata=_KEPT)  # lazy
    progress: Progress | None = field(default=None, metadata=_KEPT)
    pending: tuple[Pending, ...] = field(default=(), metadata=_KEPT)
    question: Question | None = field(default=None, metadata=_KEPT)
    mutes: tuple[str, ...] = field(default=(), metadata=_KEPT)  # the list of muted findings
    origin: str = field(default="", metadata=_KEPT)  # "" is this host, else "replay of web3.txt"
    units: Units = field(default_factory=Units, metadata=_KEPT)
    version: str = field(default="", metadata=_KEPT)
    processor: str = field(default="", metadata=_KEPT)  # model name; empty until it is known
    tools: tuple[str, ...] = field(default=("iperf3", "bulk"), metadata=_KEPT)  # test tools
    about: Mapping[str, str] = field(default_factory=dict, metadata=_KEPT)  # what a tool measures

    def finding(self, id_: str) -> Finding | None:
        """The finding of that id: one that holds, is muted, or ended during this run."""
        known = (*self.findings, *self.muted, *(one.finding for one in self.ended))
        return next((f for f in known if f.id == id_), None)

    def steps(self, id_: str) -> tuple[Step, ...]:
        """The steps of a finding, also of one that has ended."""
        if id_ in self.plans:
            return self.plans[id_]
        return next((one.steps for one in self.ended if one.finding.id == id_), ())

    @cached_property
    def foremost(self) -> Nic | None:
        """The interface to look at when none is chosen (see `nic_of`); several parts ask."""
        nics = self.facts.nics if self.facts is not None else ()
        known = {nic.name: nic for nic in nics}
        for finding in self.findings:
            named = str(finding.target).partition("/")[0]
            if finding.severity == "critical" and named in known:
                return known[named]
        lately = [m.ports for m in self.past.fine[-10:]]

        def carried(nic: Nic) -> float:
            before = [_bytes(ports[nic.name]) for ports in lately if nic.name in ports]
            return max(_bytes(nic.per_s), *before) if before else _bytes(nic.per_s)

        def rank(nic: Nic) -> tuple[bool | float, ...]:
            real = nic.kind == "nic"
            weight = carried(nic) * (100 if real else 1)
            return (
                nic.kind != "loopback",
                real or nic.master is None,
                weight if weight >= _RESTING else 0.0,
                real,
                bool(nic.carrier),
                bool(nic.carries_ssh),
            )

        return max(nics, key=rank, default=None)


@dataclass(frozen=True, slots=True)
class Spot:
    """Cursor, scroll position, sort order and filter of one pane."""

    on: str = ""  # id of the row under the cursor: it follows its row when the order changes
    index: int = 0  # where that row was: taken when it is gone
    top: int = 0  # first line shown of a text longer than the screen
    left: int = 0  # first column shown of a matrix wider than the screen
    sort: int = 0
    invert: bool = False
    filter: str = ""
    open: str = ""  # id of the item whose detail is shown


class _Changes(TypedDict, total=False):
    """Fields of a `Spot`."""

    on: str
    index: int
    top: int
    left: int
    sort: int
    invert: bool
    filter: str
    open: str


@dataclass(frozen=True, slots=True)
class View:
    """What the user looks at: pane, cursor, filter, sort order. Changed by keys only."""

    pane: str = "overview"
    spots: Mapping[str, Spot] = field(default_factory=dict)
    nic: str = ""  # the chosen interface; empty: the busiest
    profile: str = ""  # forced profile; empty: as seen
    paused: bool = False
    typing: bool = False  # keys go into the filter
    help: bool = False
    fold: bool = True  # idle cores folded
    raw: bool = False  # the driver's own counter names
    reasons: bool = False  # count why the kernel drops packets
    zoom: int = 0  # step of the history's span
    marks: tuple[float, ...] = ()  # the ruler: moments (monotonic seconds), at most two
    form: Mapping[str, str] = field(default_factory=dict)  # the test form's edited values
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of a pane's table
    editing: str = ""  # the form field or setting whose value is typed
    draft: str = ""  # what was typed so far
    sheet: int = 0  # of a question
    scroll: int = 0  # first line shown of a question's sheet
    read: int = 0  # rows of the question's sheet that were on the screen
    unread: int = -1  # rows of it that were not yet; -1: nothing of it was
    proving: str = ""  # the finding whose proof waits for the address that is typed

    @property
    def spot(self) -> Spot:
        """The spot of the pane shown."""
        return self.spots.get(self.pane, Spot())

    def at(self, **changes: Unpack[_Changes]) -> View:
        """The view with the spot of the pane shown changed."""
        return replace(self, spots={**self.spots, self.pane: replace(self.spot, **changes)})


def under(items: tuple[str, ...], spot: Spot) -> int:
    """The row under a cursor that is bound to an id; -1 when the row of that id is gone.

    A cursor that was not painted yet (no id) is where it was left.
    """
    if spot.on:
        return items.index(spot.on) if spot.on in items else -1
    return min(spot.index, len(items) - 1)


def chosen(items: tuple[str, ...], spot: Spot) -> int:
    """The row under the cursor: by id, else where it was, else the first; -1 when there is none."""
    if spot.on in items:
        return items.index(spot.on)
    return min(spot.index, len(items) - 1)


def nic_of(scene: Scene, view: View) -> Nic | None:
    """The interface looked at: the chosen, else what a critical finding names, else the busiest.

    A real NIC counts a hundredfold, so that containers' veths hide it only while it rests; the
    rates are those of the last ten seconds, so that two busy NICs do not take turns.
    """
    facts = scene.facts
    if facts is None or not facts.nics:
        return None
    looked_at = next((nic for nic in facts.nics if nic.name == view.nic), None)
    return scene.foremost if looked_at is None else looked_at


def _bytes(rate: Counters | Port) -> float:
    """Both directions of a `Counters` or a `Port`, bytes/s; what is not known is none."""
    rx, tx = (rate.rx, rate.tx) if isinstance(rate, Port) else (rate.rx_bytes, rate.tx_bytes)
    return (rx or 0.0) + (tx or 0.0)
