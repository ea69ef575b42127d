"""A gzip file that is complete after each write (RFC 1952).

Each part ends with a sync flush of deflate, followed by an empty last block and the trailer. The
next part overwrites those few bytes. So a killed process leaves a file that every gzip reads.
"""

from __future__ import annotations

import errno
import os
import struct
import zlib
from contextlib import suppress
from typing import Final

LEVEL: Final = 6
_HEADER: Final = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_LAST: Final = b"\x03\0"  # an empty last block
OVERHEAD: Final = len(_HEADER) + len(_LAST) + 8  # bytes beside the parts
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Growing:
    """The file; only its owner can read it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """OSError if the file exists or cannot be created."""
        self._handle = os.open(path, _NEW, 0o600)
        self._pack = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._crc = 0
        self._last = b""  # the end of the file
        self.raw = 0  # bytes before compression
        self.size = 0  # bytes of the parts, with the header

    def packed(self, data: bytes) -> bytes:
        """The compressed part, which must be appended next."""
        self._crc = zlib.crc32(data, self._crc)
        self.raw += len(data)
        part = self._pack.compress(data) + self._pack.flush(zlib.Z_SYNC_FLUSH)
        return part if self.size else _HEADER + part

    def append(self, part: bytes) -> None:
        """Write a part. OSError: the file stays as it was before, and takes no more parts."""
        end = _LAST + struct.pack("<II", self._crc, self.raw & 0xFFFFFFFF)
        try:
            self._write(part + end)
        except OSError:
            with suppress(OSError):
                self._write(self._last)
                os.ftruncate(self._handle, self.size + len(self._last))
            raise
        self.size += len(part)
        self._last = end

    def _write(self, data: bytes) -> None:
        at = self.size
        while data:
            count = os.pwrite(self._handle, data, at)
            at, data = at + count, data[count:]

    def sync(self) -> None:
        """Wait until the disk has it. OSError, also if the file was removed."""
        os.fdatasync(self._handle)
        if not os.fstat(self._handle).st_nlink:
            raise FileNotFoundError(errno.ENOENT, "the segment was removed")

    def close(self) -> None:
        """Close the file, which is complete."""
        os.close(self._handle)
