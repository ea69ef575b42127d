"""Scenes from observations, and the scene on the screen with the next moment merged in."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Final

from ..host.source import Source
from .mutes import sorted_by_mutes
from .past import Past
from .scene import Ended, Scene, Step
from .steps import step

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding, Wanted
    from .observer import Observation

ENDED: Final = 20  # ended findings that are listed
NOTES: Final = 20  # notes that are kept
_KEPT: Final = tuple(f.name for f in fields(Scene) if f.metadata["kept"])


class Plans:
    """The steps of each finding, computed once while the finding wants the same."""

    def __init__(self, source: Source) -> None:
        """The values before each step are read from `source`."""
        self.source = source
        self._known: dict[tuple[str, tuple[Wanted, ...]], tuple[Step, ...]] = {}

    def clear(self) -> None:
        """Compute all anew: the host was changed."""
        self._known.clear()

    def of(self, findings: Iterable[Finding]) -> dict[str, tuple[Step, ...]]:
        """The steps by id of the finding; findings without steps are left out."""
        self._known = {
            (found.id, found.wanted): self._known.get((found.id, found.wanted))
            or tuple(step(want.setting, want.value, self.source) for want in found.wanted)
            for found in findings
            if found.wanted
        }
        return {id_: steps for (id_, _), steps in self._known.items()}


def scene_of(
    observation: Observation, past: Past, plans: Plans, lazy: Collection[str] = ()
) -> Scene:
    """The scene of one observation. `lazy` names the fields to fill that cost much: "silent"."""
    judgement = observation.judgement
    return Scene(
        facts=observation.facts,
        frame=observation.frame,
        findings=judgement.findings,
        muted=judgement.muted,
        silent=tuple(judgement.silent()) if "silent" in lazy else (),
        plans=plans.of((*judgement.findings, *judgement.muted)),
        past=past,
        wall=observation.frame.wall,
    )


def keep(moment: Scene, now: Scene) -> Scene:
    """The fields of the moment from `moment`; the kept ones and the notes from `now`."""
    kept = {name: getattr(now, name) for name in _KEPT}
    return sorted_by_mutes(replace(moment, **kept, notes=now.notes))


def merge(old: Scene, new: Scene) -> Scene:
    """The next scene: the fields of the moment from `new`, the kept ones from `old`.

    A scene without facts has notes only. The reasons of silent rules are kept until `new` has some.
    """
    notes = (*old.notes, *new.notes)[-NOTES:]
    if new.facts is None:
        return replace(old, notes=notes)
    new = keep(new, replace(old, notes=notes))
    return replace(new, ended=ending(old, new), silent=new.silent or old.silent)


def ending(old: Scene, new: Scene) -> tuple[Ended, ...]:
    """The ended findings of the next moment, the latest first; none that holds again."""
    holding = {found.id for found in (*new.findings, *new.muted)}
    gone = [
        Ended(found, old.plans.get(found.id, ()), new.wall)
        for found in old.findings
        if found.id not in holding
    ]
    before = [
        one
        for one in old.ended
        if one.finding.id not in holding
        and one.wall <= new.wall  # else a recording began again: it is still to come
        and one.finding.id not in old.mutes
    ]
    return (*gone, *before)[:ENDED]
