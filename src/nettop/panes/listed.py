"""The list of findings: those that hold, are done, have ended, or are muted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ..advice.rules.severity import SEVERITIES
from ..facts.limits import words
from ..terms.dataclass import dataclass
from ..terms.text import (
    Line,
    cells,
    clauses,
    concise,
    crop,
    ends,
    fit,
    line,
    line_cells,
    text_of,
    wrap,
)
from ..terms.units import Units
from ..terms.units import count as number
from ..views.ask import Hint
from ..views.build import may_mute, mutes
from ..views.enough import all_clear, unjudged, witnesses
from ..views.scene import Ended, JournalEntry, Scene, once
from ..views.stages import foremost, moves
from ..views.view import View
from .checks import unheld
from .frame import filled, inside, part
from .parts import HARMS, clock, listing, section, severity

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding


Argued = Callable[["Finding", int], list[Line]]  # what to do about a finding, and why
ARGUED: Final = 5  # free rows from which that is told
SLACK: Final = 5.0  # seconds by which a change may precede the first sample of its finding
NARROW: Final = 70  # columns below which the keys of a finding have no words
FIX: Final = (Hint("a", "apply", "apply"), Hint("p", "prove", "prove"))
COPY: Final = Hint("y", "copy", "copy")
PLACE: Final = 14  # letters of its title by which a painted row is known
TARGET: Final = 8  # columns for a target at the least
OVER: Final = ("done", "ended")  # states in which a finding does not hold
MARKS: Final = {"done": ("✓", "good"), "ended": ("○", "dim"), "muted": ("◇", "dim")}


@dataclass(frozen=True, slots=True)
class Listed:
    """One row of the list of findings."""

    id: str  # of the finding; of a muted one, the name on the list of muted findings
    state: str = ""  # done, ended or muted; empty: it holds
    finding: Finding | None = None  # None: a muted name that holds on no target
    wall: float = 0.0  # when it ended
    changes: tuple[JournalEntry, ...] = ()  # made for it if it is done, newest first


@once
def listed(scene: Scene) -> tuple[Listed, ...]:
    """Those that hold, of both ends, most severe first; then done, ended (latest first), muted.

    Of those of one severity the first say what limits now.
    """
    there = scene.peer.findings if scene.peer is not None else ()
    limiting = {one.stage.stage for one in scene.facts.limits} if scene.facts is not None else set()
    every = sorted(
        (*scene.findings, *there),
        key=lambda one: (SEVERITIES.index(one.severity), limiting.isdisjoint(one.relieves)),
    )
    holding = [Listed(finding.id, "", finding) for finding in every]
    done: list[Listed] = []
    ended: list[Listed] = []
    for one in scene.ended:
        changes = changes_for(one, scene)
        state = "done" if changes else "ended"
        row = Listed(one.finding.id, state, one.finding, one.wall, changes)
        (done if changes else ended).append(row)
    hidden = [Listed(name, "muted", muted_by(name, scene)) for name in scene.mutes]
    return (*holding, *done, *ended, *hidden)


def standing(scene: Scene) -> tuple[Listed, ...]:
    """Those that hold or are done: the others are only counted on the overview."""
    return tuple(one for one in listed(scene) if one.state in {"", "done"})


def over(scene: Scene) -> str:
    """How many have ended; empty for none."""
    number = sum(one.state == "ended" for one in listed(scene))
    return f"{number} ended" if number else ""


def muted_by(name: str, scene: Scene) -> Finding | None:
    """The first muted finding with exactly this name; else one that the name may mute."""
    known = sorted(scene.muted, key=lambda finding: not mutes(name, finding))
    return next((finding for finding in known if may_mute(name, finding)), None)


def fixes(one: Listed | None) -> tuple[Hint, ...]:
    """The keys that change a host: of an experiment only a proof."""
    finding = one.finding if one is not None else None
    sure = finding is None or any(not wanted.experiment for wanted in finding.wanted)
    return FIX if sure else FIX[1:]


def offered(one: Listed | None, scene: Scene) -> tuple[Hint, ...]:
    """Those of the keys that do something in this scene.

    A recording is not changed, nor is another host at which there is no nettop.
    """
    host = one.finding.host if one is not None and one.finding is not None else ""
    lacks = (scene.distant or host) and host in scene.absent
    return () if scene.fixed or lacks else fixes(one)


def planned(id_: str, scene: Scene) -> bool:
    """Whether a finding that holds, of either end, has changes."""
    there = scene.peer.plans if scene.peer is not None else {}
    return bool(scene.plans.get(id_) or there.get(id_))


def changes_for(one: Ended, scene: Scene) -> tuple[JournalEntry, ...]:
    """The changes in force that were made for a finding while it held."""
    began = one.wall - one.finding.held - SLACK
    changes = [
        entry
        for entry in scene.journal
        if entry.finding == one.finding.id and entry.in_force and entry.wall >= began
    ]
    return tuple(sorted(changes, key=lambda entry: -entry.wall))


def undoes(scene: Scene, here: str) -> list[JournalEntry] | None:
    """The changes in force that were made for a finding, which `u` undoes together; None: none."""
    done = next((one for one in listed(scene) if one.id == here and one.changes), None)
    own = done.changes if done is not None else made_for(here, scene) if here else ()
    return list(own) or None


def made_for(finding: str, scene: Scene) -> tuple[JournalEntry, ...]:
    """The changes in force that were made for a finding, whether it still holds; newest first."""
    own = (one for one in scene.journal
           if one.finding == finding and one.in_force)  # fmt: skip
    return tuple(sorted(own, key=lambda one: -one.wall))


def alike(rows: Sequence[Listed]) -> frozenset[str]:
    """The titles that several of these findings have."""
    titles = Counter(one.finding.title for one in rows if one.finding is not None)
    return frozenset(title for title, number in titles.items() if number > 1)


def row(
    one: Listed, width: int, keys: str, longest: int = 34, shared: Collection[str] = (), *,
    fixed: bool = False,
) -> Line:  # fmt: skip
    """One finding in one line: mark and title; at the right its keys, or its state.

    The title says what is wrong; the id of its rule is in its text. A title that is `shared` with
    another row is followed by the target, as far as there is room. `fixed`: nothing is changed.
    """
    mark, role = MARKS.get(one.state, severity(one.finding))
    name = min(longest, max(20, width // 4)) if one.finding is None else -2
    head = line((f" {mark} ", role))
    if name > 0:
        head += line((fit(one.id, name), role if role != "dim" else ""), "  ")
    tail = keys if not one.state else f"{state_text(one, fixed=fixed)} "
    title = titled(one) if one.finding is not None else "does not hold now"
    room = width - name - 6 - cells(tail)
    if one.state and room < 1:  # the state is more important than the title
        return line(*head, (crop(tail, max(0, width - name - 5)), "dim"))
    body = line((clauses(title, room), "dim" if one.state else ""))
    free = room - line_cells(body) - 2
    whole = name >= cells(one.id)  # the id names the target
    if one.finding is not None and title in shared and free >= TARGET and not whole:
        body += line((f"  {crop(one.finding.target, free)}", "dim"))
    return ends(head + body, line((tail, "key" if not one.state else "dim")), width)


def titled(one: Listed) -> str:
    """The title of its finding, which says what is so; of one that is over, that it was."""
    title = one.finding.title if one.finding is not None else ""
    return f"was: {title}" if one.state in OVER else title


def state_text(one: Listed, *, fixed: bool = False) -> str:
    """The state of a finding that is done, ended or muted, with the key that changes it."""
    if one.state == "ended":
        return f"ended {clock(one.wall)}"
    key = {"done": "  u undoes it", "muted": "  m unmutes it"}[one.state]
    return one.state + key * (not fixed)


def count(rows: list[Listed]) -> str:
    """The number of findings by state."""
    holding = sum(not one.state for one in rows)
    texts = [f"{holding}, most severe first" if holding else "none"]
    for state, key in (("done", ""), ("ended", ""), ("muted", " (M)")):
        number = sum(one.state == state for one in rows)
        texts += [f"{number} {state}{key}"] if number else []
    return ", ".join(texts)


def keys_of(scene: Scene, one: Listed, width: int = 80) -> str:
    """The keys for a finding, without their words where there is little room.

    Beside the key that applies it stands what this may do to traffic; `width` 0: it does not act.
    """
    keys = planned(one.id, scene) and (offered(one, scene) or (COPY,))
    if not keys:
        return "" if width < NARROW else "Enter why "
    risks = {step.risk for step in scene.steps(one.id)} if width else set[str]()
    harm = next(
        (f": {words[width < NARROW]}" for risk, words in HARMS.items() if risk in risks), ""
    )
    texts = (
        (hint.key if width < NARROW else f"{hint.key} {hint.text}")
        + (harm if hint in FIX[:1] else "")
        for hint in keys
    )
    return (" " if width < NARROW and not harm else "  ").join(texts) + " "


def finding_lines(
    scene: Scene, view: View, width: int, height: int, *, framed: bool, argued: Argued | None = None
) -> list[Line]:
    """The top findings in `height` lines and their title, with the keys of the chosen one.

    While the cursor is on none of them, no key acts on one, and none is told.
    Free rows below it have its figures, those below all what is `argued` about it.
    """
    every = standing(scene)
    inner = inside(width, framed=framed)
    cursor = next((at for at, one in enumerate(every) if one.id == view.spot.on), -1)
    longest = max((len(one.id) for one in every), default=0)
    shared = alike(every)
    rows = [
        row(
            one,
            inner,
            keys_of(scene, one, inner if at == cursor else 0) if cursor >= 0 else "",
            longest,
            shared,
            fixed=scene.fixed,
        )
        for at, one in enumerate(every)
    ]
    if not rows:
        shown = nothing(scene, view, inner, height)
        return part("FINDINGS", "", filled(shown, height, framed), width, framed=framed)
    hold = sum(not one.state for one in every)
    remark = number(len(rows)) if len(rows) > height else ""
    if len(rows) > hold:
        remark = f"{hold} hold, {len(rows) - hold} done"
    remark = ", ".join(filter(None, (remark, over(scene))))
    shown = listing(rows, cursor, inner, height)
    free = height - len(rows)
    if framed and free > 0:
        one, below = every[max(0, cursor)], max(0, cursor) + 1
        known = _figures(one, scene.units, inner)[:free]
        shown[below:below] = known
        free -= len(known)
        if argued is not None and one.finding is not None and free >= ARGUED:
            head = [section(titled(one), "", inner)] if rows[1:] else []
            more = [*head, *argued(one.finding, inner)]
            if len(more) > free:
                more[free - 1 :] = [line(("   Enter: all of it", "key"))]
            shown += more
    shown = filled(shown, height, framed)
    return part(f"FINDINGS · {scene.last}", remark, shown, width, framed=framed)


def at(scene: Scene, painted: Line) -> str:
    """The id of the finding whose row was painted; empty for another row."""
    text, every = text_of(painted), standing(scene)
    shared = alike(every)
    for one in every:
        title, about = titled(one), one.finding
        known = about is not None and (title not in shared or str(about.target) in text)
        if known and f" {title[:PLACE]}" in text:
            return one.id
    return ""


def nothing(scene: Scene, view: View, width: int, height: int = 99) -> list[Line]:
    """That there is no finding; on a host that is idle also what is looked at, and what to try.

    Where they have no room in `height` lines, each sentence has one line.
    """
    judged = f"{unheld(scene.silent)} (5: why)" if scene.silent else "5 shows what was judged"
    found = foremost(scene, view)
    about = ""
    if found is not None and moves(found) and found.stage.kind != "inferred":
        about = f" about {words.stage(found.stage)}"
    text = f"no finding{about}; {judged}"
    if scene.frame is not None and witnesses(scene.frame):
        text = all_clear(scene.frame)
    text, role = (unjudged(scene.shortfall), "warn") if scene.shortfall else (text, "dim")
    text += f"; {len(scene.mutes)} muted (M)" if scene.mutes else ""
    text += f"; {ended}" if (ended := over(scene)) else ""
    idle = not any(map(moves, scene.facts.limits if scene.facts is not None else ()))
    said = [(" ", text, role), *(("   ", one, "dim") for one in (_watched(scene) if idle else ()))]
    wide = [(ahead, wrap(one, max(20, width - len(ahead) - 3)), kind) for ahead, one, kind in said]
    rows = [line((f"{ahead}{'  ' * (at > 0)}{row}", kind))
            for ahead, every, kind in wide for at, row in enumerate(every)]  # fmt: skip
    if len(rows) <= height:
        return rows
    return [line((ahead + concise(one, width - len(ahead)), kind)) for ahead, one, kind in said]


def _watched(scene: Scene) -> Iterator[str]:
    """What is looked at, and what to try."""
    facts = scene.facts
    if facts is None or scene.fixed:
        return
    wired = [nic for nic in facts.nics if nic.kind != "loopback"]
    several = [(len(wired), "interface"), (len(facts.cores), "core"),
               (facts.host.tcp_flows, "TCP connection")]  # fmt: skip
    seen = ", ".join(f"{amount:,} {name}{'s' * (amount != 1)}" for amount, name in several)
    yield f"watched: {seen}; drops from the ring of the card to the socket"
    yield (
        "to try: 6 Tests measures this host; `nettop --demo` shows a busy host; or start a transfer"
    )


def _figures(one: Listed, units: Units, width: int) -> list[Line]:
    """The evidence of a finding that holds, a figure a line."""
    if one.finding is None or one.state:
        return []
    from ..advice.language.words import field_name, value_text  # not before a finding holds

    return [
        line(
            (fit(f"   {field_name(item['field'])}", max(24, width * 2 // 3)), "dim"),
            (f" {value_text(item['field'], item['value'], item.get('unit') or '', units)}", "dim"),
        )
        for item in one.finding.evidence
    ]
