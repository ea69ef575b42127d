"""What stands in place of the limit where none is known: why, what is lost, that nothing is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..advice.rules.severity import SERIOUS
from ..facts import Facts
from ..facts.limits import Limit, words
from ..facts.limits.stages import declared
from ..terms.text import Line, cells, clauses, concise, continued, few, line
from ..terms.units import Units, per_second
from ..views.enough import obstacle, witnesses
from ..views.past import lost
from ..views.scene import Scene
from ..views.stages import HYPERVISOR, SOFTIRQ, SPENT, taker
from . import interfaces
from .parts import flow_words, severity

if TYPE_CHECKING:
    from ..facts.kinds.nic import Nic

# a part of a sentence ends with its mark: it may end a line
FULL: Final = " the CPUs are full, by {}: a transfer would wait for CPU time;"
TAKERS: Final = 2  # of the CPU time, that are named


def unknown(scene: Scene, width: int = 80) -> list[Line]:
    """Why there is no verdict; empty if enough was read."""
    facts = scene.facts
    if facts is None:
        return []
    if not facts.cores:
        return _cannot_tell(scene, width, "the CPUs could not be read")
    if facts.cores[0].idle is None and not (scene.origin and scene.shortfall):
        if "cpu" in facts.missing:
            return _cannot_tell(scene, width, "the CPU times could not be read")
        return [line((" … measuring the first interval", "dim"))]
    return []


def unjudged(limit: Limit, units: Units) -> list[Line]:
    """In place of a limit: too little was measured, or nothing is to be limited."""
    if words.early(limit):
        return [line((" … measuring what limits", "dim"))]
    way = "receives" if limit.direction == "rx" else "sends"
    said = f" · {limit.target} {way} acknowledgements only, {units.speed(limit.rate)}"
    return [line(said), line((f"   {limit.stage.because}", "dim"))]


def _cannot_tell(scene: Scene, width: int, what: str, table: str = "") -> list[Line]:
    """What is missing for a verdict and why, in at most two lines; and what would read it."""
    why, how = obstacle(scene.facts.missing if scene.facts is not None else {}, table)
    text = ": ".join(filter(None, ("Cannot tell", what, why)))
    first, *others = continued(text, width - 3, width - 4, 1)
    rest = (line((f"   {row}", "warn")) for row in others)
    return [line((f" ? {first}", "warn")), *rest, line((f"   {how}", "dim"))]


def busy(scene: Scene) -> bool:
    """Whether the CPUs of the host are full."""
    idle = scene.facts.host.idle if scene.facts is not None else None
    return idle is not None and idle < SPENT


# where packets are lost
PLACES: Final = ("ring", "backlog", "rcvbuf", "sndbuf", "tx-ring", "qdisc")


def uncounted(facts: Facts, nic: Nic) -> list[str]:
    """The places on the way of the interface's packets whose losses are not known."""
    paths = [path for path in facts.paths if path.nic == nic.name]
    if not paths:
        return ["drops of the interface"] if lost(nic.per_s) is None else []
    names = [stage.name for path in paths for stage in path.stages
             if stage.name in PLACES and stage.why and stage.lost is None]  # fmt: skip
    return [declared()[name].words.removeprefix("the ") for name in dict.fromkeys(names)]


def without_limit(scene: Scene, width: int, nic: Nic | None, *, unread: bool = False) -> list[Line]:
    """The first finding if it is serious; else what is lost, or that nothing is; up to three lines.

    `nic` is the interface shown; `unread`: its flows could not be read.
    """
    first = next((finding for finding in scene.findings if finding.severity in SERIOUS), None)
    if first is not None:
        glyph, role = severity(first)
        return [line((f" {glyph} ", role), (clauses(first.title, width - 3), "strong"))]
    advice = len(scene.findings)
    more = f"; {advice} piece{'s' * (advice > 1)} of advice" if advice else ""
    paths = scene.facts.paths if scene.facts is not None else ()
    losing = max(paths, key=lambda one: one.lost or 0.0, default=None)
    if losing is not None and losing.lost:
        worst = declared().get(losing.worst or "")
        place = worst.words if worst is not None else f"the {losing.worst}"
        text = f" · {per_second(losing.lost, 'dropped')} here, most at {place} of"
        return [line((f"{text} {losing.nic}; no finding yet", "warn"), (more, ""))]
    if unread:
        return _cannot_tell(scene, width, "no TCP flow was read", "sockets_tcp")
    if scene.shortfall:
        return _cannot_tell(scene, width, scene.shortfall)
    parts = [line(part) for part in _sound(scene, width, nic)]
    parts[-1:] = [line(*part, (more, "")) for part in parts[-1:]]
    first_row, *rest = flow_words(parts, width - 2, "", 0) or [()]
    return [first_row, *(line("  ", *row) for row in rest)]


def _sound(scene: Scene, width: int, nic: Nic | None) -> tuple[tuple[str, str], ...]:
    """That nothing is lost and nothing waits, as far as counters show it."""
    facts = scene.facts
    if facts is None:
        return ()
    wired = [nic for nic in facts.nics if nic.kind != "loopback"]
    if not wired:
        return ((" · no interface but loopback in this network namespace", ""),)
    if all(nic.per_s.rx_bytes is None and nic.per_s.tx_bytes is None for nic in wired):
        return ((" ? Cannot tell: no interface has counters; `nettop snapshot` says why", "warn"),)
    if nic is not None and interfaces.state(nic):
        return ((f" · {nic.name}: {interfaces.state(nic)}; it carries nothing", "warn"),)
    unknown = uncounted(facts, nic) if nic is not None and nic.kind != "loopback" else []
    unknown += witnesses(scene.frame) if scene.frame is not None else []
    sound = f"no drops seen (not counted: {', '.join(unknown)})" if unknown else "no drops here"
    if busy(scene):
        from ..facts import contended  # after the first paint

        cores = scene.mean.cores if scene.mean is not None else ()
        kernel = [by for by in dict.fromkeys(map(taker, cores)) if by in (SOFTIRQ, HYPERVISOR)]
        programs = contended.shared(facts.means.taken, [one.cpu for one in cores])
        every, room = (*kernel, *programs), width - cells(FULL.format("")) - 4
        fitting = (concise(few(every, most), room) for most in range(TAKERS, 0, -1))
        by = next((one for one in fitting if one and not one.endswith("…")), "programs")
        full = FULL.format(by)
        return (" · nothing waits to be sent or read;", ""), (full, "warn"), (f" {sound}", "")
    mark, role = ("·", "") if unknown else ("✓", "good")
    return ((f" {mark} {sound};", role), (" nothing waits to be sent or read", role))
