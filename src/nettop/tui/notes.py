"""Updates of the scene that threads post to the screen."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ..views.scene import Note, Question, Scene

Update = Callable[[Scene], Scene]
Post = Callable[[Update], None]
KEPT: Final = 20


def note(text: str, role: str = "") -> Update:
    """An update that says one sentence."""
    said = Note(text, role, time.time())
    return lambda scene: replace(scene, notes=(*scene.notes, said)[-KEPT:])


def asked(question: Question) -> Update:
    """An update that asks before something is written."""
    return lambda scene: replace(scene, question=question)


def recording(origin: str) -> str:
    """The refusal to change or test while a recording or directory is shown."""
    kind = "a directory" if origin.startswith("directory") else "a recording"
    return f"this is {kind}: nothing can be changed or tested from here"
