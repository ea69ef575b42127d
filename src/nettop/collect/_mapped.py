"""The files that a process maps: /proc/PID/maps (proc(5))."""

from collections.abc import Iterator
from typing import NamedTuple

from ..host.source import Source
from . import _sysfs


class Mapped(NamedTuple):
    """One line: a range of addresses, and the file that it shows."""

    start: int
    end: int
    modes: str  # r w x, then s of a mapping that is shared
    device: str  # MAJOR:MINOR
    inode: str
    path: str


def files(source: Source, pid: int | str) -> Iterator[Mapped]:
    """The mapped files, in the order of their addresses."""
    for line in (_sysfs.word(source, f"/proc/{pid}/maps") or "").splitlines():
        words = line.split(maxsplit=5)
        if len(words) < 6 or not words[5].startswith("/"):
            continue
        start, end = (_sysfs.whole(f"0x{word}") or 0 for word in words[0].partition("-")[::2])
        numbers = [_sysfs.whole(f"0x{part}") or 0 for part in words[3].split(":")]
        yield Mapped(start, end, words[1], ":".join(map(str, numbers)), words[4], words[5])


def shared(source: Source, pid: int | str, address: int) -> Mapped | None:
    """The file at an address that other programs may map as well; None: it shows none."""
    at = (one for one in files(source, pid) if one.start <= address < one.end)
    return next((one for one in at if one.modes.endswith("s")), None)


def segment(source: Source, pid: int | str) -> Mapped | None:
    """The first shared memory of System V that a process has; ipc/shm.c names it /SYSV and a key.

    Its inode is the number of the memory, and its device is that of all of them.
    """
    return next((one for one in files(source, pid) if one.path.startswith("/SYSV")), None)


def largest(source: Source, pid: int) -> tuple[str, str]:
    """The largest file of data that a process maps, with its device MAJOR:MINOR.

    A file of which a part is mapped as code is none.
    """
    sizes: dict[tuple[str, str], int] = {}
    code: set[tuple[str, str]] = set()
    for one in files(source, pid):
        file = one.path, one.device
        sizes[file] = sizes.get(file, 0) + one.end - one.start
        if "x" in one.modes:
            code.add(file)
    data = [file for file in sizes if file not in code]
    return max(data, key=lambda file: sizes[file], default=("", ""))
