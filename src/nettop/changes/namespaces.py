"""The other network namespaces of this host, and the devices in each.

Only root may enter a namespace, and sysfs shows the devices of the namespace in which it was
mounted. So a process of its own enters one after the other and mounts sysfs there for itself, as
`ip netns exec` does. `python -I -m nettop.changes.namespaces PATH…` is that process.
"""

from __future__ import annotations

import ctypes
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from . import context

_NEWNS, _NEWNET = 0x00020000, 0x40000000  # include/uapi/linux/sched.h
_PRIVATE, _RECURSIVE, _DETACH = 1 << 18, 1 << 14, 2  # include/uapi/linux/mount.h, umount2(2)
_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace that is not ours. `path` opens it; `name` is empty unless /run/netns has it."""

    path: str
    inode: str
    cookie: str
    name: str = ""
    devices: Mapping[str, str] = field(default_factory=dict)  # identity by name

    @property
    def called(self) -> str:
        """The namespace in words."""
        if self.name:
            return f"network namespace {self.name}"
        if self.path == "/proc/1/ns/net":
            return "the network namespace of process 1"
        if self._process:
            return f"the network namespace of process {self._process}, which has no name"
        return f"a network namespace without a name ({self.path})"

    def way(self, words: str) -> str:
        """What to type so that `nettop WORDS` runs there."""
        if self.name:
            return f"nettop --netns {shlex.quote(self.name)} {words}"
        if self.path == "/proc/1/ns/net":
            return f"nettop {words}, outside of this namespace"
        give = f"touch /run/netns/NAME && mount --bind {shlex.quote(self.path)} /run/netns/NAME"
        if self._process:
            give = f"ip netns attach NAME {self._process}"
        return f"{give}, then nettop --netns NAME {words}"

    @property
    def _process(self) -> str:
        words = self.path.split("/")
        return words[2] if words[1] == "proc" and words[3:] == ["ns", "net"] else ""


class Survey:
    """What can be seen of the other namespaces; looked at once, when it is first asked for."""

    @cached_property
    def found(self) -> tuple[Namespace, ...]:
        """The namespaces that could be entered."""
        return self._seen[0]

    @property
    def complete(self) -> bool:
        """Whether every namespace that is held by a name, a mount or a process was entered."""
        return self._seen[1]

    def device(self, wanted: Callable[[str, str], bool]) -> tuple[Namespace, str] | None:
        """The namespace and name of the first device whose name and identity are `wanted`."""
        for space in self.found:
            for name, identity in space.devices.items():
                if wanted(name, identity):
                    return space, name
        return None

    @cached_property
    def _seen(self) -> tuple[tuple[Namespace, ...], bool]:
        if os.geteuid() != 0:
            return (), False
        paths = dict(_paths())
        paths.pop(context.netns().inode, None)
        told = _told(list(paths.values()))
        spaces = [
            Namespace(path, inode, told[path]["cookie"], _named(path), told[path]["devices"])
            for inode, path in paths.items()
            if path in told
        ]
        gone = [path for path in paths.values() if path not in told and os.path.exists(path)]
        return tuple(spaces), not gone


def _named(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return name if folder == context.NAMESPACES else ""


def _paths() -> Iterator[tuple[str, str]]:
    """Inode and path of every namespace; the path that is told first comes last."""
    processes = sorted((p for p in os.listdir("/proc") if p.isdigit()), key=int, reverse=True)
    ways = [
        *(f"/proc/{pid}/fd/{handle}" for pid in processes for handle in _held(pid)),
        *_mounted(),
        *(f"/proc/{pid}/ns/net" for pid in processes),
        *(os.path.join(context.NAMESPACES, name) for name in _listing(context.NAMESPACES)),
    ]
    for path in ways:
        try:
            yield str(os.stat(path).st_ino), path
        except OSError:  # ended since, or a name that holds nothing
            continue


def _held(pid: str) -> list[str]:
    """The open files of a process that are network namespaces."""
    folder = f"/proc/{pid}/fd"
    held = []
    for handle in _listing(folder):
        try:
            if os.readlink(f"{folder}/{handle}").startswith("net:["):
                held.append(handle)
        except OSError:
            continue
    return held


def _mounted() -> list[str]:
    """Where namespaces are mounted: container engines keep theirs in folders of their own."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.split() for line in file]
    except OSError:
        return []
    return [words[4] for words in lines if words[3].startswith("net:[")]


def _listing(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _told(paths: Sequence[str]) -> dict[str, Any]:
    """What the process that enters them tells, by path; nothing when it may not."""
    import subprocess

    if not paths:
        return {}
    words = [sys.executable, "-I", "-m", __name__, *paths]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=True
        )
        found = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return {}
    return found if isinstance(found, dict) else {}


def main(paths: Sequence[str]) -> None:
    """Print cookie and devices of each namespace that can be entered, as JSON by path."""
    handles = {}
    for path in paths:
        try:
            handles[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
    libc = ctypes.CDLL(None, use_errno=True)
    _call(libc.unshare(_NEWNS))
    _call(libc.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None))
    told = {}
    for path, handle in handles.items():
        try:
            _call(libc.setns(handle, _NEWNET))
            _call(libc.mount(b"sysfs", b"/sys", b"sysfs", 0, None))
        except OSError:
            continue
        told[path] = {"cookie": context.netns().cookie, "devices": _devices()}
        _call(libc.umount2(b"/sys", _DETACH))
    print(json.dumps(told))


def _devices() -> dict[str, str]:
    from ..host.source import Live
    from ..settings import _device

    source = Live()
    found = {}
    for name in _listing("/sys/class/net"):
        try:
            found[name] = _device.identity(source, name)
        except (OSError, ValueError):
            continue  # gone since
    return found


def _call(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main(sys.argv[1:])
