"""What lists the keys: the command palette, and the help with the symbols of the pane."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, pairwise
from typing import TYPE_CHECKING, Final

from .. import panes
from ..panes import hints, pane
from ..panes.grid import beside
from ..terms.text import Line, fit, line, wrap
from ..views.ask import Key
from ..views.scene import Scene
from ..views.view import THEMES, View
from . import keys
from .keys import GROUPS, KEYS, shown_as

if TYPE_CHECKING:
    from textual.command import Provider


def provider() -> type[Provider]:
    """What lists the entries in their order; Textual's lists those of an empty search by title."""
    from textual.command import DiscoveryHit, Hits  # when the palette opens
    from textual.system_commands import SystemCommandsProvider

    class Entries(SystemCommandsProvider):
        """As Textual's, but an empty search keeps the order of the application."""

        async def discover(self) -> Hits:
            """The entries in their order: what can be done now comes first."""
            for title, hint, command, _ in self.app.get_system_commands(self.screen):
                yield DiscoveryHit(title, command, help=hint)

    return Entries


def commands(view: View, scene: Scene) -> Iterator[tuple[str, str, tuple[str, str]]]:
    """Title, hint, and the entry: its kind ("pane", "theme" or "action") and its name.

    What can be done with the row under the cursor comes first.
    """
    known = {key.action: key for key in keys.KEYS if key.action not in ("open", "palette")}
    first = [one.action for one in hints.hints(scene, view) if one.action in known]
    order = list(dict.fromkeys([*first, *known]))
    yield from (_action(known[name]) for name in order[: len(set(first))])
    for name in panes.names():
        module = panes.pane(name)
        yield f"Pane: {module.TITLE}", f"key {module.KEY}", ("pane", name)
    yield from (_action(known[name]) for name in order[len(set(first)) :])
    for name in THEMES:
        yield f"Theme: {name}", "colours", ("theme", name)


def _action(key: Key) -> tuple[str, str, tuple[str, str]]:
    title = key.help[:1].upper() + key.help[1:]
    return title, f"key {keys.shown_as(key)}", ("action", key.action)


# two keys in one row: their actions, how the keys are written, and what they do
PAIRS: Final = {
    ("next", "previous"): ("Tab", "next part, pane; Shift: back"),
    ("up", "down"): ("↑ ↓ k j", "up, down"),
    ("earlier", "later"): ("← →", "earlier, later moment"),
    ("minute_earlier", "minute_later"): ("Shift-← →", "a minute earlier, later"),
    ("left", "right"): ("h l", "columns to the left, right"),
    ("page_up", "page_down"): ("PgUp PgDn", "a page up, down"),
    ("first", "last"): ("g G", "first, last row"),
    ("next_detail", "previous_detail"): ("n N", "next, previous detail"),
    ("interface", "profile"): ("i P", "next interface, profile"),
    ("count", "journey"): ("D J", "count drops; packets' waits"),
    ("sort", "invert"): ("< > I", "sort by a column, invert"),
    ("slower", "faster"): ("+ -", "longer, shorter interval"),
}
_FIRST: Final = {pair[0]: text for pair, text in PAIRS.items()}
_SECOND: Final = frozenset(pair[1] for pair in PAIRS)
_KEY: Final = 11  # columns of a key


def _key_rows(keys: list[Key]) -> Iterator[Line]:
    for key in keys:
        if key.action not in _SECOND:
            shown, text = _FIRST.get(key.action, (shown_as(key), key.help))
            yield line((fit(f" {shown}", _KEY), "key"), text)


def help_lines(view: View, width: int, height: int) -> list[Line]:
    """The symbols of the pane, then the table of keys in as many columns as needed.

    If there is not enough room, the headings of the keys are left out; if that is not enough, there
    are more rows than `height`, which scroll.
    """
    groups = [
        [line((f" {group.upper()}", "title")),
         *_key_rows([key for key in KEYS if key.group == group]), ()]
        for group in GROUPS
    ]  # fmt: skip
    here = pane(view.pane)
    symbols = [line((f" {here.TITLE.upper()}", "title"))]
    symbols += [*(line((f" {text}", "")) for text in wrap(here.LEGEND, min(width, 110) - 2)), ()]
    bare = [row for group in groups for row in group if row and row[0][1] == "key"]
    most, room = max(1, min(3, width // 39)), height - len(symbols)
    shown = (_whole(groups, most), _filled(bare, most))
    columns = next((one for one in shown if max(map(len, one)) <= room), shown[0])
    return [*symbols, *beside(columns, width // len(columns), width)]


def _whole(groups: Sequence[list[Line]], across: int) -> list[list[Line]]:
    """The groups in that many columns, none of them parted, so that the columns are short."""
    best = min(
        ([groups[a:b] for a, b in pairwise((0, *cuts, len(groups)))]
         for cuts in combinations(range(1, len(groups)), across - 1)),
        key=lambda parts: max(sum(map(len, part)) for part in parts),
    )  # fmt: skip
    return [list(chain.from_iterable(part)) for part in best]


def _filled(rows: list[Line], across: int) -> list[list[Line]]:
    deep = -(-len(rows) // across)
    return [rows[at : at + deep] for at in range(0, len(rows), deep)]
