"""Scenes from observations; the next observation merged into the scene of the screen."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Final

from ..host.source import Source
from ..sampling.ahead import prepare
from .altered import altering
from .enough import shortfall
from .past import History
from .scene import Ended, Scene, Step
from .steps import step

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding, Wanted
    from .observer import Observation


ENDED: Final = 20  # ended findings that are listed
NOTES: Final = 20  # notes that are kept
_KEPT: Final = tuple(f.name for f in fields(Scene) if f.metadata["kept"])


class Plans:
    """The steps of each finding; computed again only if the finding wants other values."""

    def __init__(self, source: Source) -> None:
        """The values before each step are read from `source`."""
        self.source = source
        self._known: dict[tuple[str, tuple[Wanted, ...]], tuple[Step, ...]] = {}

    def clear(self) -> None:
        """Compute all steps again, because the host was changed."""
        self._known.clear()

    def of(self, findings: Iterable[Finding]) -> dict[str, tuple[Step, ...]]:
        """The steps by finding id, without findings that have no step."""
        findings = tuple(findings)
        new = [
            wanted
            for finding in findings
            if (finding.id, finding.wanted) not in self._known
            for wanted in finding.wanted
        ]
        if new:
            prepare(self.source, lambda: [step(w.setting, w.value, self.source) for w in new])
        self._known = {
            (finding.id, finding.wanted): self._known.get((finding.id, finding.wanted))
            or tuple(step(wanted.setting, wanted.value, self.source) for wanted in finding.wanted)
            for finding in findings
            if finding.wanted
        }
        return {id_: steps for (id_, _), steps in self._known.items()}


def scene_of(
    observation: Observation, past: History, plans: Plans, lazy: Collection[str] = ()
) -> Scene:
    """The scene of one observation. `lazy` names the expensive fields to fill: "silent"."""
    judgement = observation.judgement
    return Scene(
        facts=observation.facts,
        frame=observation.frame,
        findings=judgement.findings,
        shortfall=shortfall(observation.frame, live=plans.source.live) or "",
        muted=judgement.muted,
        silent=tuple(judgement.silent()) if "silent" in lazy else (),
        plans=plans.of((*judgement.findings, *judgement.muted)),
        past=past,
        wall=observation.frame.wall,
        stretched=observation.stretched,
        ages=observation.ages,
        quiet=observation.quiet,
        counting=observation.counting,
    )


def keep(moment: Scene, now: Scene) -> Scene:
    """The fields that each sample sets from `moment`; the other fields and the notes from `now`."""
    kept = {name: getattr(now, name) for name in _KEPT}
    return sorted_by_mutes(replace(moment, **kept, notes=now.notes))


def passed(moment: Scene, now: Scene) -> Scene:
    """As `keep`, of a moment that has passed: the countdown of changes is that of now."""
    return replace(keep(moment, now), late=now.late + now.wall - moment.wall)


def merge(old: Scene, new: Scene) -> Scene:
    """The next scene: the fields that each sample sets from `new`, the others from `old`.

    A scene without facts has notes only, and before the first picture why there is none. The
    reasons of silent rules stay until `new` has some.
    """
    notes = (*old.notes, *new.notes)[-NOTES:]
    if new.facts is None:
        first = old.facts is None and bool(new.shortfall)
        return replace(old, notes=notes, shortfall=(new if first else old).shortfall)
    new = keep(new, replace(old, notes=notes))
    return replace(
        new, ended=ending(old, new), seen=altering(old, new), silent=new.silent or old.silent
    )  # fmt: skip


def later(scene: Scene) -> Scene:
    """The scene as time passes without a new picture."""
    return replace(scene, late=time.monotonic() - scene.arrived) if scene.arrived else scene


def ending(old: Scene, new: Scene) -> tuple[Ended, ...]:
    """The ended findings of both ends, latest first, without those that hold again."""
    there = new.peer.findings if new.peer is not None else ()
    holding = {finding.id for finding in (*new.findings, *new.muted, *there)}
    known = (*old.findings, *(old.peer.findings if old.peer is not None else ()))
    gone = [
        Ended(finding, old.steps(finding.id), new.wall)
        for finding in known
        if finding.id not in holding
    ]
    before = [
        one
        for one in old.ended
        if one.finding.id not in holding
        and one.wall <= new.wall  # false after a recording has started again
        and one.finding.id not in old.mutes
    ]
    return (*gone, *before)[:ENDED]


def mutes(name: str, finding: Finding) -> bool:
    """Whether a name on the list is the id of this finding or of its rule."""
    return name in (finding.id, finding.rule)


def may_mute(name: str, finding: Finding) -> bool:
    """As `mutes`; also for `rule@process`, because a finding does not know the process name."""
    rule, _, target = name.partition("@")
    return mutes(name, finding) or (rule == finding.rule and bool(target))


def sorted_by_mutes(scene: Scene) -> Scene:
    """The scene with the findings of both ends and `muted` split by its list of muted names.

    A finding that the judge muted by a process name stays muted while such a name is listed.
    """
    names = scene.mutes
    there = scene.peer.findings if scene.peer is not None else ()
    muted = tuple(f for f in scene.muted if any(may_mute(name, f) for name in names))
    muted += tuple(f for f in (*scene.findings, *there) if any(mutes(name, f) for name in names))
    if muted == scene.muted:
        return scene
    muted_ids = {f.id for f in muted}
    every = (*scene.findings, *there, *scene.muted)
    rest = [one for one in every if one.id not in muted_ids]
    ended = tuple(one for one in scene.ended if one.finding.id not in names)
    peer = scene.peer
    if peer is not None:
        peer = replace(peer, findings=tuple(one for one in rest if one.host))
    own = tuple(one for one in rest if not one.host)
    return replace(scene, findings=own, muted=muted, ended=ended, peer=peer)
