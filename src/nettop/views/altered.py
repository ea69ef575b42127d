"""Settings that changed while a recording was made: whoever changed them, its samples show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from ..facts import Facts
from .inventory import inventory
from .past import PortRates, Summary
from .scene import IN_FORCE, JournalEntry, Scene

SEEN: Final = "seen"  # the state of such a change, and the beginning of its id
MOST: Final = 200  # changes that are kept


def changes(scene: Scene) -> tuple[JournalEntry, ...]:
    """The changes of the journal, then those that the recording shows."""
    return (*scene.journal, *scene.seen)


def altering(old: Scene, new: Scene) -> tuple[JournalEntry, ...]:
    """The changes seen up to `new`, the latest first; of a recording only.

    A setting counts from the sample in which it is read first. When a recording starts again, what
    was seen after the present moment is left out.
    """
    if new.origin is None or new.origin.kind != "recording":
        return ()
    known = tuple(one for one in old.seen if one.wall <= new.wall)
    if old.facts is None or new.facts is None or not old.wall < new.wall:
        return known
    before, after = settings(old.facts), settings(new.facts)
    altered = [
        JournalEntry(f"{SEEN}.{name}.{new.wall:.0f}", new.wall, name, before[name], value, SEEN)
        for name, value in after.items()
        if before.get(name, value) != value
    ]
    return (*altered, *known)[:MOST]


def settings(facts: Facts) -> Mapping[str, str]:
    """The settings and properties of a host by address, as far as they were read."""
    return _settings(_Same(facts))


class _Same:
    """The facts of one moment as a key: compared by identity, since they are never changed."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def __hash__(self) -> int:
        return id(self.facts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.facts is self.facts


@lru_cache(maxsize=2)  # of two moments, one is asked for again
def _settings(moment: _Same) -> Mapping[str, str]:
    return MappingProxyType(inventory(moment.facts, 0.0)["settings"])


DEMO: Final = " (demo)"  # behind the title of a result that the demo played
SPAN: Final = 5.0  # seconds that are compared, before and after
SETTLES: Final = 2.0  # seconds after a change that say nothing: a link may come up again
TOGETHER: Final = 3.0  # seconds: changes this close have one effect
PROOF: Final = 600.0  # seconds: a proof and the change that it keeps are not farther apart
STEP: Final = 1.5  # seconds, at the most, between two moments
LEAST: Final = 125_000.0  # bytes/s: of less traffic nothing is said
SAME: Final = 0.05  # of the rate before: a smaller difference is none


def told(before: Scene, now: Scene) -> list[str]:
    """A sentence for each group of changes whose effect can be judged since the scene before."""
    ready = SETTLES + SPAN
    due = [
        one for one in now.journal
        if one.state in IN_FORCE - {"held"} and before.wall < one.wall + ready <= now.wall
    ]  # fmt: skip
    groups: list[list[JournalEntry]] = []
    for one in sorted(due, key=lambda one: one.wall):
        if groups and one.wall - groups[-1][0].wall < TOGETHER:
            groups[-1].append(one)
        else:
            groups.append([one])
    return [text for group in groups if (text := _effect(group, now))]


def _effect(group: Sequence[JournalEntry], scene: Scene) -> str:
    first = group[0]
    if any(
        one.tool == "prove"
        and abs(one.wall - first.wall) < PROOF
        and one.title.removesuffix(DEMO) == first.finding
        for one in scene.results
    ):
        return ""  # the traffic was that of the proof, which told the effect
    name = first.setting.rpartition("@")[2].partition("/")[0]
    moments = scene.past.moments(60.0)
    ports = moments[-1].ports if moments else {}
    if name not in ports:
        name = scene.foremost.name if scene.foremost is not None else ""
    spans = [
        _ports(moments, name, begin, begin + SPAN)
        for begin in (first.wall - SPAN, group[-1].wall + SETTLES)
    ]
    if not all(spans) or moments[0].wall > first.wall - SPAN + STEP:
        return ""  # what was before is not known
    what = first.setting if len(group) == 1 else f"{len(group)} settings"
    rates = {way: [_mean(span, way) for span in spans] for way in ("rx", "tx")}
    way = max(rates, key=lambda one: max(rates[one]))
    old, new = rates[way]
    lost = [_mean(span, "lost") for span in spans]
    if max(old, new) < LEAST and not any(lost):
        return ""
    moved = f"{way} {scene.units.rate(old)} → {scene.units.rate(new)}"
    if abs(new - old) < SAME * old:
        moved = f"{way} {scene.units.rate(new)}, as before"
    drops = f", lost {lost[0]:,.0f} → {lost[1]:,.0f}/s" if any(round(one) for one in lost) else ""
    return f"{what}: {name} {moved}{drops} (means of {SPAN:g} s)"


def _ports(moments: Sequence[Summary], name: str, begin: float, end: float) -> list[PortRates]:
    inside = (one.ports.get(name) for one in moments if begin < one.wall <= end)
    return [one for one in inside if one is not None]


def _mean(ports: Sequence[PortRates], field: str) -> float:
    values: list[float] = [getattr(one, field) or 0.0 for one in ports]
    return sum(values) / len(values)
