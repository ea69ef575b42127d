"""The first row of the screen: the host, and at the right the state of nettop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ..facts import Facts
from ..sampling.refresh import LOOK, QUIET_LOOK
from ..terms.text import Line, cells, clauses, crop, ends, fit_line, line, line_cells
from ..terms.units import percent, seconds
from ..views.scene import Scene
from ..views.view import View
from . import pane
from .parts import clock, when

WORDS_FROM: Final = 100  # columns from which its figures and keys have words
QUIET_FROM: Final = 60  # columns from which it has the age of tables of a quiet host
PROCESSOR_FROM: Final = 140  # columns from which it has the processor's name
REASON: Final = 24  # free columns from which the reason for the profile is shown
PARTS: Final = 3  # what is read less often has one of so many parts of the width at most


class Told(NamedTuple):
    """A part of the state: its texts, in fewer and fewer words, and its role."""

    texts: tuple[str, ...]  # the last one is empty where the part may be left out
    role: str


def header(scene: Scene, view: View, width: int) -> Line:
    """Host, kernel and profile with its reason; at the right the state of nettop.

    The name of the host is always there. Where there is little room the state has fewer words; of
    the host, whole parts are left out.
    """
    facts = scene.facts
    known = [line((" nettop ", "brand"), " ", *row) for row in _hosts(scene, facts, width)]
    tail = _shortened(_state(scene, view, width), width - 1, known)
    room = width - line_cells(tail) - 1
    fitting = (row for row in known if line_cells(row) <= room)
    left = next(fitting, fit_line(known[-1], max(0, min(room, line_cells(known[-1])))))
    free = room - line_cells(left)
    if facts is not None and left == known[0] and free >= REASON:
        chosen = "chosen" if facts.profile.chosen else f"auto: {facts.profile.why}"
        left = line(*left, (f" ({clauses(chosen, free - 3)})", "dim"))
    return ends(left, tail, width)


def _hosts(scene: Scene, facts: Facts | None, width: int) -> list[Line]:
    """Name, kernel and size of the host, the profile, and that nettop is not root here.

    The parts without the last ones follow, down to the name.
    """
    if facts is None:
        return [()]
    host = facts.host
    kernel = ".".join(map(str, host.kernel)) if host.kernel else ""
    size = f"{host.cpus} CPU{'s' * (host.cpus != 1)}"
    if host.nodes > 1:
        size += f", {host.nodes} nodes"
    if scene.processor and width >= PROCESSOR_FROM:
        size += f", {scene.processor}"
    parts = [host.name, f"Linux {kernel}" if kernel else "", size if host.cpus else ""]
    fewer = [" · ".join(filter(None, parts[:many])) for many in (3, 2, 1)]
    user = line((" · not root", "warn")) if scene.ordinary else ()
    whole = line((fewer[0], "strong"), (f" · {facts.profile.name}", "accent"), *user)
    return [whole, *(line((text, "strong"), *user) for text in fewer), line((host.name, "strong"))]


def _state(scene: Scene, view: View, width: int) -> dict[str, Told]:
    """The parts of the state, from the left."""
    facts, wide = scene.facts, width >= WORDS_FROM
    out: dict[str, Told] = {}
    if view.moment:
        moments = moment_words(scene, view)[not wide :]
        out["moment"] = Told(tuple(f" {text} " for text in moments), "alarm")
    elif scene.origin:
        room, text = max(8, width // 4), scene.origin.text
        text = text if cells(text) <= room else scene.origin.brief
        out["origin"] = Told((f"{crop(text, room)}  ",), "warn")
    if view.paused:
        out["paused"] = Told(("⏸ paused  ",), "warn")
    if scene.recording:
        out["rec"] = Told(("● rec  ",), "bad")
    if view.moment:  # the others are of the present
        return out
    if scene.counting is not None and width >= QUIET_FROM:
        cost = f"{seconds(scene.counting)} of CPU"
        whole = f"counting drops and failed calls, sampling cores: {cost}  "
        out["counting"] = Told((whole, "◌ sampling  "), "dim")
    if LOOK not in scene.stretched:
        idle = scene.quiet > scene.interval and width >= QUIET_FROM
        every = _quiet(scene) if idle else seconds(scene.interval)
        out["every"] = Told((f"{'every ' * wide}{every}  ", ""), "dim")
    if scene.stretched:
        texts = stretched(scene.stretched)
        fitting = [text for text in texts if cells(text) <= width // PARTS]
        out["stretched"] = Told(tuple(f"{text}  " for text in fitting or texts[-1:]), "warn")
    here = not scene.origin and not scene.boxed  # else it is that of another process
    own = facts.host.nettop_cpu if facts is not None and here else None
    if own is not None:
        out["own"] = Told((f"own {'CPU ' * wide}{percent(own)} ", ""), "dim")
    return out


# which part is shortened first, and beside how much of the host: 0 all, 1 all but the profile
GIVES: Final = (("counting", 0), ("stretched", 1), ("every", -1), ("own", -1), ("moment", -1))


def _shortened(told: dict[str, Told], room: int, known: Sequence[Line]) -> Line:
    """The parts, in so few words that there is room beside the host."""
    for name, beside in GIVES:
        while (
            name in told
            and told[name].texts[1:]
            and _cells(told)
            > room - line_cells(known[max(-len(known), min(beside, len(known) - 1))])
        ):
            told[name] = told[name]._replace(texts=told[name].texts[1:])
    return tuple((one.texts[0], one.role) for one in told.values() if one.texts[0])


def _cells(told: Mapping[str, Told]) -> int:
    return sum(cells(one.texts[0]) for one in told.values())


def stretched(waits: Mapping[str, float]) -> tuple[str, ...]:
    """What is sampled less often to keep the budget: the screen, then the slowest tables.

    All of them, then fewer with the number of the others, at last the number alone.
    """
    longest = sorted(waits.items(), key=lambda item: (item[0] != LOOK, -item[1], item[0]))
    parts = [f"{'redrawn' if name == LOOK else name} every {round(wait, 1):g} s"
             for name, wait in longest]  # fmt: skip
    texts = [f"{', '.join(parts[:many])}, {len(parts) - many} more"
             for many in range(len(parts) - 1, 0, -1)]  # fmt: skip
    return (", ".join(parts), *texts, parts[0], f"{len(parts)} slower")


def _quiet(scene: Scene) -> str:
    """Seconds between two looks at a quiet host, and between two readings of its tables."""
    looks = max(QUIET_LOOK, scene.interval)
    return f"{looks:g}–{seconds(scene.quiet)}" if looks < scene.quiet else seconds(scene.quiet)


def moment_words(scene: Scene, view: View) -> tuple[str, ...]:
    """Which earlier moment is shown, and the keys that lead back; with fewer of them, with none."""
    wall = view.moment if pane(view.pane).TIMELINE else scene.wall
    today = when(wall)[:10] == when(wall + scene.ago)[:10]
    at = (clock if today else when)(wall).removesuffix(" UTC")
    if scene.ago < 1.0:  # a recording that is held at the last moment that was played
        said, back = f"{at}, held", "End plays on"
    else:
        said, back = f"{at}, {ago(scene.ago)} ago{', black box' * scene.boxed}", "End: the present"
    return f"{said}; ← → move, {back}", f"{said}; {back}", said


def ago(duration: float) -> str:
    """A duration in the units that matter: 41 s, 4 min, 2 h 5 min."""
    if duration < 60:
        return f"{duration:.0f} s"
    minutes = int(duration // 60)
    if minutes < 10:
        return f"{minutes} min {int(duration % 60)} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
