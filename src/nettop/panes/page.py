"""The whole screen as lines: header, pane, notes and countdown, footer. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ..terms.text import Line, cells, crop, ends, fit_line, line, line_cells, text_of, wrap
from ..views.ask import Hint
from ..views.form import PROMPTS, offered
from ..views.scene import Scene, nic_of
from ..views.view import View
from . import asking, cursor, graph, hints, interfaces, journey, names, pane
from .frame import FRAMED, closed, in_border, inside, part
from .headline import header
from .parts import left_of, typed

WIDE = 140  # columns from which the titles of the panes are whole
FEWEST = 2  # letters of the title of a pane: with them ten panes fit 80 columns
KEEP: Final = (" keep, ", " keep both, ")  # of one change that is not confirmed, of two
TO_KEYS: Final = (("End", "key"), (" leads to its keys", "warn"))  # of it, in the past
# seconds without a picture: a change at that host needs no connection to revert
SILENT: Final = 3.0
Guide = Callable[[View, int, int], list[Line]]


def fit_to(row: Line, width: int) -> Line:
    """The line, cropped to a width if it is longer, but not padded."""
    return row if line_cells(row) <= width else fit_line(row, max(0, width))


def footer(scene: Scene, view: View, width: int, above: Sequence[Line] = ()) -> Line:
    """The panes, and the keys that no row `above` it tells; or the text that is typed."""
    if view.typing:
        return fit_line(
            line(
                (" /", "key"),
                view.spot.filter,
                ("▏", "accent"),
                ("   Enter keep   Esc clear", "dim"),
            ),
            width,
        )
    if view.editing and (view.proving or not view.editing.startswith("form.")):
        name, does = PROMPTS.get(view.editing, (f"{view.editing} =", "shows the plan"))
        offer = "" if view.draft else offered(scene, view.editing.removeprefix("form."))
        if not view.editing.startswith("form."):
            now = pane(view.pane).value(scene, view.spot.on)
            offer = f"  now {now}" if now and not view.untouched else ""
        prompt = line((f" {name} ", "key"), typed(view), (offer, "dim"))
        return ends(prompt, line((f"Enter {does}  Esc cancel ", "dim")), width)
    parts: list[tuple[str, str]] = []
    titles, shown = footer_parts(scene, view, width, above)
    for name, text in titles:
        here = name == view.pane
        parts.append((f" {pane(name).KEY}", "key" if not here else "select"))
        parts.append((text, "select" if here else ""))
    keys = [(text, role) for hint in shown
            for text, role in ((hint.key, "key"), (f" {hint.text}  ", "dim"))]  # fmt: skip
    keys[-1] = (keys[-1][0][:-1], "dim")
    return ends(tuple(parts), line(*keys), width)


def footer_parts(
    scene: Scene, view: View, width: int, above: Sequence[Line] = ()
) -> tuple[list[tuple[str, str]], tuple[Hint, ...]]:
    """The panes' names and titles at the left, and the keys at the right; both fit in the width.

    A key that a row `above` tells beside its object is not told again. In a question and a field
    the keys are those that have a meaning there.
    """
    fixed = hints.fixed(scene, view)
    known = fixed or hints.untold(hints.hints(scene, view), above)
    titles = [(name, pane(name).TITLE) for name in names()]
    shown = shortened(titles, view.pane, width, hints.needed(known, width, field=bool(fixed)))
    room = width - sum(2 + len(text) for _, text in shown)
    if fixed:
        return shown, known if hints.room_of(known) <= room else known[:2]
    return shown, hints.fitting(known, room)


def hint_at(scene: Scene, view: View, row: Line, x: int) -> str:
    """The action of the key that is told at that column of a painted row; empty for none."""
    text = text_of(row)
    known = hints.fixed(scene, view) or (*hints.hints(scene, view), hints.HELP, hints.QUIT)
    for one in known:
        told = f"{one.key} {one.text}"
        at = text.find(f" {told}") + 1
        if at and at <= x < at + len(told):
            return one.action
    return ""


def shortened(
    titles: list[tuple[str, str]], here: str, width: int, room: int
) -> list[tuple[str, str]]:
    """Names and titles that leave so much room for keys: whole, or the first letters of each.

    That of `here` is whole; where the others have no room for `FEWEST` letters, it stands alone.
    """
    texts = {name: f" {title.split()[0] if width < WIDE else title}" for name, title in titles}
    own, left = texts[here], max(0, width - room - 2 * len(texts))
    cut = ({name: text[1 : 1 + most] for name, text in texts.items()} | {here: own}
           for most in range(max(map(len, texts.values())), FEWEST - 1, -1))  # fmt: skip
    alone = dict.fromkeys(texts, "") | {here: own[:left]}
    fitting = (one for one in (texts, *cut) if sum(map(len, one.values())) <= left)
    return list(next(fitting, alone).items())


def pane_at(scene: Scene, view: View, rows: Sequence[Line], x: int) -> str:
    """The pane whose title is at that column of the footer; empty for none."""
    at, width = 0, line_cells(rows[-1]) if rows else 0
    for name, text in footer_parts(scene, view, width, rows[:-1])[0]:
        wide = 2 + len(text)
        if at <= x < at + wide:
            return name
        at += wide
    return ""


def bulletin(scene: Scene, view: View, width: int) -> list[Line]:
    """The countdown of pending changes, the running test, the latest note, the filter."""
    out: list[Line] = []
    many = len(scene.pending)
    for pending in scene.pending[: 2 if many <= 2 else 1]:
        left = scene.left(pending)
        if left <= 0 and scene.origin is not None:  # its journal may be read seconds later
            over = f" {pending.setting}: the time is over; it reverted unless it was confirmed"
            out.append(fit_line(line((over, "warn")), width))
            continue
        out.append(
            fit_line(
                line(
                    (f" {left:>3.0f} s ", "alarm"),
                    (f" {_pending(scene, pending.setting, width)}: ", "warn"),
                    *_keys_of_pending(scene, view, many),
                ),
                width,
            )
        )
    if many > 2:
        rest = f"       {many - 1} more changes are pending"
        rest += ": c keeps all, u undoes all" * (not scene.fixed)
        out.append(fit_line(line((rest, "warn")), width))
    now = scene.progress
    if now is not None and not pane(view.pane).PROGRESS:
        stage = ", ".join(filter(None, (left_of(now), now.stage or "runs")))
        text = line((f" ● {now.title}: ", "accent"), stage)
        shows = "".join(f"{pane(name).KEY} shows it  " for name in names() if pane(name).PROGRESS)
        keys = line((f"{shows}Ctrl-X stops ", "key"))
        out.append(ends(fit_to(text, width - line_cells(keys) - 1), keys, width))
    out += _note(scene, width)
    if view.spot.filter and not view.typing:
        out.append(
            fit_line(
                line(
                    (" filter ", "dim"),
                    (view.spot.filter, "key"),
                    ("   / change, Esc clear", "dim"),
                ),
                width,
            )
        )
    return out


def _note(scene: Scene, width: int) -> list[Line]:
    """The latest note, all of it: its end is often the reason."""
    if not scene.notes:
        return []
    note = scene.notes[-1]
    rows = wrap(note.text, width - 2)
    return [fit_line(line((f" {row}", note.role)), width) for row in rows if row]


def _keys_of_pending(scene: Scene, view: View, many: int) -> Line:
    """The keys for changes that are not confirmed: c confirms all that are shown."""
    if scene.fixed:
        return ()
    if view.moment:
        return TO_KEYS
    return line(("c", "key"), (KEEP[many == 2], "warn"), ("u", "key"), (" undo now", "warn"))


def _pending(scene: Scene, setting: str, width: int) -> str:
    """What will happen to the setting; its name gives way to the keys."""
    alone = " by itself" if scene.origin is not None and scene.late >= SILENT else ""
    whole = f"{setting} reverts{alone} unless confirmed"
    room = width - cells("  30 s  : End leads to its keys ")
    return whole if cells(whole) <= room else f"{crop(setting, max(8, room - 8))} reverts"


def compose(
    scene: Scene, view: View, width: int, height: int, guide: Guide | None = None
) -> list[Line]:
    """The screen: exactly `height` lines of exactly `width` cells; `guide` has the help's rows."""
    width, height = max(1, width), max(1, height)
    if view.spot.led or not view.spot.on:  # drawn as `painted` binds it
        view = cursor.bound(view, scene)
    framed = _framed(width, height)
    extra, body_rows, question_rows = _rooms(scene, view, width, height)
    question: list[Line] = []
    if scene.question is not None:
        question = asking.lines(scene.question, view, width, question_rows)
    room = body_rows + question_rows  # a question covers the lowest rows; the others stay
    if height - 2 >= FRAMED:  # so does a note; with fewer rows, lists are shorter meanwhile
        room += min(len(extra), len(_note(scene, width)))
    if body_rows <= 0:
        body = []
    elif view.help and guide is not None:
        every = guide(view, width, room)
        body = every[max(0, min(view.scroll, len(every) - room)) :]
    else:
        draw = _enlarged if view.full else pane(view.pane).lines
        draw = journey.lines if view.journey else draw
        body = draw(scene, view, width, room)
        told = _note(scene, width)
        bordered = in_border(told[0], body[-1:]) if len(told) == 1 and not question else None
        if bordered is not None and len(body) == body_rows + 1:  # nothing is covered
            extra = [bordered, *(row for row in extra if row != told[0])]
            body.pop()
        shown = closed(body, body_rows)
        if not question and _selects(body) and not _selects(shown):
            shown = draw(scene, view, width, body_rows)  # the row of the cursor stays in sight
        body = shown
    out = [header(scene, view, width)] if framed else []
    out += body[:body_rows]
    out += [((" " * width, ""),)] * (body_rows - len(body))
    out += question
    out += extra
    if framed:
        out.append(footer(scene, view, width, out))
    return [fit_line(row, width) for row in out[:height]]


