"""Changes as text for other tools: one format per module; the folder is listed.

Nothing is applied. A module has `ENDING` (the extension of its files), `ORDER` (its position in the
list of formats) and `write(changes, source) -> (text, settings left out)`. It must quote words that
came from the host; `ESCAPES = True` means that it can express control characters. A new format is
one new file.
"""

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
    """The names of all formats, in the order of their `ORDER`."""
    return tuple(sorted(modules(__path__[0]), key=lambda name: (module(name).ORDER, name)))


def module(name: str) -> ModuleType:
    """The module of a format; ModuleNotFoundError for an unknown one."""
    return import_module(f"{__name__}.{name}")


def export(changes: Sequence[Change], source: Source, name: str) -> tuple[str, tuple[str, ...]]:
    """The text in that format, and the settings that it cannot express."""
    escapes = getattr(module(name), "ESCAPES", False)
    expressible = [
        change
        for change in changes
        if (escapes or change.setting.isprintable()) and _expressible(change, source)
    ]
    left = tuple(change.setting for change in changes if change not in expressible)
    text, more = module(name).write(expressible, source)
    return text, (*left, *more)


def _expressible(change: Change, source: Source) -> bool:
    """Whether text can express it: the name of a device may not be UTF-8."""
    try:
        change.setting.encode()
        address = change.address
        return all(settings.portable(source, address, to) for to in (change.before, change.after))
    except (OSError, ValueError, LookupError):
        return False


def comment(text: str) -> str:
    """Text for a comment, on one line: other characters become `?`."""
    return "".join(char if char.isprintable() else "?" for char in text)
