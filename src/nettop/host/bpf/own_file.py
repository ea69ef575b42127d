"""The file that a call works on: its file system, and its path while its program has it open.

include/linux/fs.h: file.f_inode, inode.i_sb, super_block.s_dev, of which the lower 20 bits are the
minor number (include/linux/kdev_t.h); proc(5): /proc/PID/mountinfo, /proc/PID/fd.
"""

import errno
import os
from collections.abc import Collection
from contextlib import suppress
from typing import Final

from . import FILE, btf
from . import assembler as a
from .counting import read

# what a file, its file system or its device refuses; other errors are of the call
ERRORS: Final = (errno.EIO, errno.EFBIG, errno.ENOSPC, errno.EROFS, errno.EDQUOT)
FAMILY: Final = 0xFFFF  # in the place of the family of a socket
# calls that work on files only; numbers as of `names.SYSTEM_CALLS`
CALLS: Final = {
    "pwrite64": (18, 68), "pwritev": (296, 70), "fallocate": (285, 47), "ftruncate": (77, 46),
    "fsync": (74, 82), "fdatasync": (75, 83), "splice": (275, 76), "copy_file_range": (326, 285),
}  # fmt: skip
SECOND: Final = ("splice", "copy_file_range")  # of two descriptors the third argument is written
_OF_KERNEL: Final = (
    "proc", "sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "configfs", "securityfs",
    "selinuxfs", "efivarfs", "pstore", "resctrl", "bpf",
)  # fmt: skip
_MINOR: Final = 20  # bits
_REGULAR: Final = 0x8000  # S_IFREG


def found(types: btf.Types, error: int, number: int, argument: int, family: int) -> a.Parts:
    """Store device and descriptor of the file R7, of whose inode R6 has the type.

    It goes to `out` where it is no regular file, or the error is none of `ERRORS`. `number` is the
    stack offset of the descriptor, `error` and the others those of the key.
    """
    place = types.offset
    return (
        *a.when(a.R7, "==", 0, "out"), *a.when(a.R6, "!=", _REGULAR, "out"),
        *a.load(a.R6, a.R10, error, 2),
        *(part for one in ERRORS for part in a.when(a.R6, "==", one, "of a file")),
        *a.go("out"), "of a file",
        *read(a.R7, a.R7, place("file", "f_inode")), *read(a.R7, a.R7, place("inode", "i_sb")),
        *read(a.R7, a.R7, place("super_block", "s_dev"), 4), *a.store(a.R10, argument, a.R7, 4),
        *a.load(a.R7, a.R10, number), *a.store(a.R10, argument + 4, a.R7, 4),
        *a.number(a.R7, FAMILY), *a.store(a.R10, family, a.R7, 2),
    )  # fmt: skip


def words(pid: int, argument: int) -> str:
    """`file=MOUNT,PATH` of the argument; without what is not known any more.

    Empty for files of the kernel itself (`_OF_KERNEL`), whose errors say nothing of a disk.
    """
    path = mounts = ""
    with suppress(OSError):
        path = os.readlink(f"/proc/{pid}/fd/{argument >> 32}")
    for process in (str(pid), "self"):
        with suppress(OSError):
            name = f"/proc/{process}/mountinfo"
            with open(name, encoding="utf-8", errors="surrogateescape") as file:
                mounts = file.read()
            break
    place, kind = mount(mounts.splitlines(), argument & 0xFFFFFFFF, path)
    return "" if kind in _OF_KERNEL else f"{FILE}{place},{path}"


def mount(lines: Collection[str], device: int, path: str) -> tuple[str, str]:
    """Where a file system is mounted, and its type: of several places that with the path.

    Both are empty where it is mounted nowhere.
    """
    name = f"{device >> _MINOR}:{device & (1 << _MINOR) - 1}"
    found = dict[str, str]()
    for words in map(str.split, lines):
        if words[2:3] == [name] and "-" in words[:-1]:
            found[words[4]] = words[words.index("-") + 1]
    fit = [one for one in found if path == one or path.startswith(one.rstrip("/") + "/")]
    place = max(fit, key=len, default=next(iter(found), ""))
    return place, found.get(place, "")
