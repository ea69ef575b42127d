"""Updates of the scene that threads post to the screen."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ..facts.pair.words import called
from ..panes import listed, pane
from ..views.ask import Ask
from ..views.build import NOTES
from ..views.scene import JournalEntry, Note, Pending, Question, Scene, SceneOrigin
from ..views.view import View
from .keys import TIMES

Update = Callable[[Scene], Scene]
Post = Callable[[Update], None]
READ: Final = 1.0  # seconds after which a note has been read


def note(text: str, role: str = "") -> Update:
    """An update that adds one note."""
    added = Note(text, role, time.time())
    return lambda scene: replace(scene, notes=(*scene.notes, added)[-NOTES:])


def no_finding(view: View, scene: Scene) -> str:
    """That no finding is under the cursor, and where one can be selected."""
    known = {one.id for one in listed.listed(scene)}
    if not known:
        return "no finding holds"
    here = known.intersection(pane(view.pane).items(scene, view))
    return f"no finding is under the cursor: {'select one with ↑ ↓' if here else '5 lists them'}"


def no_setting(view: View, scene: Scene) -> str:
    """That no setting is under the cursor, and where one can be selected."""
    here = pane(view.pane)
    known = here.setting is not None and any(map(here.setting, here.items(scene, view)))
    return f"no setting is under the cursor: {'select one with ↑ ↓' if known else '3 lists them'}"


def reverts(pending: Sequence[Pending], entries: Sequence[JournalEntry]) -> tuple[Note, ...]:
    """A note for each setting whose changes waited to be confirmed and were reverted by the time.

    Where several of one setting waited, an undo among them, the oldest says what it is now.
    """
    now, known = time.time(), {entry.id: entry for entry in entries}
    late = [known[one.id] for one in pending if one.id in known and one.deadline <= now]
    oldest = {one.setting: one for one in sorted(late, key=lambda one: -one.wall)}
    value = {name: one.before if one.state == "reverted" else one.after
             for name, one in oldest.items()}  # fmt: skip
    return tuple(
        Note(f"{name}: reverted to {value[name]}: not confirmed in time", "warn", now)
        for name in dict.fromkeys(one.setting for one in late if one.state == "reverted")
    )


def brief(text: str, prefix: str) -> str:
    """The text with the last word of a long command prefix in place of the prefix."""
    return text.replace(prefix, called(prefix))


def ask_question(question: Question) -> Update:
    """An update that opens a question; a note about something else would seem to belong to it."""
    return lambda scene: replace(unread(scene), question=question)


def unread(scene: Scene, seconds: float = READ) -> Scene:
    """The scene without the notes that have been shown so long."""
    now = time.time()
    return replace(scene, notes=tuple(one for one in scene.notes if now - one.wall < seconds))


def after(scene: Scene, before: View, view: View) -> Scene:
    """The scene after a step; one to another pane, field, row or moment ends the notes read."""
    place, last = (
        (one.pane, one.help, one.editing, one.spot.open, bool(one.moment)) for one in (view, before)
    )
    return scene if place == last else unread(scene)


def not_this_host(origin: SceneOrigin) -> str:
    """The message that refuses changes and tests if the screen does not show this host."""
    if origin.kind == "host":
        return "this is another host: this key writes nothing there or here; y copies the command"
    return f"this is a {origin.kind}: nothing can be changed or tested from here"


# verbs that concern the screen only; all others act on the host or write a file
HARMLESS: Final = TIMES | frozenset("copy dismiss faster palette quit slower suspend".split())
REFUSED: Final = "read-only: this screen changes nothing, runs no test and writes no file"


def refused(before: View, after: View, ask: Ask | None) -> bool:
    """Whether a read-only screen refuses a key.

    Values cannot be typed. The journey of packets loads programs into the kernel, as key D does.
    """
    acting = ask is not None and ask.verb not in HARMLESS
    loading = after.journey not in ("", before.journey)
    return acting or bool(after.editing) or loading
