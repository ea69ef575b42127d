"""The first line of the overview where no stage limits: whether enough is known, what is lost."""

from __future__ import annotations

from typing import Final

from ..terms.text import Line, crop, fit_line, line
from ..terms.units import per_second
from ..views.enough import unjudged
from ..views.scene import Scene
from .parts import severity

SERIOUS: Final = ("critical", "warning")
BUSY: Final = 5.0  # percent idle below which the CPUs are full


def problems(scene: Scene) -> str:
    """The number of serious findings; empty for none."""
    count = sum(finding.severity in SERIOUS for finding in scene.findings)
    return f"{count} problem{'s' * (count > 1)}" if count else ""


def unknown(scene: Scene) -> Line | None:
    """Why there is no verdict; None if enough was read."""
    facts = scene.facts
    if facts is None:
        return None
    if not facts.cores:
        text = f" ? no verdict: {len(facts.missing)} kernel interfaces cannot be read here"
        return line((text, "warn"))
    if facts.cores[0].idle is None and not (scene.origin and scene.shortfall):
        return line((" … measuring the first interval", "dim"))
    return None


def without_limit(scene: Scene, width: int) -> Line:
    """The first finding if it is serious; else what is lost, or that nothing is."""
    first = next((finding for finding in scene.findings if finding.severity in SERIOUS), None)
    if first is not None:
        glyph, role = severity(first)
        return line((f" {glyph} ", role), (crop(first.title, width - 3), "strong"))
    advice = len(scene.findings)
    more = f"; {advice} piece{'s' * (advice > 1)} of advice" if advice else ""
    paths = scene.facts.paths if scene.facts is not None else ()
    losing = max(paths, key=lambda one: one.lost or 0.0, default=None)
    if losing is not None and losing.lost:
        text = f" · {per_second(losing.lost, 'lost')} on the path, most at the {losing.worst} of"
        return line((f"{text} {losing.nic}; no finding yet", "warn"), (more, ""))
    if scene.shortfall:
        return line((f" ? {unjudged(scene.shortfall)}", "warn"), (more, ""))
    return fit_line(line(*_sound(scene), (more, "")), width)


def _sound(scene: Scene) -> tuple[tuple[str, str], ...]:
    """That nothing is lost and nothing waits, as far as counters show it."""
    facts = scene.facts
    if facts is None:
        return ()
    wired = [nic for nic in facts.nics if nic.kind != "loopback"]
    if not wired:
        return ((" · no interface but loopback in this network namespace", ""),)
    if all(nic.per_s.rx_bytes is None and nic.per_s.tx_bytes is None for nic in wired):
        return ((" ? no interface has counters: packet loss is unknown", "warn"),)
    idle = facts.host.idle
    if idle is not None and idle < BUSY:
        return ((" ✓ no loss;", "good"), (" the CPUs are full", "warn"))
    return ((" ✓ no loss; nothing waits to be sent or read", "good"),)
