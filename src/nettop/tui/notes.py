"""Updates of the scene that threads post to the screen."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from ..views.build import NOTES
from ..views.scene import Note, Question, Scene

Update = Callable[[Scene], Scene]
Post = Callable[[Update], None]


def note(text: str, role: str = "") -> Update:
    """An update that adds one note."""
    added = Note(text, role, time.time())
    return lambda scene: replace(scene, notes=(*scene.notes, added)[-NOTES:])


def ask_question(question: Question) -> Update:
    """An update that opens a question."""
    return lambda scene: replace(scene, question=question)


def recording(origin: str) -> str:
    """The message that refuses changes and tests where the screen does not show this host."""
    if origin.startswith("via "):
        return "this is another host: this key writes nothing there or here; y copies the command"
    kind = "a directory" if origin.startswith("directory") else "a recording"
    return f"this is {kind}: nothing can be changed or tested from here"
