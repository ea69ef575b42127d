"""Write recordings to files; a file gets its name only when it is complete."""

from __future__ import annotations

import errno
import gzip
import os
import stat
from contextlib import suppress
from typing import IO

from ..files.draft import Draft
from .archive import Room


class Tape:
    """An archive that is being written to a file, which gets its name when it is complete.

    A file that is not regular (a pipe, /dev/null) gets each part at once.
    """

    def __init__(self, path: str) -> None:
        """OSError if the file cannot be created."""
        self.path = path
        self.room = Room()
        self._draft: Draft | None = None
        self._file: IO[bytes]
        if _special(path):
            # neither created nor truncated: if it became a file meanwhile, that file stays as it is
            self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CLOEXEC), "wb")
        else:
            self._draft = Draft(path)
            self._file = self._draft.file
        packed = path.endswith(".gz")
        self._out = gzip.GzipFile("", "wb", fileobj=self._file, mtime=0) if packed else self._file

    def write(self, text: str) -> None:
        """Append text; the reader of a pipe gets it at once.

        RecordingError if the archive would exceed its bounds; then nothing is appended.
        """
        self._out.write(self.room.take(text))
        if self._out is self._file:
            self._file.flush()

    def keep(self) -> None:
        """Give the complete file its name."""
        if self._out is not self._file:
            self._out.close()
        if self._draft is not None:
            self._draft.keep(like=True)
        self._file.close()

    def drop(self) -> None:
        """Delete the incomplete file."""
        if self._file.closed:
            return
        if self._out is not self._file:
            with suppress(OSError, ValueError):
                self._out.close()
        if self._draft is not None:
            self._draft.drop()
        with suppress(OSError):
            self._file.close()


def _special(path: str) -> bool:
    """Whether the path is not a regular file; OSError for a symbolic link to a regular file.

    nettop does not write through such a link, because another user may have created it, and does
    not replace a link, because /dev/stdout is one.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISREG(mode) and os.path.islink(path):
        raise OSError(errno.ELOOP, "a symbolic link: name the file itself, or - for stdout", path)
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
