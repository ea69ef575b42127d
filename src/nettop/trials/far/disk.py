"""The files of a transfer: one that the sender reads, one that the receiver writes."""

import contextlib
import os
import tempfile
from typing import Iterator, Optional

from nettop.trials.far.offload import Refusal

ROUND = 1 << 30  # bytes that are written before the same blocks are written again
FLUSH = 64 << 20  # bytes between two waits for the device
ROOM = 2 * ROUND  # bytes that must be free


@contextlib.contextmanager
def told(path: str) -> Iterator[None]:
    """An error of the file system as a Refusal."""
    try:
        yield
    except OSError as error:
        raise Refusal("{}: {}".format(path, error.strerror)) from None


class Reading:
    """A file that is read again and again, from the device: read pages leave the page cache."""

    def __init__(self, path: str) -> None:
        self.path = path
        with told(path):
            self.file = os.open(path, os.O_RDONLY)
            if not os.pread(self.file, 1, 0):
                raise Refusal("{}: the file is empty".format(path))
            self.rewind()

    def rewind(self) -> None:
        """Begin again, without what the page cache has (posix_fadvise(2))."""
        os.posix_fadvise(self.file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.lseek(self.file, 0, os.SEEK_SET)

    def fill(self, memory: memoryview) -> memoryview:
        """The next part of the file, at most so much; Refusal."""
        with told(self.path):
            count = os.readv(self.file, [memory])
            if not count:
                self.rewind()
                count = os.readv(self.file, [memory])
        return memory[:count]


class Writing:
    """A new file in a folder, without a name: it is gone with the process, however that ends."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        with told(folder):
            free = os.statvfs(folder)
            if free.f_bavail * free.f_frsize < ROOM:
                raise Refusal("{}: less than {} GiB are free".format(folder, ROOM >> 30))
            self.file, name = tempfile.mkstemp(prefix="nettop-", dir=folder)
            os.unlink(name)
        self.written = self.unflushed = 0

    def store(self, memory: memoryview) -> None:
        """Write it, and now and then wait until the device has it; Refusal."""
        with told(self.folder):
            while len(memory):
                count = os.write(self.file, memory)
                memory = memory[count:]
                self.written += count
                self.unflushed += count
            if self.written >= ROUND:
                self.written = os.lseek(self.file, 0, os.SEEK_SET)
        if self.unflushed >= FLUSH:
            self.flush()

    def flush(self) -> None:
        """Wait until the device has all; Refusal."""
        with told(self.folder):
            os.fdatasync(self.file)
        self.unflushed = 0


def reading(path: Optional[str]) -> Optional[Reading]:
    """The file to read; None without one. Refusal."""
    return Reading(path) if path else None


def writing(folder: Optional[str]) -> Optional[Writing]:
    """The file to write; None without one. Refusal."""
    return Writing(folder) if folder else None
