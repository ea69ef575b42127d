"""System calls in which a thread waits for another program, a device or a time.

Numbers: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h, which ARM
uses. `uses` names the argument with the descriptor that the call waits for; of those with two, the
one that it reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from ..host.source import Source
from . import _sysfs


class Call(NamedTuple):
    """A system call: what it waits for, and the places of its arguments."""

    name: str
    kind: str  # input output both sync lock opens timer events child
    uses: int | None = None  # the argument with the descriptor
    writes: int | None = None  # the argument with the descriptor to which it writes, of two
    ends: int | None = None  # the argument with the time after which it ends
    many: int | None = None  # the argument with the number of descriptors


# kind: NAME[:DESCRIPTOR[:WRITES]][@TIME[*NUMBER OF DESCRIPTORS]]=x86-64/ARM; `-`: it has none
_TABLE: Final = {
    "input": "read:0=0/63 pread64:0=17/67 readv:0=19/65 preadv:0=295/69 preadv2:0=327/286 "
             "recvfrom:0=45/207 recvmsg:0=47/212 recvmmsg:0=299/243 getdents64:0=217/61",
    "output": "write:0=1/64 pwrite64:0=18/68 writev:0=20/66 pwritev:0=296/70 pwritev2:0=328/287 "
              "sendto:0=44/206 sendmsg:0=46/211 sendmmsg:0=307/269",
    "both": "sendfile:1:0=40/71 splice:0:2=275/76 tee:0:1=276/77 copy_file_range:0:2=326/285",
    "sync": "fsync:0=74/82 fdatasync:0=75/83 syncfs:0=306/267 sync_file_range:0=277/84 "
            "sync=162/81 msync=26/227 ftruncate:0=77/46 fallocate:0=285/47",
    "lock": "futex=202/98 futex_waitv=449/449 flock:0=73/32 fcntl:0=72/25 semop=65/193 "
            "semtimedop=220/192",
    "opens": "connect:0=42/203",
    "timer": "nanosleep=35/101 clock_nanosleep=230/115",
    "events": "poll@2*1=7/- ppoll@2*1=271/73 select@4*0=23/- pselect6@4*0=270/72 "
              "epoll_wait@3=232/- "
              "epoll_pwait@3=281/22 epoll_pwait2@3=441/441 io_getevents@4=208/4 "
              "io_pgetevents@4=333/292 io_uring_enter=426/426",
    "child": "wait4=61/260 waitid=247/95",
}  # fmt: skip


def _calls(place: int) -> Mapping[int, Call]:
    found = {}
    for kind, words in _TABLE.items():
        for word in words.split():
            told, _, numbers = word.partition("=")
            number = numbers.split("/")[place]
            told, _, many = told.partition("*")
            told, _, ends = told.partition("@")
            name, *at = told.split(":")
            if number != "-":
                found[int(number)] = Call(
                    name, kind, int(at[0]) if at else None, int(at[1]) if len(at) > 1 else None,
                    int(ends) if ends else None, int(many) if many else None,
                )  # fmt: skip
    return found


DIRECT: Final = {"x86_64": 0o40000, "aarch64": 0o200000}  # O_DIRECT
TABLES: Final = {"x86_64": _calls(0), "aarch64": _calls(1)}


def machine(source: Source) -> str:
    """Its architecture if it has a table; else empty. /proc/sys/kernel/arch: Linux 6.1."""
    arch = _sysfs.word(source, "/proc/sys/kernel/arch")
    if arch is None:
        cpus = _sysfs.word(source, "/proc/cpuinfo") or ""
        arch = "aarch64" if "CPU implementer" in cpus else "x86_64" if "flags\t" in cpus else ""
    return arch if arch in TABLES else ""
