"""The mouse: the next view after a press or click at some position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..panes import page, pane
from ..panes.cursor import moved
from ..terms.text import Line, cells
from ..views.ask import Ask, Next, Pointer
from ..views.scene import Scene
from ..views.view import View
from . import keys


def clicked(at: tuple[int, int], rows: Sequence[Line], view: View, scene: Scene) -> Next:
    """A click: titles in the footer and keys do what they say; a heading of a column sorts by it.

    A row gets the cursor, then opens. While a question is open, only its Esc can be clicked. `at`
    is column and row; `rows` and `scene` are those that were painted last.
    """
    x, y = at
    if scene.question is not None:  # only Enter agrees: it is read before it is typed
        gone = y == len(rows) - 1 and page.hint_at(scene, view, rows[y], x) == "dismiss"
        return view, Ask("dismiss") if gone else None
    if view.help:
        closes = y == len(rows) - 1 and page.hint_at(scene, view, rows[y], x) == "escape"
        return keys.press("escape", None, view, scene) if closes else (view, None)
    name = page.pane_at(scene, view, rows, x)
    if y == len(rows) - 1 and name:
        return replace(view, pane=name, help=False, back=()), None
    action = page.hint_at(scene, view, rows[y], x) if 0 <= y < len(rows) else ""
    if action or y == len(rows) - 1:
        return keys.act(action, view, scene)
    if (title := _heading_at(rows, at)) in pane(view.pane).orders(view) and title:
        return _sorted(view, title), None
    row_at = pane(view.pane).row_at
    row = "" if row_at is None else row_at(scene, view, pointer(at, rows))
    if row:
        return keys.act("enter", view.at(on=row), scene)
    here = next((n for n, row in enumerate(rows) if selected(row)), None)
    if here is None or not _same_frame(rows, here, y) or not _inside(rows[here], x):
        return view, None
    if here == y:
        return keys.act("enter", view, scene)
    return moved(view, scene, y - here), None


def wheeled(at: tuple[int, int], rows: Sequence[Line], view: View, scene: Scene, by: int) -> Next:
    """The wheel scrolls what is under it: a question, a text, a graph in time, else the cursor."""
    if scene.question is not None or view.help:
        return keys.press("down" if by > 0 else "up", None, view, scene)
    wheel = pane(view.pane).wheel
    if wheel is None or not 0 <= at[1] < len(rows):
        return keys.act("down" if by > 0 else "up", view, scene)
    return wheel(view, scene, pointer(at, rows), by)


def pointer(at: tuple[int, int], rows: Sequence[Line]) -> Pointer:
    """What is under the mouse."""
    x, y = at
    width = sum(len(text) for text, _ in rows[-1]) if rows else 0
    row = rows[y] if 0 <= y < len(rows) else ()
    return Pointer(x, y, width, len(rows), row, _part_at(rows, at))


def _part_at(rows: Sequence[Line], at: tuple[int, int]) -> str:
    """The title of the part under the mouse: the nearest one above that spans its column."""
    x, y = at
    for row in reversed(rows[: y + 1]):
        title, column = "", 0
        for text, role in row:
            if column > x + 2:
                break
            if role == "title":
                title = text.strip()
            elif column <= x and text[:1] in ("╮", "│", "|"):  # the part at the left ends here
                title = ""
            column += cells(text)
        if title:
            return title
    return ""


def _heading_at(rows: Sequence[Line], at: tuple[int, int]) -> str:
    """The title of the column whose heading is under the mouse; empty elsewhere."""
    x, y = at
    column, title, roles = 0, "", set[str]()
    for text, role in rows[y] if 0 <= y < len(rows) else ():
        if text in ("│", "|"):  # the border of a part: other parts may have no headings
            if column > x:
                break
            title, roles = "", set()
            column += 1
            continue
        if column <= x < column + cells(text) and role in ("head", "select"):
            title = text.strip(" ▼▲")
        roles.add(role)
        column += cells(text)
    return title if roles <= {"head", "select", "", "faint"} else ""


def _sorted(view: View, title: str) -> View:
    """Sorted by that column; inverted if it is already."""
    order = pane(view.pane).orders(view).index(title)
    if view.spot.sort == order:
        return view.at(invert=not view.spot.invert)
    return view.at(sort=order, invert=False)


def selected(row: Line) -> bool:
    """Whether a painted row is the one under the cursor; in a frame it begins with a border."""
    first = row[1:2] if _is_side(row) else row[:1]
    return bool(first) and first[0][1].startswith("select")


def _same_frame(rows: Sequence[Line], here: int, there: int) -> bool:
    """Whether no border of a frame and no heading of another part is between two rows."""
    between = rows[min(here, there) : max(here, there) + 1]
    return not any(row and (_is_border(row) or row[0][1] == "title") for row in between)


def _is_side(row: Line) -> bool:
    """Whether a painted row begins with the side of a frame; it is `|` in ASCII."""
    return bool(row) and row[0] in (("│", "faint"), ("|", "faint"))


def _is_border(row: Line) -> bool:
    """Whether a painted row is the upper or lower border of a frame, or a heading inside it."""
    return row[0][1] == "faint" and row[0][0][:1] in ("╭", "╰", "├", "+")


def _inside(row: Line, x: int) -> bool:
    """Whether a column is left of the right border of the frame that the selected row is in."""
    if not _is_side(row):
        return True
    end = 0
    for text, role in row:
        if end and not role.startswith("select"):
            break
        end += len(text)
    return 0 < x < end


def moment(at: tuple[int, int], rows: Sequence[Line], view: View, scene: Scene) -> float | None:
    """The moment under the mouse (monotonic seconds); None outside a graph over time."""
    moment_at = pane(view.pane).moment_at
    if moment_at is None or view.help or not 2 <= at[1] < len(rows) - 1:
        return None
    return moment_at(scene, view, pointer(at, rows))
