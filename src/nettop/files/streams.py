"""stdin, stdout and stderr of the process: what is lost on the way out is known.

stdout is data: what it does not take raises `Unwritten`, which is no OSError, so that nobody takes
it for a file of his own. stderr is narration: what it does not take is gone. A stream that was
closed is /dev/null, and so is its number: else the next file opened (a journal) would get it, and
what is printed.

Both show what they are told and obey nothing in it: a name of the kernel, of a recording or of the
command line may hold what a terminal would obey. Colours are written by `control`; narration may
begin with `ERASE`, which takes the line before away.
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
UNREAD: Final = 141  # 128 + SIGPIPE, as the shell has it for a program that nobody reads
_NOT_WRITTEN: Final = 3


class Unwritten(Exception):  # noqa: N818
    """stdout does not take what is printed. `code` is the exit code."""

    def __init__(self, error: OSError) -> None:
        """One sentence, and the exit code: 141 when the reader went away, else 3."""
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
            select.select([], [self], [])  # somebody made the pipe or terminal non-blocking


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
        """Write what the terminal shall obey."""
        super().write(text)


class _Told(_Shown):
    def write(self, text: str, /) -> int:
        if text.startswith(ERASE):
            self.control(ERASE)
        super().write(text.removeprefix(ERASE))
        return len(text)


def visible(text: str) -> str:
    """The text with every control character but tabs and ends of lines as a picture of it."""
    if text.isprintable():
        return text
    return _PIECES.sub(lambda piece: piece[0] if piece[0].isprintable() else safe(piece[0]), text)


def control(text: str, to: TextIO) -> None:
    """Write what the terminal shall obey, at once; nothing of it may come from a host."""
    getattr(to, "control", to.write)(text)
    to.flush()


def adopt() -> None:
    """Put these in place of the streams that Python opened."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # the lowest free number is this one
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False, encoding="utf-8")  # noqa: SIM115 - open to the end
    sys.stdout = _text(_Shown, sys.stdout, _Data(1, "wb", closefd=False))
    sys.stderr = _text(_Told, sys.stderr, _Narration(2, "wb", closefd=False))


def _text(kind: type[_Shown], old: TextIO | None, raw: io.FileIO) -> _Shown:
    """Text to `raw`, encoded and buffered as Python chose it for the stream before."""
    if not isinstance(old, io.TextIOWrapper):
        return kind(io.BufferedWriter(raw), "utf-8", "backslashreplace")
    return kind(
        io.BufferedWriter(raw), old.encoding, old.errors,
        line_buffering=old.line_buffering, write_through=old.write_through,
    )  # fmt: skip


def abandon() -> None:
    """Send what is still to be printed to /dev/null: Python would try again at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
