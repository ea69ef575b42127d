"""How threads speak to the screen: functions from scene to scene, posted."""

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
    """Why nothing of this host is touched while something else is looked at."""
    kind = "a directory" if origin.startswith("directory") else "a recording"
    return f"this is {kind}: nothing can be changed or tested from here"
