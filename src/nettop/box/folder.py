"""The files of a box and the disk that they take.

    ring/NUMBER.host.gz     segments, in the order of their numbers, whatever the clock says
    TIME-RULE.host.gz       incidents; TIME is UTC
    waiting/TIME-RULE.json  incidents whose time after has not passed
    lock                    held by the one process that writes

Only the owner can read them. Each file counts as whole blocks of the file system.
"""

import errno
import fcntl
import os
import re
import stat
from collections.abc import Collection, Iterator
from dataclasses import field
from pathlib import Path
from typing import Final

from ..changes import journal
from ..files.trust import UNTRUSTED, trusted
from ..terms.dataclass import dataclass

BLOCK: Final = 4096
LEAST: Final = 4 << 20  # bytes: the least size of a box
INCIDENT: Final = re.compile(r"\d{8}T\d{6}Z-[a-z0-9-]+(\.\d+)?\.host\.gz", re.ASCII)
NAMED: Final = re.compile(r"\d{8}T\d*Z?", re.ASCII)  # the beginning of such a name
_SEGMENT: Final = re.compile(r"(\d{10})\.host\.gz", re.ASCII)
_FOLDERS: Final = ("", "ring", "waiting")


def default() -> Path:
    """/var/lib/nettop/box for root; PermissionError if NETTOP_STATE is not root's."""
    return Path(journal.folder(), "box")


def blocks(size: int) -> int:
    """The bytes on disk of a file of `size` bytes."""
    return -(-size // BLOCK) * BLOCK


@dataclass
class Folder:
    """A box on disk. The size is the limit of all its files together, in bytes."""

    path: Path
    size: int
    _lock: int = field(default=-1, repr=False)

    def open(self) -> None:
        """Create it and become the one that writes.

        OSError: it cannot be created, others could change it, or another process writes.
        """
        for name in _FOLDERS:
            if not trusted(self.path / name):
                raise PermissionError(errno.EACCES, UNTRUSTED, str(self.path / name))
            os.makedirs(self.path / name, 0o700, exist_ok=True)
        status = os.stat(self.path)
        if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) & 0o077:
            os.chmod(self.path, 0o700)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._lock = os.open(self.path / "lock", flags, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            message = "another nettop writes to this box"
            raise OSError(errno.EBUSY, message, str(self.path)) from None
        for draft in self.path.glob("**/.*.part"):  # of a nettop that was killed
            draft.unlink(missing_ok=True)

    def renew(self) -> None:
        """Open it again if it was removed, or another folder is in its place. OSError."""
        try:
            there = os.stat(self.path / "lock", follow_symlinks=False)
            same = self._lock >= 0 and os.path.samestat(there, os.fstat(self._lock))
        except FileNotFoundError:
            same = False
        if not same:
            self.close()
            self.open()

    def close(self) -> None:
        """Let another process write."""
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1

    def segments(self) -> list[Path]:
        """The segments, oldest first."""
        return sorted(p for p in _files(self.path / "ring") if _SEGMENT.fullmatch(p.name))

    def next_segment(self) -> Path:
        """The path of a new segment."""
        last = self.segments()[-1:]
        number = int(last[0].name[:10]) + 1 if last else 1
        return self.path / "ring" / f"{number:010}.host.gz"

    def incidents(self) -> list[Path]:
        """The incidents, oldest first."""
        return sorted(p for p in _files(self.path) if INCIDENT.fullmatch(p.name))

    def waiting(self) -> list[Path]:
        """The incidents that are not complete."""
        return sorted(p for p in _files(self.path / "waiting") if p.suffix == ".json")

    def used(self, paths: Collection[Path] | None = None) -> int:
        """The bytes on disk of these files; by default of all, with the folders."""
        if paths is None:
            paths = [p for name in _FOLDERS for p in _files(self.path / name)]
            return len(_FOLDERS) * BLOCK + self.used(paths)
        return sum(map(_on_disk, paths))

    def make_room(self, wanted: int, keep: Collection[Path] = ()) -> None:
        """Delete the oldest segments, then the oldest incidents, until `wanted` bytes fit.

        OSError (ENOSPC) if they do not fit beside the files in `keep`, which stay.
        """
        free = self.size - self.used() - wanted
        for path in [p for p in (*self.segments(), *self.incidents()) if p not in keep]:
            if free >= 0:
                return
            free += _on_disk(path)
            path.unlink(missing_ok=True)
        if free < 0:
            message = f"it does not fit into a box of {self.size >> 20} MiB"
            raise OSError(errno.ENOSPC, message, str(self.path))

    def sync(self) -> None:
        """Wait until the disk has the names of the segments."""
        handle = os.open(self.path / "ring", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _files(folder: Path) -> Iterator[Path]:
    """The regular files of a folder; none if it is missing. Other OSErrors pass."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    yield Path(entry.path)
    except FileNotFoundError:
        return


def _on_disk(path: Path) -> int:
    try:
        return blocks(os.lstat(path).st_size)
    except FileNotFoundError:
        return 0