def _selects(rows: list[Line]) -> bool:
    """Whether the row of the cursor is among them."""
    return any(role == "select" for row in rows for _, role in row)


def painted(scene: Scene, view: View, width: int, height: int, guide: Guide | None = None) -> View:
    """The view after `compose` drew this scene, view and size.

    The cursor is bound to the row that was painted. Rows of a question that were shown are read.
    """
    width, height = max(1, width), max(1, height)
    if view.size != (width, height):
        view = replace(view, size=(width, height))
    if not view.help:
        view = cursor.bound(view, scene)
    if view.help and guide is not None and scene.question is None:
        room = _rooms(scene, view, width, height)[1]
        most = max(0, len(guide(view, width, room)) - room)
        return replace(view, scroll=min(view.scroll, most))
    if scene.question is None:
        return view
    return asking.shown(scene.question, view, width, _rooms(scene, view, width, height)[2])


def _framed(width: int, height: int) -> bool:
    return height >= 10 and width >= 40


def _rooms(scene: Scene, view: View, width: int, height: int) -> tuple[list[Line], int, int]:
    """The lines of the bulletin, the rows of the pane, the rows of the question."""
    extra = bulletin(scene, view, width)[: max(0, height - 4)]
    room = height - len(extra) - (2 if _framed(width, height) else 0)
    needed = 0
    if scene.question is not None:
        needed = max(0, min(room, asking.needs(scene.question, view, width)))
    return extra, room - needed, needed


def _enlarged(scene: Scene, view: View, width: int, height: int) -> list[Line]:
    """The graph of the pane on the whole screen, else the rates of the interface."""
    own = pane(view.pane).large
    rows = own(scene, view, width, height) if own is not None else []
    if rows:
        return rows
    nic = nic_of(scene, view)
    drawn = graph.lines(scene, nic, inside(width, framed=True), height - 2) if nic else []
    if nic is None or not drawn:
        return [line((" no graph yet: it needs two samples and more room", "dim"))]
    return part(f"{nic.name} {graph.title(scene, nic)}", interfaces.title(nic), drawn, width)
