"""BPF programs that decide about the calls of a control group: bpf(2), BPF_PROG_QUERY.

kernel/bpf/cgroup.c, cgroup_bpf_query(). A program that is attached to a group decides about the
groups below it as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from . import call

_MOST: Final = 8  # programs of one kind of a group that are looked at
_INFO: Final = 128  # bytes of struct bpf_prog_info
_NAME: Final = 64  # bytes of it before the name
# kinds of attachment (enum bpf_attach_type) by call; ingress, egress: of what sockets take, send
_SENDS: Final = (1, 14, 15)  # BPF_CGROUP_INET_EGRESS, BPF_CGROUP_UDP4_SENDMSG, …6
_KINDS: Final[Mapping[str, Sequence[int]]] = {
    "connect": (10, 11, 1), "bind": (8, 9, 12, 13), "socket": (2,), "setsockopt": (22,),
    "ingress": (0,), "egress": (1,),
    "sendto": _SENDS, "sendmsg": _SENDS, "sendmmsg": _SENDS, "write": _SENDS, "writev": _SENDS,
}  # fmt: skip


def attached(name: str, pid: int) -> list[str]:
    """`PROGRAM@GROUP` of those that may refuse this call of the process; empty if not readable."""
    with suppress(OSError, ValueError):
        path = _group(pid)
        mount = _mount(pid, path)
        return list(dict.fromkeys(_found(name, path, mount))) if path and mount else []
    return []


def confined(pid: int) -> list[str]:
    """`confined` if the process may not gain rights, without which no sandbox is begun.

    security/landlock/syscalls.c, landlock_restrict_self().
    """
    with suppress(OSError), open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return ["confined"] if any(line == "NoNewPrivs:\t1\n" for line in file) else []
    return []


def _group(pid: int) -> str:
    """The control group of the process, of version 2, as this process names it."""
    with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
        return next((line[3:].rstrip("\n") for line in file if line.startswith("0::")), "")


def _mount(pid: int, path: str) -> str:
    """Where the control groups of version 2 are mounted as a whole; empty where they are not seen.

    As another process has them where this one does not: `ip netns exec` mounts another /sys. Who
    started this one may have them, and can be looked at where process 1 cannot.
    """
    others = ((one, f"/proc/{one}/root") for one in (pid, *_parents(), 1))
    for process, root in (("self", ""), *others):
        with suppress(OSError), open(f"/proc/{process}/mountinfo", encoding="utf-8") as file:
            for line in file:
                first, _, last = line.partition(" - ")
                where = first.split()[3:5]
                found = last.startswith("cgroup2 ") and where[:1] == ["/"]
                if found and os.path.isdir(root + where[1] + path):
                    return root + where[1]
    return ""


def _parents() -> Iterator[int]:
    """The process that started this one, and those above it, process 1 left out."""
    number = os.getppid()
    while number > 1:
        yield number
        with open(f"/proc/{number}/stat", encoding="utf-8") as file:
            number = int(file.read().rpartition(")")[2].split()[1])


def _found(name: str, path: str, mount: str) -> Iterator[str]:
    """From the group of the process upwards."""
    while True:
        handle = os.open(mount + path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for kind in _KINDS.get(name, ()):
                for number in call.attached_to(handle, kind, _MOST):
                    yield f"{name_of(number)}@{path or '/'}"
        finally:
            os.close(handle)
        if path in ("", "/"):
            return
        path = path.rpartition("/")[0]


def name_of(number: int) -> str:
    """The name of a loaded program; OSError if it is gone."""
    raw = call.information(number, _INFO)[_NAME : _NAME + 16]
    return raw.split(b"\0", 1)[0].decode("ascii", "replace") or f"program {number}"
