"""The keys at the right of the footer: those that do something on this pane and this row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..terms.text import Line, cells, text_of
from ..views.ask import Hint
from ..views.scene import IN_FORCE, Scene
from ..views.view import View
from . import listed, pane

CHANGES: Final = frozenset("apply prove undo persist export mute edit spread".split())  # of a host
READING: Final = CHANGES | {"confirm", "write", "test"}  # barred on a screen for reading only
PLAYED: Final = frozenset(("apply", "prove", "undo"))  # in the demo
PAST: Final = (
    Hint("End", "present", "end"),
    Hint("←", "back", "earlier"),
    Hint("→", "on", "later"),
)
KEYS_ROOM: Final = (27, 34)  # columns: of most rows one key, `?` and `q`; of two, `?` and `q`
QUESTION: Final = (Hint("Enter", "yes", ""), Hint("Esc", "no", "dismiss"))
FIELD: Final = (Hint("Enter", "keep", ""), Hint("Esc", "cancel", ""), Hint("Ctrl-U", "clear", ""))
TYPED: Final = Hint("a…z 0…9", "replace", "")
GUIDE: Final = (Hint("Esc", "close", "escape"), Hint("↑ ↓", "scroll", ""))  # of the help
BACK: Final = Hint("Esc", "back", "escape")  # of what is on the whole screen
STOP: Final = Hint("Ctrl-X", "stop", "stop")
UNDO: Final = Hint("u", "undo", "undo")
OTHER: Final = Hint("i", "interface", "interface")
HELP: Final = Hint("?", "help", "help")
QUIT: Final = Hint("q", "quit", "quit")


def hints(scene: Scene, view: View) -> tuple[Hint, ...]:
    """The keys that do something here, the decisive ones first; `?` is not among them."""
    if view.moment:
        return PAST
    if view.journey:
        return (BACK,)
    if view.full:
        return (BACK, *((STOP,) if scene.progress is not None else ()), OTHER)
    here = view.spot.open or view.spot.on  # as painted: listing all rows again is expensive
    own = pane(view.pane).hints
    known = () if own is None else own(scene, view, here)
    running = (STOP,) if scene.progress is not None else ()
    every = (*running, *of_row(scene, here), *known)
    fixed = CHANGES if scene.fixed else CHANGES - PLAYED if scene.plays else frozenset()
    barred = fixed | scene.barred
    return tuple(one for one in every if one.action not in barred)


def untold(known: tuple[Hint, ...], above: Iterable[Line]) -> tuple[Hint, ...]:
    """The hints that no painted row tells in the same words, beside what the key is for."""
    told = "".join(f"\n {text_of(row)}" for row in above)
    return tuple(one for one in known if f" {one.key} {one.text}" not in told)


def fixed(scene: Scene, view: View) -> tuple[Hint, ...]:
    """The keys of an open question, field or help, where others have no meaning; () without one."""
    if scene.question is not None:
        return QUESTION
    if view.help and not view.typing:
        return GUIDE
    return (*FIELD[:2], TYPED) if view.untouched else FIELD if view.editing else ()


def of_row(scene: Scene, here: str) -> tuple[Hint, ...]:
    """The keys for a finding by its state, and for a change in the journal."""
    one = next((one for one in listed.listed(scene) if one.id == here), None)
    if one is not None and one.state == "muted":
        return (Hint("m", "unmute", "mute"),)
    if one is not None and one.state == "done":
        return (UNDO,)
    steps = listed.planned(here, scene)
    if any(
        entry.id == here and entry.state in IN_FORCE and not entry.space for entry in scene.journal
    ):
        return (UNDO, Hint("s", "persist", "persist"))
    made = (UNDO,) if here and not scene.fixed and listed.made_for(here, scene) else ()
    return (*listed.offered(one, scene), *made, listed.COPY) if steps else made


def fitting(known: tuple[Hint, ...], room: int) -> tuple[Hint, ...]:
    """`?`; before it as many hints as there is room for, behind it `q` unless only one would fit.

    The first hint of the row comes before `q`, and `q` before the others.
    """
    whole = room_of((*known[:1], HELP, QUIT)) <= room
    last = (HELP, QUIT) if whole else (HELP,)
    out: list[Hint] = []
    for hint in known:
        if room_of((*out, hint, *last)) > room:
            break
        out.append(hint)
    return (*out, *last)


def needed(known: tuple[Hint, ...], width: int, *, field: bool) -> int:
    """The columns that the titles of the panes leave for the decisive keys.

    These are the first key of the row and `?`, in a field the first two; at least what most rows
    need, so that the titles do not change with the row.
    """
    return max(KEYS_ROOM[width >= 120], room_of(known[:2] if field else (*known[:1], HELP)))


def room_of(shown: tuple[Hint, ...]) -> int:
    """The columns of these hints."""
    return sum(map(width_of, shown))


def width_of(hint: Hint) -> int:
    """The columns of a hint: key, space, text, and two behind it."""
    return cells(hint.key) + cells(hint.text) + 3
