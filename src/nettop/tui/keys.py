"""What each key does: one table, from which the help and the command palette are made.

`press` is pure: key, view, scene → the next view, and an `Ask` when something must be done that is
not a matter of view (apply, undo, copy …). It knows no terminal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from ..facts import PROFILES
from ..panes import asking, history, names, pane, tests
from ..panes.grid import beside
from ..panes.scene import Question, Scene, View, chosen
from ..text import Line, fit, line, text_of, wrap

PAGE: Final = 10


@dataclass(frozen=True, slots=True)
class Ask:
    """Something for the app to do: the verb and what it is about."""

    verb: str
    target: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Key:
    """One binding: the keys (as Textual names them, or the character), and what they do."""

    keys: tuple[str, ...]
    action: str
    help: str
    group: str
    shown: str = ""


Next = tuple[View, Ask | None]

KEYS: Final = (
    Key(tuple("12345678"), "open", "open a pane", "panes", "1 … 8"),
    Key(("tab",), "next", "next pane", "panes", "Tab"),
    Key(("shift+tab",), "previous", "previous pane", "panes", "Shift-Tab"),
    Key(("up", "k"), "up", "up", "moving", "↑ k"),
    Key(("down", "j"), "down", "down", "moving", "↓ j"),
    Key(("left", "h"), "left", "left, older, choice before", "moving", "← h"),
    Key(("right", "l"), "right", "right, newer, next choice", "moving", "→ l"),
    Key(("pageup",), "page_up", "a page up", "moving", "PgUp"),
    Key(("pagedown",), "page_down", "a page down", "moving", "PgDn"),
    Key(("g", "home"), "first", "first row", "moving", "g"),
    Key(("G", "end"), "last", "last row", "moving", "G"),
    Key(("enter",), "enter", "open, edit, set a mark", "moving", "Enter"),
    Key(("escape",), "escape", "back; clear the filter", "moving", "Esc"),
    Key(("/",), "filter", "filter rows", "looking"),
    Key(("<",), "sort_less", "sort by the column before", "looking"),
    Key((">",), "sort_more", "sort by the next column", "looking"),
    Key(("I",), "invert", "invert the order", "looking"),
    Key(("i",), "interface", "next interface", "looking"),
    Key(("P",), "profile", "next profile (or as seen)", "looking"),
    Key(("z",), "fold", "fold or unfold idle cores", "looking"),
    Key(("R",), "raw", "the driver's counter names", "looking"),
    Key(("D",), "reasons", "count drops by reason", "looking"),
    Key(("[",), "zoom_in", "history: a shorter time", "looking"),
    Key(("]",), "zoom_out", "history: a longer time", "looking"),
    Key(("space",), "pause", "pause the screen", "looking", "Space"),
    Key(("+", "="), "slower", "longer interval", "looking", "+"),
    Key(("-",), "faster", "shorter interval", "looking"),
    Key(("r",), "record", "record to a file, or stop", "looking"),
    Key(("a",), "apply", "apply this finding", "doing"),
    Key(("p",), "prove", "prove: test, change, test", "doing"),
    Key(("u",), "undo", "undo this, else the last", "doing"),
    Key(("c",), "confirm", "keep what would go back", "doing"),
    Key(("s",), "persist", "keep it over reboots", "doing"),
    Key(("x",), "export", "export: shell, Ansible, …", "doing"),
    Key(("y",), "copy", "copy the command (OSC 52)", "doing"),
    Key(("m",), "mute", "mute this finding", "doing"),
    Key(("e",), "edit", "set it, move the interrupt", "doing"),
    Key(("S",), "spread", "spread a node's interrupts", "doing"),
    Key(("ctrl+x",), "stop", "stop the running test", "doing", "Ctrl-X"),
    Key(("ctrl+p",), "palette", "every action by name", "nettop", "Ctrl-P"),
    Key(("ctrl+z",), "suspend", "suspend; `fg` resumes", "nettop", "Ctrl-Z"),
    Key(("?",), "help", "this help", "nettop"),
    Key(("q", "ctrl+c", "ctrl+q"), "quit", "quit", "nettop", "q Ctrl-C"),
)
BY_KEY: Final = {name: key.action for key in KEYS for name in key.keys}
GROUPS: Final = ("panes", "moving", "looking", "doing", "nettop")
ASKS: Final = frozenset(
    "apply prove undo confirm persist export mute record stop".split()
    + "suspend palette quit slower faster".split()
)


def shown_as(key: Key) -> str:
    """How the key is written in help."""
    return key.shown or " ".join(key.keys)


def press(name: str, character: str | None, view: View, scene: Scene) -> Next:
    """What a key does to the view. `name` as Textual calls it; `character` what it types."""
    if scene.question is not None:
        return _answer(name, view, scene.question)
    if view.typing:
        return _type_filter(name, character, view), None
    if view.editing:
        return _type_value(name, character, view)
    printable = character if character and character.isprintable() and character != " " else None
    action = BY_KEY.get(printable or name) or BY_KEY.get(name)
    if action is None:
        return view, None
    if view.help and action in ("help", "escape", "enter"):
        return replace(view, help=False), None
    return act(action, view, scene, printable or "")


def act(action: str, view: View, scene: Scene, digit: str = "") -> Next:
    """Do one action of the table."""
    if action in ASKS:
        return view, Ask(action, target(view, scene))
    if action == "copy":
        return view, Ask("copy", target(view, scene), command(view, scene))
    change = _CHANGES.get(action)
    if change is not None:
        return change(view, scene), None
    if action == "open":
        found = [n for n in names() if digit == pane(n).KEY]
        return (replace(view, pane=found[0], help=False) if found else view), None
    if action == "enter":
        return _enter(view, scene)
    if action == "edit":
        return _edit(view, scene), None
    if action == "spread":
        return view, Ask("spread", view.nic or (target(view, scene).partition("/")[0]))
    return view, None


def by(rows: int, view: View, scene: Scene) -> View:
    """The cursor so many rows further."""
    return _move(rows)(view, scene)


def target(view: View, scene: Scene) -> str:
    """What is under the cursor: the id of a finding, setting, queue, flow, result or change."""
    items = pane(view.pane).items(scene, view)
    index = chosen(items, view.spot)
    return items[index] if 0 <= index < len(items) else view.spot.open


def command(view: View, scene: Scene) -> str:
    """The command line behind what is under the cursor, for the clipboard."""
    here = target(view, scene)
    steps = scene.plans.get(here, ())
    if steps:
        return "\n".join(step.shell or step.setting for step in steps)
    if view.pane == "journal":
        return f"nettop undo {here}" if here else ""
    if view.pane == "nic" and here:
        return f"nettop get {here}"
    return here


def _answer(name: str, view: View, question: Question) -> Next:
    """A question is open: Enter agrees, Esc does not, arrows turn its sheets."""
    if name == "enter":
        return view, Ask("agree", value=question.sheets[asking.place(view, question)][0])
    if name in ("escape", "q", "n"):
        return view, Ask("dismiss")
    if name == "y":
        _, body = question.sheets[asking.place(view, question)]
        return view, Ask("copy", value="\n".join(text_of(row).rstrip() for row in body))
    turn = {"left": -1, "h": -1, "right": 1, "l": 1, "tab": 1, "shift+tab": -1}.get(name)
    if turn is not None:
        return replace(view, sheet=asking.place(view, question) + turn, scroll=0), None
    by = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -PAGE, "pagedown": PAGE}.get(name, 0)
    last = max(0, len(question.sheets[asking.place(view, question)][1]) - 1)
    return replace(view, scroll=max(0, min(last, view.scroll + by))), None


def _type_filter(name: str, character: str | None, view: View) -> View:
    text = view.spot.filter
    if name == "escape":
        return replace(view.at(filter=""), typing=False)
    if name == "enter":
        return replace(view, typing=False)
    if name == "backspace":
        return view.at(filter=text[:-1])
    if character and character.isprintable():
        return view.at(filter=(text + character)[:80])
    return view


def _type_value(name: str, character: str | None, view: View) -> Next:
    if name == "escape":
        return replace(view, editing="", draft=""), None
    if name == "backspace":
        return replace(view, draft=view.draft[:-1]), None
    if name == "enter":
        done = replace(view, editing="", draft="")
        if view.editing.startswith("form."):
            field = view.editing.removeprefix("form.")
            return replace(done, form={**view.form, field: view.draft.strip()}), None
        return done, Ask("set", view.editing, view.draft.strip()) if view.draft.strip() else None
    if character and character.isprintable():
        return replace(view, draft=(view.draft + character)[:200]), None
    return view, None


def _move(by: int) -> Callable[[View, Scene], View]:
    def move(view: View, scene: Scene) -> View:
        items = pane(view.pane).items(scene, view)
        if (view.pane == "advisor" and view.spot.open) or not items:
            return view.at(top=max(0, view.spot.top + by))
        index = max(0, min(len(items) - 1, chosen(items, view.spot) + by))
        return view.at(on=items[index], index=index, top=0)

    return move


def _page(by: int) -> Callable[[View, Scene], View]:
    def move(view: View, scene: Scene) -> View:
        if view.pane == "advisor":
            return view.at(top=max(0, view.spot.top + by))
        return _move(by)(view, scene)

    return move


def _sideways(by: int) -> Callable[[View, Scene], View]:
    def move(view: View, scene: Scene) -> View:
        if view.pane == "history":
            return _move(-by)(view, scene)
        if view.pane == "tests":
            return _choose(view, scene, by)
        return view.at(left=max(0, view.spot.left + by))

    return move


def _choose(view: View, scene: Scene, by: int) -> View:
    here = target(view, scene)
    now = tests.values(view)
    if here == "form.tool":
        known = scene.tools
        index = known.index(now["tool"]) if now["tool"] in known else 0
        return replace(view, form={**view.form, "tool": known[(index + by) % len(known)]})
    if here == "form.reverse":
        other = "no" if now["reverse"] == "yes" else "yes"
        return replace(view, form={**view.form, "reverse": other})
    return view


def _enter(view: View, scene: Scene) -> Next:
    here = target(view, scene)
    if view.pane == "overview" and here:
        return replace(view, pane="advisor").at(on=here, top=0), None
    if view.pane in ("advisor", "flows") and here and not view.spot.open:
        return view.at(open=here, top=0), None
    if view.pane in ("nic", "cores"):
        return _edit(view, scene), None
    if view.pane == "history" and here:
        marks = (*view.marks, float(here)) if len(view.marks) < 2 else ()
        return replace(view, marks=marks), None
    if view.pane == "tests" and here.startswith("result."):
        return view.at(open="" if view.spot.open == here else here), None
    if view.pane == "tests" and here.startswith("study."):
        return view, Ask("study", here.removeprefix("study."))
    if view.pane == "tests" and here == f"form.{tests.START}":
        return view, Ask("test")
    if view.pane == "tests" and here.startswith("form."):
        field = here.removeprefix("form.")
        if field in ("tool", "reverse"):
            return _choose(view, scene, 1), None
        return replace(view, editing=here, draft=tests.values(view)[field]), None
    return view, None


def _edit(view: View, scene: Scene) -> View:
    here = target(view, scene)
    if view.pane == "nic" and here:
        return replace(view, editing=here, draft="")
    if view.pane == "cores" and here:
        return replace(view, editing=f"irq.affinity@{here}", draft="")
    return view


def _escape(view: View, scene: Scene) -> View:  # noqa: ARG001
    if view.spot.open:
        return view.at(open="", top=0)
    if view.marks and view.pane == "history":
        return replace(view, marks=())
    if view.spot.filter:
        return view.at(filter="")
    return view.at(on="", index=0, top=0) if view.pane == "history" else view


def _turn(by: int) -> Callable[[View, Scene], View]:
    def turn(view: View, scene: Scene) -> View:  # noqa: ARG001
        known = names()
        return replace(view, pane=known[(known.index(view.pane) + by) % len(known)], help=False)

    return turn


def _sort(by: int) -> Callable[[View, Scene], View]:
    def sort(view: View, scene: Scene) -> View:  # noqa: ARG001
        count = getattr(pane(view.pane), "SORTS", 1)
        return view.at(sort=(view.spot.sort + by) % count)

    return sort


def _interface(view: View, scene: Scene) -> View:
    known = (
        ["", *(n.name for n in scene.facts.nics if n.kind != "loopback")] if scene.facts else [""]
    )
    index = known.index(view.nic) if view.nic in known else 0
    return replace(view, nic=known[(index + 1) % len(known)])


def _profile(view: View, scene: Scene) -> View:  # noqa: ARG001
    known = ("", *PROFILES)
    return replace(view, profile=known[(known.index(view.profile) + 1) % len(known)])


def _zoom(by: int) -> Callable[[View, Scene], View]:
    def zoom(view: View, scene: Scene) -> View:  # noqa: ARG001
        return replace(view, zoom=max(0, min(len(history.SPANS) - 1, view.zoom + by)))

    return zoom


_CHANGES: Final[dict[str, Callable[[View, Scene], View]]] = {
    "next": _turn(1), "previous": _turn(-1), "up": _move(-1), "down": _move(1),
    "left": _sideways(-1), "right": _sideways(1), "page_up": _page(-PAGE), "page_down": _page(PAGE),
    "first": _move(-(10**9)), "last": _move(10**9), "escape": _escape,
    "filter": lambda v, _s: replace(v, typing=True), "sort_less": _sort(-1), "sort_more": _sort(1),
    "invert": lambda v, _s: v.at(invert=not v.spot.invert), "interface": _interface,
    "profile": _profile, "fold": lambda v, _s: replace(v, fold=not v.fold),
    "raw": lambda v, _s: replace(v, raw=not v.raw),
    "reasons": lambda v, _s: replace(v, reasons=not v.reasons),
    "zoom_in": _zoom(-1), "zoom_out": _zoom(1),
    "pause": lambda v, _s: replace(v, paused=not v.paused),
    "help": lambda v, _s: replace(v, help=not v.help),
}  # fmt: skip


def help_lines(view: View, width: int, height: int) -> list[Line]:
    """The table of keys in as many columns as fit; without headings where room is short.

    Above it what the signs of the pane mean, where there is room for both.
    """
    entries: list[Line] = []
    for group in GROUPS:
        entries.append(line((f" {group.upper()}", "title")))
        entries += [
            line((fit(f"  {shown_as(key)}", 13), "key"), key.help)
            for key in KEYS
            if key.group == group
        ]
        entries.append(())
    here = pane(view.pane)
    signs = [line((f" {here.TITLE.upper()}", "title"))]
    signs += [*(line((f" {text}", "")) for text in wrap(here.LEGEND, min(width, 110) - 2)), ()]
    bare = [row for row in entries if row and row[0][1] == "key"]
    across = max(1, min(3, width // 39))
    tries = [(signs, entries), (signs, bare), ([], entries), ([], bare)]
    for above, rows in tries:  # what the signs mean comes before the headings of the keys
        room = height - len(above)
        if -(-len(rows) // across) <= room:
            break
    while across > 1 and -(-len(rows) // (across - 1)) <= room:
        across -= 1  # wide columns tell all
    deep = -(-len(rows) // across)
    columns = [rows[at : at + deep] for at in range(0, len(rows), deep)]
    return [*above, *beside(columns, width // across, width)][:height]


__all__ = [
    "BY_KEY",
    "GROUPS",
    "KEYS",
    "PAGE",
    "Ask",
    "Key",
    "act",
    "help_lines",
    "press",
]
