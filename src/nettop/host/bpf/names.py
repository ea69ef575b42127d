"""The names of Unix sockets, and who has them, as failed calls tell them: unix(7)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from . import ABROAD, PEER

_NAMES: Final = "/proc/thread-self/net/unix"
_LISTENS: Final = "00010000"  # __SO_ACCEPTCON
_DATAGRAM: Final = "0002"  # SOCK_DGRAM
_SPACES: Final = 256  # namespaces that are looked at for a name
_NAMING: Final = ("connect", "sendto", "sendmsg", "sendmmsg")  # that give the name of a socket


class Names:
    """What was found, kept: each socket, path and name is looked for once."""

    def __init__(self) -> None:
        """Nothing was looked for."""
        self._of, self._abroad = dict[int, str](), dict[str, str]()
        self._given = dict[tuple[str, bytes, int], str]()

    def of(self, inode: int) -> str:
        """`,PATH` of the Unix socket with that inode; empty without a name."""
        if inode not in self._of:
            self._of |= dict.fromkeys([inode], "") | paths()
        name = self._of[inode]
        return f",{name}" if name else ""

    def given(self, call: str, begin: bytes, end: int) -> str:
        """`peer=INODE,NAME` of the socket that a call names, as `path`; empty without a name."""
        if call not in _NAMING or not any(begin):
            return ""
        if (call, begin, end) not in self._given:
            connects = call == "connect"
            names = paths(listening=connects, datagrams=not connects)
            inode, name = path(begin, end.to_bytes(8, sys.byteorder), names)
            self._given[call, begin, end] = f"{PEER}{inode},{name}"
        return self._given[call, begin, end]

    def abroad(self, told: str) -> str:
        """`abroad=NAME[PID]`: who in another namespace has what `given` did not find here."""
        _, found, name = told.partition(f"{PEER}0,@")
        if not found:
            return ""
        if name not in self._abroad:
            who = abroad(f"@{name}")
            self._abroad[name] = f"{ABROAD}{who}" if who else ""
        return self._abroad[name]


def paths(
    file_name: str = _NAMES, *, listening: bool = False, datagrams: bool = False
) -> dict[int, str]:  # fmt: skip
    """The names of the Unix sockets of this namespace by inode: /proc/net/unix."""
    found = {}
    with suppress(OSError), open(file_name, encoding="utf-8", errors="replace") as file:
        for line in file:
            *_, flags, kind, _, last = line.rstrip("\n").split(None, 6)
            number, _, name = last.partition(" ")
            fit = (flags == _LISTENS or not listening) and (kind == _DATAGRAM or not datagrams)
            if number.isdecimal() and name and fit:
                found[int(number)] = name
    return found


def abroad(name: str) -> str:
    """Who has an abstract name in another network namespace, as `name[pid]`; empty without one.

    Such names belong to a namespace (unix(7)), of which the first process is asked.
    """
    seen = set[str]()
    with suppress(OSError):
        seen.add(os.readlink("/proc/thread-self/ns/net"))
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):
            space = os.readlink(f"/proc/{pid}/ns/net")
            if space in seen or len(seen) > _SPACES:
                continue
            seen.add(space)
            found = [inode for inode, one in paths(f"/proc/{pid}/net/unix").items() if one == name]
            if found:
                return _holder(found[0], space)
    return ""


def _holder(inode: int, space: str) -> str:
    """The process of that namespace with the socket; as a part of it where none is readable."""
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):
            folder = f"/proc/{pid}/fd"
            if os.readlink(f"/proc/{pid}/ns/net") == space and any(
                os.readlink(f"{folder}/{one}") == f"socket:[{inode}]" for one in os.listdir(folder)
            ):
                with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                    return f"{file.read().strip()}[{pid}]"
    return "a process"


def path(raw: bytes, tail: bytes, names: Mapping[int, str]) -> tuple[int, str]:
    """The inode and name of the socket at a path of which the begin and the end were kept.

    Where none or several of the `names` fit: 0 and the begin. A name without a file has an `@`.
    """
    name = raw.removeprefix(b"\0").split(b"\0", 1)[0].decode("utf-8", "replace")
    shown = "".join(one if one.isprintable() else "?" for one in name)
    begin = "@" if shown and not raw[0] else ""
    end = tail.rstrip(b"\0").rpartition(b"\0")[2].decode("utf-8", "replace")
    whole = f"{begin}{shown}"
    fit = {
        at: inode for inode, at in names.items()
        if at == whole or (raw[-1] and at.startswith(whole) and at.endswith(end))
    }  # fmt: skip
    if len(fit) == 1:
        ((at, inode),) = fit.items()
        return inode, at
    return 0, f"{whole}{'…' if raw[-1] else ''}"
