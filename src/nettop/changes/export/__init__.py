"""Settings as a text that other tools apply: one format a module, found by listing this folder.

Takes changes, gives a text and the settings that it cannot express; nothing is applied. A module
has `ENDING` (of a file of that format), `ORDER` (its place among the formats offered) and
`write(changes, source) -> (text, settings left out)`. It quotes words that came from the host;
`ESCAPES = True` says that it can write control characters too. A newcomer adds a format as one new
file.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from types import ModuleType

from ... import settings
from ...host.source import Source
from ...terms.modules import modules
from .. import Change


@cache
def formats() -> tuple[str, ...]:
    """The formats there are, in the order in which they are offered."""
    return tuple(sorted(modules(__path__[0]), key=lambda name: (module(name).ORDER, name)))


def module(name: str) -> ModuleType:
    """The module of a format."""
    return import_module(f"{__name__}.{name}")


def export(changes: Sequence[Change], source: Source, name: str) -> tuple[str, tuple[str, ...]]:
    """The text in that format, and the settings that it could not express."""
    escapes = getattr(module(name), "ESCAPES", False)
    could = [
        change
        for change in changes
        if (escapes or change.setting.isprintable()) and _expressible(change, source)
    ]
    left = tuple(change.setting for change in changes if change not in could)
    text, more = module(name).write(could, source)
    return text, (*left, *more)


def _expressible(change: Change, source: Source) -> bool:
    """Whether words can say it at all: a device name need not be UTF-8."""
    try:
        change.setting.encode()
        address = settings.parse(change.setting)
        return all(settings.portable(source, address, to) for to in (change.before, change.after))
    except (OSError, ValueError, LookupError):
        return False


def comment(text: str) -> str:
    """Text for a comment: one line, nothing that ends it."""
    return "".join(char if char.isprintable() else "?" for char in text)
