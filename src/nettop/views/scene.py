"""The `Scene`: everything that a pane draws of the host at one moment, as immutable values.

`build` makes scenes. What the user looks at is the `View` (`view.py`); a pane reads both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Concatenate, Final, Literal, ParamSpec, TypeVar

from ..facts import Facts
from ..facts.pair import Joined, Unmatched
from ..facts.pair.words import short
from ..frame.rates import Frame
from ..host.source import Source
from ..terms.dataclass import dataclass
from ..terms.text import Line
from ..terms.units import Units
from .foremost import foremost
from .past import History
from .view import View

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding, Silent
    from ..config import Value
    from ..facts.kinds.nic import Nic


_TEXTS: Final = {"host": "via", "recording": "replay of", "demo": "DEMO of"}


@dataclass(frozen=True, slots=True)
class SceneOrigin:
    """What a scene shows if not this host: another host (prefix `name`), a recording or folder."""

    kind: Literal["host", "recording", "directory", "demo"]
    name: str

    @property
    def text(self) -> str:
        """The origin in a few words: `via ssh web1`, `replay of web1`."""
        return f"{_TEXTS.get(self.kind, self.kind)} {self.name}"

    @property
    def brief(self) -> str:
        """The text for a narrow screen: `via web1` of a long command prefix."""
        return f"via {short(self.name)}" if self.kind == "host" else self.text


def origin_of(source: Source) -> SceneOrigin | None:
    """The origin of the scenes of a source; None for this host."""
    if source.live:
        return None
    far = source.batches
    if far is not None:
        return SceneOrigin("host", far.name)
    if getattr(source, "plays", False):
        return SceneOrigin("demo", source.host)
    return SceneOrigin("recording" if source.ends else "directory", source.host)


# states of a change
IN_FORCE: Final = frozenset({"applied", "rounded", "held", "pending", "begun"})


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
    way: str = ""  # the words that run the nettop of another host, where it was made there
    space: str = ""  # the network namespace in which it was made, if that is another one
    test: str = ""  # the experiment that made it for one run, and reverts it; empty: none did
    runs: int = 1  # of it that are shown as this one

    @property
    def in_force(self) -> bool:
        """Whether the host shown has its value, as far as the journal and the host say."""
        return self.state in IN_FORCE and not self.since


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
    open_ended: bool = False  # `seconds` is the least: it ends when its result is clear
    resent: float | None = None  # the share of segments sent again, as the verdict has it


@dataclass(frozen=True, slots=True)
class Pending:
    """A change that reverts at `deadline` (wall seconds) unless confirmed."""

    id: str
    setting: str
    deadline: float
    way: str = ""  # the words that run the nettop of another host, where it was made there


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
    arrived: float = field(default=0.0, metadata=_MOMENT)  # monotonic seconds; 0: of a recording
    shortfall: str = field(default="", metadata=_MOMENT)  # why too little was read to judge
    boxed: bool = field(default=False, metadata=_MOMENT)  # it comes from the black box
    stretched: Mapping[str, float] = field(
        default_factory=dict, metadata=_MOMENT
    )  # seconds between readings of tables that wait longer, to keep the budget
    quiet: float = field(default=0.0, metadata=_MOMENT)  # the same, while no data moves
    counting: float | None = field(default=None, metadata=_MOMENT)  # CPU s of a short look's run
    ages: Mapping[str, float] = field(default_factory=dict, metadata=_MOMENT)  # s, of `stretched`

    peer: Peer | None = field(default=None, metadata=_MOMENT)

    journal: tuple[JournalEntry, ...] = field(default=(), metadata=_KEPT)
    results: tuple[StoredResult, ...] = field(default=(), metadata=_KEPT)
    studies: tuple[Paper, ...] = field(default=(), metadata=_KEPT)  # lazy
    progress: RunningTest | None = field(default=None, metadata=_KEPT)
    pending: tuple[Pending, ...] = field(default=(), metadata=_KEPT)
    late: float = field(default=0.0, metadata=_MOMENT)  # seconds from `wall` to now
    question: Question | None = field(default=None, metadata=_KEPT)
    mutes: tuple[str, ...] = field(default=(), metadata=_KEPT)  # the list of muted findings
    origin: SceneOrigin | None = field(default=None, metadata=_KEPT)  # None: this host
    units: Units = field(default_factory=Units, metadata=_KEPT)
    ordinary: bool = field(default=False, metadata=_KEPT)  # nettop runs here without root
    barred: frozenset[str] = field(
        default=frozenset(), metadata=_KEPT
    )  # what this screen does not do: changes, if it is for reading only; to persist, in a netns
    absent: frozenset[str] = field(
        default=frozenset(), metadata=_KEPT
    )  # hosts where no nettop can make changes: "" that of --host, else the name of the peer
    processor: str = field(default="", metadata=_KEPT)  # model name; empty until it is known
    tools: tuple[str, ...] = field(default=("iperf3", "bulk"), metadata=_KEPT)  # test tools
    about: Mapping[str, str] = field(default_factory=dict, metadata=_KEPT)  # what a tool measures
    stored: Mapping[str, Value] = field(default_factory=dict, metadata=_KEPT)  # options of the file
    ago: float = field(default=0.0, metadata=_KEPT)  # seconds before the present; 0: the present

    @property
    def distant(self) -> bool:
        """Whether another host is shown (--host), where an installed nettop can make changes."""
        return bool(self.origin and self.origin.kind == "host")

    @property
    def plays(self) -> bool:
        """Whether this is the demo, in which changes and proofs are played."""
        return bool(self.origin and self.origin.kind == "demo")

    @property
    def fixed(self) -> bool:
        """Whether nothing can be changed, not even played: a recording, or for reading only."""
        only = self.origin is not None and not self.distant and not self.plays
        return only or "apply" in self.barred

    def finding(self, id_: str) -> Finding | None:
        """The finding of that id: one that holds, is muted, or ended during this run."""
        known = (*self.findings, *self.muted, *(one.finding for one in self.ended))
        known += self.peer.findings if self.peer is not None else ()
        return next((f for f in known if f.id == id_), None)

    def left(self, pending: Pending) -> float:
        """Seconds until a change reverts: they pass without a new picture too."""
        return max(0.0, pending.deadline - self.wall - self.late)

    def steps(self, id_: str) -> tuple[Step, ...]:
        """The steps of a finding, also of one that has ended."""
        if id_ in self.plans:
            return self.plans[id_]
        if self.peer is not None and id_ in self.peer.plans:
            return self.peer.plans[id_]
        return next((one.steps for one in self.ended if one.finding.id == id_), ())

    @cached_property
    def mean(self) -> Facts | None:
        """The facts with the rates that stand beside a verdict: means over its window."""
        from ..facts.limits.means import over  # after the first paint

        return over(self.facts) if self.facts is not None else None

    @property
    def window(self) -> str:
        """Of which time these rates are."""
        return self.facts.means.window if self.facts is not None else ""

    @property
    def last(self) -> str:
        """Of which time the rates of `facts` are."""
        return self.facts.means.last if self.facts is not None else ""

    @cached_property
    def foremost(self) -> Nic | None:
        """The interface that is shown if none is chosen: see `nic_of`."""
        return foremost(self.facts, self.findings, self.past) if self.facts is not None else None


def nic_of(scene: Scene, view: View) -> Nic | None:
    """The interface shown: the chosen one, else the `foremost`."""
    facts = scene.facts
    if facts is None or not facts.nics:
        return None
    return next((nic for nic in facts.nics if nic.name == view.nic), None) or scene.foremost


def only(scene: Scene, view: View) -> str:
    """The chosen interface, if lists show its rows alone; "" for all rows, and where it is gone."""
    nics = scene.facts.nics if scene.facts is not None else ()
    return view.nic if any(nic.name == view.nic for nic in nics) else ""


P = ParamSpec("P")
T = TypeVar("T")


def once(make: Callable[Concatenate[Scene, P], T]) -> Callable[Concatenate[Scene, P], T]:
    """The function, whose result is kept in the scene; further arguments must be hashable.

    The result is shared, so it must be immutable, as the scene is.
    """

    @wraps(make)
    def known(scene: Scene, /, *args: P.args, **kwargs: P.kwargs) -> T:
        values: dict[object, T] = scene.__dict__.setdefault("_once", {})
        key = (make, args, tuple(kwargs.items()))
        if key not in values:
            values[key] = make(scene, *args, **kwargs)
        return values[key]

    return known


def document(view: View) -> dict[str, Value]:
    """The options in effect as keys and values of config.toml."""
    now = view.options
    out: dict[str, Value] = {
        "theme": now.theme, "units": "bits" if now.units.bits else "bytes",
        "prefix": "iec" if now.units.iec else "si", "interval": now.interval,
        "budget": now.budget, "mouse": now.mouse, "bell": now.bell, "ascii": now.ascii,
    }  # fmt: skip
    return out | {f"columns.{name}": tuple(columns) for name, columns in view.columns.items()}


def changed(scene: Scene, view: View) -> dict[str, Value]:
    """The options that differ from those at the start, or from those written since."""
    stored = scene.stored
    return {key: now for key, now in document(view).items() if stored and stored.get(key) != now}
