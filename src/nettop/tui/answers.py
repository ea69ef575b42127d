"""What a key without an effect says: each key answers, and in few words."""

from __future__ import annotations

from typing import Final

from ..facts import Facts
from ..panes import page, pane
from ..views.ask import Ask
from ..views.scene import Scene
from ..views.view import View
from . import keys
from .covering import IN_HELP, ROWS
from .keys import BY_KEY, KEYS, OWN, shown_as

WORDS: Final = {  # of actions after which the screen may look as before
    "enter": "nothing opens here",
    "filter": "nothing to filter",
    "fold": "nothing folds here",
    "sort": "nothing to sort",
    "invert": "nothing to invert",
    "left": "no more columns",
    "right": "no more columns",
    "next_detail": "no other row",
    "previous_detail": "no other row",
    "interface": "no other interface",
    "driver_names": "no counters here",
    "zoom_in": "the shortest span",
    "zoom_out": "the longest span",
    "edit": "no setting here",
    "escape": "nothing to close",
    "open": "already open",
    "muted": "nothing is muted",
}
QUESTION: Final = "Enter agrees, Esc cancels"
HELP: Final = "Esc closes the help, ↑ ↓ scroll it"
_KEY: Final = {key.action: shown_as(key) for key in KEYS}


def press(
    pressed: tuple[str, str | None], before: View, scene: Scene
) -> tuple[View, Ask | None, str]:
    """As `keys.press`, with what to say of a key that changed nothing; "" for all others.

    `pressed` has the key's name and the character it types, `scene` was painted under `before`. A
    view that looks like the one before is not taken: the key would have an effect elsewhere, later.
    """
    after, ask = keys.press(*pressed, before, scene)
    after, words = _of(pressed, before, after, ask, scene)
    return after, ask, words


def pasted(text: str, view: View, scene: Scene) -> tuple[View, str]:
    """The view after the first line of a paste; what to say where no field is open.

    Outside a field its characters would press keys.
    """
    if scene.question is not None or not (view.typing or view.editing):
        return view, "only an open field takes what is pasted"
    for character in filter(str.isprintable, text.strip().partition("\n")[0]):
        view = keys.press(character, character, view, scene)[0]
    return view, ""


def _of(
    pressed: tuple[str, str | None], before: View, after: View, ask: Ask | None, scene: Scene
) -> tuple[View, str]:
    name, character = pressed
    if ask is not None or before.typing or (before.editing and scene.question is None):
        return after, ""
    if before.help and scene.question is None:
        idle = after == before and name not in ROWS and name not in IN_HELP
        return after, HELP if idle else ""
    if scene.question is not None:
        idle = after == before and name not in ("enter", "up", "down", "pageup", "pagedown")
        return after, QUESTION if idle else ""
    action = BY_KEY.get(character or name) or BY_KEY.get(name)
    if action is None:
        typed = character if character and character.isprintable() else name
        return after, f"{typed}: no such key" if before == after else ""
    own, key = OWN.get(action, ("", None))
    if key is not None and not key.everywhere and own != before.pane:
        return after, f"{_KEY[action]}: only in {pane(own).TITLE} ({pane(own).KEY})"
    if after.profile != before.profile:
        return after, f"profile: {after.profile or 'as detected'}"
    words = WORDS.get(action)
    if words is None or not _alike(before, after, scene):
        return after, ""
    if action in _ELSEWHERE and (chosen := _ELSEWHERE[action](before, after, scene)):
        return after, chosen
    told = character if character is not None and character.isprintable() else _KEY[action]
    return before, f"{told}: {words}"


def _ordered(before: View, after: View, scene: Scene) -> str:  # noqa: ARG001
    """The column by which rows are sorted now, where that leaves them as they were."""
    known = pane(before.pane).orders(before)
    return f"sorted by {known[after.spot.sort] or 'default'}" if len(known) > 1 else ""


def _shown(before: View, after: View, scene: Scene) -> str:  # noqa: ARG001
    """The interface that other panes show now."""
    return f"interface: {after.nic or 'the busiest'}" if _interfaces(scene.facts) > 1 else ""


_ELSEWHERE: Final = {"sort": _ordered, "interface": _shown}  # what changed, if not this picture


def _alike(before: View, after: View, scene: Scene) -> bool:
    """Whether the screen looks as before the key."""
    if after == before:
        return True
    if after.pane != before.pane or 0 in before.size:
        return False
    one, other = (page.compose(scene, view, *before.size) for view in (before, after))
    return one == other


def _interfaces(facts: Facts | None) -> int:
    return sum(nic.kind != "loopback" for nic in facts.nics) if facts is not None else 0
