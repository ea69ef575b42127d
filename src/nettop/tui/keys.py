"""What each key does: one table, which the help and the command palette list.

A pane's own keys are in its module, and so is what Enter, ← →, Esc, `e` and `y` do there: see
`panes.declared`. `press` is pure: from key, view and scene it gives the next view, and an `Ask` for
a request that is more than a view (apply, undo, copy …).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ..facts import PROFILES
from ..files import own as program
from ..panes import cursor, interfaces, journey, names, pane
from ..panes.cursor import kept, moved, next_part, paged, target
from ..panes.declared import columns
from ..views.ask import Ask, Key, Next
from ..views.form import course, offered, values
from ..views.scene import Scene, only
from ..views.view import View
from .covering import IN_HELP, PAGE, help_key, question_key

DIGITS: Final = {pane(name).KEY: name for name in names()}
OWN: Final = {key.action: (name, key) for name in names() for key in pane(name).KEYS}


KEYS: Final = (
    Key(tuple(DIGITS), "open", "open a pane", "panes", f"{min(DIGITS)} … {max(DIGITS)}"),
    Key(("tab",), "next", "next part, then pane", "panes", "Tab"),
    Key(("shift+tab",), "previous", "previous part or pane", "panes", "Shift-Tab"),
    Key(("up", "k"), "up", "up", "moving", "↑ k"),
    Key(("down", "j"), "down", "down", "moving", "↓ j"),
    Key(("left",), "earlier", "earlier moment, prior choice", "moving", "←"),
    Key(("right",), "later", "later moment, next choice", "moving", "→"),
    Key(("shift+left",), "minute_earlier", "a minute earlier", "moving", "Shift-←"),
    Key(("shift+right",), "minute_later", "a minute later", "moving", "Shift-→"),
    Key(("h",), "left", "columns to the left", "moving"),
    Key(("l",), "right", "columns to the right", "moving"),
    Key(("pageup",), "page_up", "a page up", "moving", "PgUp"),
    Key(("pagedown",), "page_down", "a page down", "moving", "PgDn"),
    Key(("g", "home"), "first", "first row", "moving", "g"),
    Key(("G",), "last", "last row", "moving"),
    Key(("end",), "end", "the present; last row", "moving", "End"),
    Key(("enter",), "enter", "open, show its source, edit", "moving", "Enter"),
    Key(("n",), "next_detail", "next detail", "moving"),
    Key(("N",), "previous_detail", "previous detail", "moving"),
    Key(("escape",), "escape", "back; clear the filter", "moving", "Esc"),
    Key(("/",), "filter", "filter rows", "looking"),
    Key(("<", ">"), "sort", "sort by another column", "looking", "< >"),
    Key(("I",), "invert", "invert the order", "looking"),
    Key(("i",), "interface", "next interface", "looking"),
    Key(("P",), "profile", "next profile (or detected)", "looking"),
    Key(("z",), "fold", "fold cores; group flows", "looking"),
    Key(("R",), "driver_names", "the driver's counter names", "looking"),
    Key(("D",), "count", "count drops, failed calls", "looking"),
    Key(("J",), "journey", "where packets wait", "looking"),
    Key(("f",), "full", "graph on the whole screen", "looking"),
    Key(("space",), "pause", "pause the screen", "looking", "Space"),
    Key(("+", "="), "slower", "longer interval", "looking", "+"),
    Key(("-",), "faster", "shorter interval", "looking"),
    Key(("r",), "record", "record to a file, or stop", "looking"),
    Key(("a",), "apply", "apply this finding", "doing"),
    Key(("p",), "prove", "prove: test, change, test", "doing"),
    Key(("u",), "undo", "undo this or the last", "doing"),
    Key(("c",), "confirm", "confirm (keep the change)", "doing"),
    Key(("s",), "persist", "persist across reboots", "doing"),
    Key(("x",), "export", "export: shell, Ansible, …", "doing"),
    Key(("y",), "copy", "copy the command (OSC 52)", "doing"),
    Key(("m",), "mute", "mute or unmute", "doing"),
    Key(("e",), "edit", "set a value, move an IRQ", "doing"),
    Key(("S",), "spread", "spread a node's interrupts", "doing"),
    Key(("ctrl+x",), "stop", "stop the running test", "doing", "Ctrl-X"),
    Key(("ctrl+p",), "palette", "every action by name", "nettop", "Ctrl-P"),
    Key(("ctrl+z",), "suspend", "suspend; `fg` resumes", "nettop", "Ctrl-Z"),
    Key(("?", "f1"), "help", "this help", "nettop", "? F1"),
    Key(("q", "ctrl+c", "ctrl+q"), "quit", "quit", "nettop", "q Ctrl-C"),
    *(key for _, key in OWN.values()),
)
BY_KEY: Final = {name: key.action for key in KEYS for name in key.keys}
GROUPS: Final = ("panes", "moving", "looking", "doing", "nettop")
ASKS: Final = frozenset(
    "apply prove undo confirm persist export mute record stop".split()
    + "suspend palette quit slower faster count".split()
)
TIMES: Final = frozenset("earlier later minute_earlier minute_later".split())


def shown_as(key: Key) -> str:
    """The text for the key in the help."""
    return key.shown or " ".join(key.keys)


def press(name: str, character: str | None, view: View, scene: Scene) -> Next:
    """The view after a key. `name` is Textual's name of the key, `character` the text it types.

    `scene` is the one that was painted last, with the question that is open now.
    """
    after, ask = _pressed(name, character, view, scene)
    if ask is not None and ask.target == after.spot.on:
        after = after.at(on=after.spot.on)  # what a key acted on keeps the cursor
    return kept(view, after, scene), ask


def _pressed(name: str, character: str | None, view: View, scene: Scene) -> Next:
    if scene.question is not None:
        return question_key(name, view, scene.question)
    if view.typing:
        return _type_filter(name, character, view), None
    if view.editing:
        return _type_value(name, character, view, scene)
    if view.help and name not in IN_HELP:
        return help_key(name, view), None
    printable = character if character and character.isprintable() and character != " " else None
    action = BY_KEY.get(printable or name) or BY_KEY.get(name)
    if action is None or not _available(action, view):
        return view, None
    return act(action, view, scene, printable or "")


def _available(action: str, view: View) -> bool:
    """Whether the key of an action works in the pane shown."""
    name, key = OWN.get(action, ("", None))
    return key is None or key.everywhere or name == view.pane


def act(action: str, view: View, scene: Scene, digit: str = "") -> Next:
    """Do one action of the table; `digit` is the character of the key if it has several.

    An action of another pane opens that pane first.
    """
    if action in OWN:
        name, key = OWN[action]
        there = view if view.pane == name else replace(view, pane=name, help=False)
        return key.press(there, scene) if key.press is not None else (there, None)
    # of another host each time: what was typed may be no address of its peer
    if action == "prove" and (scene.distant or not (scene.origin or values(view)["to"])):
        here = target(view, scene)
        finding = scene.finding(here)
        known = course(scene)[0] if scene.distant or (finding and finding.host) else ""
        if finding is not None and finding.wanted and not known:  # ask for the address here
            return replace(_prompt("to", view), proving=here), None
    if action in ASKS:
        return view, Ask(action, target(view, scene))
    if action == "copy":
        return view, Ask("copy", target(view, scene), command(view, scene))
    change = CHANGES.get(action)
    if change is not None:
        return change(view, scene), None
    if action == "open" or action in names():  # a hint names the pane
        name = DIGITS.get(digit, action if action in names() else view.pane)
        return replace(view, pane=name, help=False, back=(), journey=""), None
    if action == "enter":
        return _enter(view, scene)
    if action == "sort":
        return sort(-1 if digit == "<" else 1, view), None
    if action == "edit":
        return _edit(view, scene)
    if action == "spread":
        return view, Ask("spread", only(scene, view) or (target(view, scene).partition("/")[0]))
    return _other_time(action, view, scene) if action in TIMES else (view, None)


def _other_time(action: str, view: View, scene: Scene) -> Next:
    """← → move in the pane where it has a use for them, else to another moment."""
    own = pane(view.pane).sideways
    by = {"earlier": -1, "later": 1}.get(action)
    after = view if by is None or own is columns else own(view, scene, by)
    return (view, Ask(action)) if after == view else (after, None)


def command(view: View, scene: Scene) -> str:
    """The command line for the row under the cursor, for the clipboard; else its name."""
    here = target(view, scene)
    steps = scene.steps(here)
    if steps:
        return "\n".join(step.shell or step.setting for step in steps)
    if (finding := scene.finding(here)) is not None:  # no change is known: what it rests on
        name = finding.id.removesuffix(f" at {finding.host}")
        return f"{program.called()} explain {shlex.quote(name)}"
    return pane(view.pane).command(here)


_ERASE: Final = {"backspace": -1, "ctrl+u": 0}  # the end of the text after this key, as an index


def _type_filter(name: str, character: str | None, view: View) -> View:
    text = view.spot.filter
    if name == "escape":
        return replace(view.at(filter=""), typing=False)
    if name == "enter":
        return replace(view, typing=False)
    if name in _ERASE:
        return view.at(filter=text[: _ERASE[name]])
    if character and character.isprintable():
        return view.at(filter=(text + character)[:80])
    return view


# leave the editor of a field for the one below or above, as in the forms of other programs
_NEIGHBOUR: Final = {"down": "down", "tab": "down", "up": "up", "shift+tab": "up"}


def _closed(view: View) -> View:
    """The view after the editor of a value was left."""
    return replace(view, editing="", draft="", untouched=False)


def _type_value(name: str, character: str | None, view: View, scene: Scene) -> Next:
    if name == "escape":
        return replace(_closed(view), proving=""), None
    if name in _ERASE:
        return replace(view, draft=view.draft[: _ERASE[name]], untouched=False), None
    if name in _NEIGHBOUR and view.editing.startswith("form.") and not view.proving:
        field = view.editing.removeprefix("form.")
        form = {**view.form, field: view.draft.strip()}
        return act(_NEIGHBOUR[name], replace(_closed(view), form=form), scene)
    if name == "enter":
        done = _closed(view)
        if view.editing.startswith("form."):
            field = view.editing.removeprefix("form.")
            text = view.draft.strip() or (offered(scene, field) if view.proving else "")
            done = replace(done, form={**view.form, field: text})
            return _next_prompt(field, done) if view.proving else (done, None)
        # the field stays open until the plan is shown: a wrong value can be corrected
        wanted = view.draft.strip()
        return (view, Ask("set", view.editing, wanted)) if wanted else (done, None)
    if character and character.isprintable():
        before = "" if view.untouched else view.draft
        return replace(view, draft=(before + character)[:200], untouched=False), None
    return view, None


def _next_prompt(field: str, view: View) -> Next:
    """The next step of a proof: ask for the address, then for the peer prefix, then plan it."""
    done = replace(view, proving="")
    if field == "to" and view.form["to"]:
        return _prompt("peer", view), None
    return done, Ask("prove", view.proving) if field == "peer" else None


def _prompt(field: str, view: View) -> View:
    """The prompt for a field of the form, with what is known."""
    known = values(view)[field]
    return replace(view, editing=f"form.{field}", draft=known, untouched=bool(known))


def _enter(view: View, scene: Scene) -> Next:
    enter = pane(view.pane).enter
    return _edit(view, scene) if enter is None else enter(view, scene, target(view, scene))


def _edit(view: View, scene: Scene) -> Next:
    setting = pane(view.pane).setting
    if setting is None:
        return view, None
    here = target(view, scene)
    address = setting(here)
    why = pane(view.pane).fixed(scene, here) if address else ""
    if (scene.origin and not scene.distant) or not address or why:
        return view, Ask("set", value=why)  # its note says why nothing can be set
    now = pane(view.pane).value(scene, here)
    return replace(view, editing=address, draft=now, untouched=bool(now)), None


Change = Callable[[View, Scene], View]
MANY: Final = 16  # interfaces; of more, `i` passes those at rest that are not real


def _move(by: int) -> Change:
    """Move the cursor by `by` rows; on an open page, scroll the text."""

    def move(view: View, scene: Scene) -> View:
        own = pane(view.pane).updown
        return moved(view, scene, by) if own is None else own(view, scene, by)

    return move


def _page(by: int) -> Change:
    def page(view: View, scene: Scene) -> View:
        here = pane(view.pane)
        if paged(view) or (here.PAGED and not here.LISTED):
            return view.at(top=max(0, view.spot.top + by))
        return moved(view, scene, by)

    return page


def _sideways(by: int) -> Change:
    return lambda view, scene: pane(view.pane).sideways(view, scene, by)


def _escape(view: View, scene: Scene) -> View:
    """What Esc does in the pane; else back to where Enter came from, else to the present."""
    if view.journey:
        return replace(view, journey="")
    if view.full:
        return replace(view, full=False)
    after = pane(view.pane).escape(view, scene)
    arrived = view.back and after.spot.open != view.spot.open == view.back[-1].opened
    if view.back and (after == view or arrived):
        return cursor.returned(view)
    return replace(view, moment=0.0) if after == view else after


def _end(view: View, scene: Scene) -> View:
    """Back to the present; in the present the last row."""
    present = view.moment or pane(view.pane).TIMELINE
    return replace(view, moment=0.0) if present else _move(10**9)(view, scene)


def _detail(by: int) -> Change:
    """The detail of the next row; without an opened one, the next row."""

    def change(view: View, scene: Scene) -> View:
        here = pane(view.pane)
        rows = (here.details or here.items)(scene, view.at(open=""))
        if view.spot.open not in rows:
            return _move(by)(view, scene)
        at = max(0, min(len(rows) - 1, rows.index(view.spot.open) + by))
        return view.at(open=rows[at], on=rows[at], index=at, top=0, mode=0)

    return change


def _filter(view: View, scene: Scene) -> View:
    """Type a filter; an opened detail is closed, or the rows that match would not be seen."""
    here = pane(view.pane)
    if not here.FILTERED:
        return view
    opened = view.spot.open in (here.details or here.items)(scene, view.at(open=""))
    return replace(view.at(open="", top=0) if opened else view, typing=True)


def _turn(by: int) -> Change:
    def turn(view: View, scene: Scene) -> View:
        row = next_part(view, scene, by)
        if row:
            return view.at(on=row, index=pane(view.pane).items(scene, view).index(row))
        known = names()
        name = known[(known.index(view.pane) + by) % len(known)]
        return replace(view, pane=name, help=False, back=(), journey="")

    return turn


def sort(by: int, view: View) -> View:
    """The view with the next sort order (or, with -1, the previous one)."""
    return view.at(sort=(view.spot.sort + by) % len(pane(view.pane).orders(view)))


def _interface(view: View, scene: Scene) -> View:
    """The next interface; of many only real ones, and those that move or lose data."""
    nics = [nic for nic in scene.facts.nics if nic.kind != "loopback"] if scene.facts else []
    if len(nics) > MANY:
        some = {nic.name for nic in interfaces.mattering(interfaces.known(scene), None)}
        nics = [nic for nic in nics if nic.kind == "nic" or nic.name in {*some, view.nic}]
    known = ["", *(nic.name for nic in nics)]
    index = known.index(view.nic) if view.nic in known else 0
    return replace(view, nic=known[(index + 1) % len(known)])


def _profile(view: View, scene: Scene) -> View:  # noqa: ARG001
    known = ("", *PROFILES)
    return replace(view, profile=known[(known.index(view.profile) + 1) % len(known)])


CHANGES: Final[dict[str, Change]] = {
    "next": _turn(1), "previous": _turn(-1), "up": _move(-1), "down": _move(1),
    "left": _sideways(-1), "right": _sideways(1), "page_up": _page(-PAGE), "page_down": _page(PAGE),
    "first": _move(-(10**9)), "last": _move(10**9), "end": _end, "escape": _escape,
    "next_detail": _detail(1), "previous_detail": _detail(-1),
    "filter": _filter,
    "invert": lambda v, _s: v.at(invert=not v.spot.invert), "interface": _interface,
    "profile": _profile, "fold": lambda v, _s: pane(v.pane).fold(v),
    "driver_names": lambda v, _s: replace(v, driver_names=not v.driver_names),
    "full": lambda v, _s: replace(v, full=not v.full),
    "journey": lambda v, s: replace(v, journey="" if v.journey else journey.of(s, v)),
    "pause": lambda v, _s: replace(v, paused=not v.paused),
    "help": lambda v, _s: replace(v, help=not v.help, scroll=0),
}  # fmt: skip


__all__ = ["BY_KEY", "GROUPS", "KEYS", "PAGE", "Ask", "Key", "act", "press", "target"]
