"""The list of findings: those that hold, are done, have ended, or are muted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..terms.text import Line, cells, crop, ends, fit, line
from ..views.mutes import may_mute, mutes
from ..views.scene import STANDING, Ended, Made, Scene
from .clock import clock
from .parts import severity

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding

SLACK: Final = 5.0  # seconds by which a change may precede the first sight of its finding
MARKS: Final = {"done": ("✓", "good"), "ended": ("○", "dim"), "muted": ("◇", "dim")}


@dataclass(frozen=True, slots=True)
class Listed:
    """One row of the list of findings."""

    id: str  # of the finding; of a muted one, the name on the list of muted findings
    state: str = ""  # "" holds; done, ended, muted
    finding: Finding | None = None  # None: a name on the list of muted findings that holds nowhere
    wall: float = 0.0  # when it ended
    changes: tuple[Made, ...] = ()  # of one that is done: what was changed for it, newest first


def listed(scene: Scene, *, muted: bool = True) -> list[Listed]:
    """Those that hold in the judge's order; then done, ended (the latest first) and muted ones."""
    holding = [Listed(found.id, "", found) for found in scene.findings]
    done: list[Listed] = []
    ended: list[Listed] = []
    for one in scene.ended:
        made = changes_for(one, scene)
        row = Listed(one.finding.id, "done" if made else "ended", one.finding, one.wall, made)
        (done if made else ended).append(row)
    if not muted:
        return [*holding, *done, *ended]
    quiet = [Listed(name, "muted", muted_by(name, scene)) for name in scene.mutes]
    return [*holding, *done, *ended, *quiet]


def muted_by(name: str, scene: Scene) -> Finding | None:
    """The first muted finding that this name is the name of, else one that it may mute."""
    known = sorted(scene.muted, key=lambda found: not mutes(name, found))
    return next((found for found in known if may_mute(name, found)), None)


def changes_for(one: Ended, scene: Scene) -> tuple[Made, ...]:
    """The changes that were made for a finding since it was first seen, and still stand."""
    began = one.wall - one.finding.held - SLACK
    found = [
        made
        for made in scene.journal
        if made.finding == one.finding.id
        and made.state in STANDING
        and not made.since
        and made.wall >= began
    ]
    return tuple(sorted(found, key=lambda made: -made.wall))


def undoes(scene: Scene, here: str) -> list[Made] | None:
    """The changes that `u` takes back for a finding that is done; None for another one."""
    done = next((one for one in listed(scene) if one.id == here and one.changes), None)
    return list(done.changes) if done is not None else None


def row(one: Listed, width: int, keys: str, longest: int = 34) -> Line:
    """One finding in a line: mark, id, sentence; at the right its keys, or what became of it."""
    mark, role = MARKS.get(one.state, severity(one.finding))
    name = min(longest, max(20, width // 4))
    head = line((f" {mark} ", role), (fit(one.id, name), role if role != "dim" else ""), "  ")
    told = keys if not one.state else f"{became(one)} "
    title = one.finding.title if one.finding is not None else "does not hold now"
    room = width - name - 6 - cells(told)
    if one.state and room < 1:  # what became of it comes before what it was
        return line(*head, (crop(told, max(0, width - name - 5)), "dim"))
    said = line((crop(title, room), "dim" if one.state else ""))
    return ends(head + said, line((told, "key" if not one.state else "dim")), width)


def became(one: Listed) -> str:
    """The state of a finding that is done, ended or muted, with its key."""
    if one.state == "done":
        return "done  u undoes it"
    if one.state == "ended":
        return f"ended {clock(one.wall)}"
    return "muted  m unmutes it"


def count(rows: list[Listed]) -> str:
    """The number of findings by state."""
    hold = sum(not one.state for one in rows)
    told = [f"{hold}, most severe first" if hold else "none"]
    for state, more in (("done", ""), ("ended", ""), ("muted", " (M)")):
        many = sum(one.state == state for one in rows)
        told += [f"{many} {state}{more}"] if many else []
    return ", ".join(told)
