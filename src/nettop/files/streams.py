"""stdin, stdout and stderr of the process. A failed write to stdout is an error.

stdout carries data: a failed write raises `Unwritten`. It is not an OSError, so callers do not
mistake it for an error of their own files. stderr carries messages: a failed write is ignored. A
closed stream is opened as /dev/null. Otherwise the next file opened (the journal, for example)
would get its file descriptor and the output.

Both streams replace control characters with visible ones, because names of the kernel, a recording
or the command line can contain terminal escape sequences. `control` writes colours. A message may
begin with `ERASE`, which erases the current line.
"""

from __future__ import annotations

import errno
import io
import os
import re
import select
import sys
from typing import TYPE_CHECKING, Final, TextIO

from ..terms.text import safe

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

ERASE: Final = "\r\x1b[K"
_PIECES: Final = re.compile(r"[^\n\t]+")
UNREAD: Final = 141  # 128 + SIGPIPE, the shell's exit code after SIGPIPE
_NOT_WRITTEN: Final = 3


class Unwritten(Exception):  # noqa: N818
    """A write to stdout failed. `code` is the exit code."""

    def __init__(self, error: OSError) -> None:
        """Exit code 141 if the reader closed the pipe, else 3."""
        super().__init__(f"stdout: {error.strerror}")
        self.code = UNREAD if error.errno == errno.EPIPE else _NOT_WRITTEN


class _Data(io.FileIO):
    def write(self, data: ReadableBuffer, /) -> int:
        while True:
            try:
                written: int | None = super().write(data)
            except OSError as error:
                raise Unwritten(error) from None
            if written is not None:
                return written
            select.select([], [self], [])  # another process set O_NONBLOCK on the pipe or terminal


class _Narration(io.FileIO):
    def write(self, data: ReadableBuffer, /) -> int:
        size = memoryview(data).nbytes
        try:
            return super().write(data) or size
        except OSError:
            return size


class _Shown(io.TextIOWrapper):
    def write(self, text: str, /) -> int:
        super().write(visible(text))
        return len(text)

    def control(self, text: str) -> None:
        """Write terminal control sequences."""
        super().write(text)


class _Told(_Shown):
    def write(self, text: str, /) -> int:
        if text.startswith(ERASE):
            self.control(ERASE)
        super().write(text.removeprefix(ERASE))
        return len(text)


def visible(text: str) -> str:
    """The text with visible symbols for control characters, except tab and newline."""
    if text.isprintable():
        return text
    return _PIECES.sub(lambda piece: piece[0] if piece[0].isprintable() else safe(piece[0]), text)


def control(text: str, to: TextIO) -> None:
    """Write and flush terminal control sequences; never pass text of a host."""
    getattr(to, "control", to.write)(text)
    to.flush()


def adopt() -> None:
    """Replace the streams that Python opened."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # the lowest free descriptor is this one
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False, encoding="utf-8")  # noqa: SIM115 - open to the end
    if sys.__stderr__ is None:  # what a screen is drawn on, once it is a terminal
        drawn = open(2, "w", closefd=False, encoding="utf-8")  # noqa: SIM115 - open to the end
        sys.__stderr__ = drawn  # type: ignore[misc]
    sys.stdout = _text(_Shown, sys.stdout, _Data(1, "wb", closefd=False))
    sys.stderr = _text(_Told, sys.stderr, _Narration(2, "wb", closefd=False))


def _text(kind: type[_Shown], old: TextIO | None, raw: io.FileIO) -> _Shown:
    """A text stream to `raw` with the encoding and buffering of the stream it replaces."""
    if not isinstance(old, io.TextIOWrapper):
        return kind(io.BufferedWriter(raw), "utf-8", "backslashreplace")
    # with PYTHONUNBUFFERED Python has no buffer below the text; this one ends with each line
    lines = old.line_buffering or old.write_through
    return kind(io.BufferedWriter(raw), old.encoding, old.errors, line_buffering=lines)


def abandon() -> None:
    """Send buffered output to /dev/null; Python would otherwise retry the write at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
