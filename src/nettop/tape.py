"""Recordings into files: beside their place until they are whole, so that none is there by half."""

from __future__ import annotations

import gzip
import os
from contextlib import suppress


class Tape:
    """An archive on its way into a file, beside which it stands until it is whole."""

    def __init__(self, path: str) -> None:
        """OSError when there can be no such file."""
        self.path = path
        special = os.path.exists(path) and not os.path.isfile(path)
        self.part = path if special else f"{path}.{os.getpid()}.part"
        self.size = 0
        self._file = open(self.part, "wb")  # noqa: SIM115 - closed by `keep` or `drop`
        packed = path.endswith(".gz")
        self._out = gzip.GzipFile("", "wb", fileobj=self._file, mtime=0) if packed else self._file

    def write(self, text: str) -> None:
        """Append; what a plain file holds can be read at once."""
        data = text.encode("utf-8", "surrogateescape")
        self.size += len(data)
        self._out.write(data)
        if self._out is self._file:
            self._file.flush()

    def keep(self) -> None:
        """It is whole."""
        self._out.close()
        self._file.close()
        if self.part != self.path:
            os.replace(self.part, self.path)

    def drop(self) -> None:
        """Leave nothing half written."""
        with suppress(OSError, ValueError):
            self._out.close()
        with suppress(OSError):
            self._file.close()
        if self.part != self.path and os.path.exists(self.part):
            os.unlink(self.part)


def save(path: str, archive: str) -> None:
    """Write an archive whole or not at all."""
    tape = Tape(path)
    try:
        tape.write(archive)
        tape.keep()
    except OSError:
        tape.drop()
        raise
