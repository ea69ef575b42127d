"""The TCP sockets once more, close together at both ends, as entries of their own in a recording.

What both ends lost can be bounded only if their sockets are read within milliseconds, which whole
samples are not. `record --peer` reads them again: `close/before/…` and `close/after/…` at this end,
`close/there/…` at the other, between these two.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from .record import Record
from .recording import Replay
from .source import Source

FOLDER: Final = "close/"
BEFORE: Final = "before"
THERE: Final = "there"
AFTER: Final = "after"


@contextmanager
def apart(source: Source, name: str) -> Iterator[None]:
    """Put the entries of requests in this block below that name; nothing for a live host."""
    if not isinstance(source, Replay | Record):
        yield
        return
    source.folder = f"{FOLDER}{name}/"
    try:
        yield
    finally:
        source.folder = ""


def bare(name: str) -> str:
    """The name of an entry without that folder."""
    return name.split("/", 2)[2] if name.startswith(FOLDER) and name.count("/") > 1 else name
