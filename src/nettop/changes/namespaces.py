"""The other network namespaces of this host, and the devices in each.

Only root may enter a namespace, and sysfs shows the devices of the namespace in which it was
mounted. So a separate process enters one after the other and mounts sysfs there, as `ip netns exec`
does. `python -I -m nettop.changes.namespaces PATH…` is that process.
"""

from __future__ import annotations

import ctypes
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from functools import cached_property
from typing import TypedDict, TypeVar

from ..files import descriptors, own
from ..terms.dataclass import dataclass
from ..terms.errors import absent
from . import context

_NEWNS, _NEWNET = 0x00020000, 0x40000000  # include/uapi/linux/sched.h
_PRIVATE, _RECURSIVE, _DETACH = 1 << 18, 1 << 14, 2  # include/uapi/linux/mount.h, umount2(2)
_FIRST_PID = 0xEFFFFFFC  # PROC_PID_INIT_INO, include/linux/proc_ns.h
_SECONDS = 30.0
T = TypeVar("T")
_LOOKS = 3  # at most; a namespace that comes or goes meanwhile is looked for again


@dataclass(frozen=True, slots=True)
class Namespace:
    """Another network namespace. `path` opens it; `name` is that in /run/netns, or empty."""

    path: str
    inode: str
    cookie: str
    name: str = ""
    devices: Mapping[str, str] = field(default_factory=dict)  # name → identity

    @property
    def called(self) -> str:
        """The namespace in a sentence."""
        if self.name:
            return f"network namespace {self.name}"
        if self.path == "/proc/1/ns/net":
            return "the network namespace of process 1"
        if self._process:
            return f"the network namespace of process {self._process}, which has no name"
        return f"a network namespace without a name ({self.path})"

    def way(self, words: str) -> str:
        """The command that runs `nettop WORDS` in this namespace."""
        if self.name:
            return f"{own.called()} --netns {shlex.quote(self.name)} {words}"
        if self.path == "/proc/1/ns/net":
            return f"{own.called()} {words}, outside of this namespace"
        attach = f"touch /run/netns/NAME && mount --bind {shlex.quote(self.path)} /run/netns/NAME"
        if self._process:
            attach = f"ip netns attach NAME {self._process}"
        return f"{attach}, then {own.called()} --netns NAME {words}"

    @property
    def _process(self) -> str:
        words = self.path.split("/")
        return words[2] if words[1] == "proc" and words[3:] == ["ns", "net"] else ""


class Survey:
    """The other namespaces that this process can see; read once, at the first use.

    The looks at several namespaces are of one moment while the kernel reports no event of a device
    (uevent_seqnum in lib/kobject_uevent.c): a device that moves has two, whatever its namespaces
    (__dev_change_net_namespace() in net/core/dev.c).
    """

    def __init__(self, look: Callable[[Sequence[str]], dict[str, _Content]] | None = None) -> None:
        """What is looked at from now on belongs to it. `look` enters the namespaces of paths."""
        self._look = look or _contents
        self._events = _events()

    def again(self) -> None:
        """Forget what was read, to look anew."""
        self.__dict__.pop("_seen", None)
        self.__dict__.pop("found", None)
        self._events = _events()

    @property
    def settled(self) -> bool:
        """Whether no device came, went or moved since it began; also while it was not used."""
        return "_seen" not in self.__dict__ or "" != self._events == _events()

    @cached_property
    def found(self) -> tuple[Namespace, ...]:
        """The namespaces that could be entered."""
        return self._seen[0]

    @property
    def complete(self) -> bool:
        """Whether every namespace that is held by a name, a mount or a process was entered."""
        return self._seen[1] and _all_processes()

    @property
    def unseen(self) -> str:
        """Why it is not complete."""
        if os.geteuid():
            return "only root sees all of them"
        if not _all_processes():
            return "processes outside of this PID namespace cannot be seen"
        return "not all of them could be entered"

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
        spaces: dict[str, Namespace] = {}
        left: dict[str, str] = {}
        for _ in range(_LOOKS):
            try:
                left = {inode: path for inode, path in _paths() if inode not in spaces}
            except OSError:
                return tuple(spaces.values()), False
            left.pop(context.netns().inode, None)
            contents = self._look(list(left.values()))
            for inode, path in left.items():
                if (there := contents.get(path)) is not None:
                    cookie, devices = there["cookie"], there["devices"]
                    spaces[inode] = Namespace(path, inode, cookie, _named(path), devices)
            left = {inode: path for inode, path in left.items() if inode not in spaces}
            if not left:
                break
        return tuple(spaces.values()), not left


def _all_processes() -> bool:
    """Whether this is the first PID namespace, in which every process is seen."""
    return os.stat("/proc/self/ns/pid").st_ino == _FIRST_PID


def _events() -> str:
    """The number of the last event of a device, in all namespaces; empty if it is unknown."""
    try:
        with open("/sys/kernel/uevent_seqnum", encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def _named(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return name if folder == context.NAMESPACES else ""


def _paths() -> Iterator[tuple[str, str]]:
    """Inode and path of every namespace; the preferred path of an inode comes last.

    A path that cannot be read may be another one: it stands for its own inode.
    """
    processes = sorted((p for p in os.listdir("/proc") if p.isdigit()), key=int, reverse=True)
    paths = [
        *(path for pid in processes for path in _held(pid)),
        *_mounted(processes),
        *(f"/proc/{pid}/ns/net" for pid in processes),
        *(os.path.join(context.NAMESPACES, name) for name in _listing(context.NAMESPACES)),
    ]
    namespaces = os.stat("/proc/self/ns/net").st_dev
    for path in paths:
        try:
            known = os.stat(path)
        except OSError as error:
            if not _closed(error):
                yield path, path
            continue
        # else a name that has no namespace yet, or no longer; a file of /proc was unreadable
        if known.st_dev == namespaces or path.endswith(("/fd", "/mountinfo")):
            yield str(known.st_ino), path


def _held(pid: str) -> list[str]:
    """The open files of a process that are network namespaces; their folder if one is unknown."""
    folder = f"/proc/{pid}/fd"
    paths = []
    try:
        for handle in _listing(folder):
            try:
                if os.readlink(f"{folder}/{handle}").startswith("net:["):
                    paths.append(f"{folder}/{handle}")
            except FileNotFoundError:
                continue
    except OSError as error:
        if not _closed(error):
            paths.append(folder)
    return paths


def _closed(error: OSError) -> bool:
    """Whether a process has ended, or is closed to this one, as process 1 is in some containers."""
    return absent(error) or isinstance(error, PermissionError)


def _mounted(processes: Iterable[str]) -> Iterator[str]:
    """The mount points of namespaces in all mount namespaces: engines use folders of their own."""
    seen = set()
    for pid in (*processes, "self"):  # the plain paths come last
        try:
            space = os.readlink(f"/proc/{pid}/ns/mnt")
            if space in seen and pid != "self":
                continue
            with open(f"/proc/{pid}/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
                lines = [line.split() for line in file]
        except OSError as error:
            if not _closed(error):
                yield f"/proc/{pid}/mountinfo"
            continue
        seen.add(space)
        root = "" if pid == "self" else f"/proc/{pid}/root"
        yield from (root + words[4] for words in lines if words[3].startswith("net:["))


def _listing(folder: str) -> list[str]:
    """The names in a folder; none without the folder. OSError if it cannot be read."""
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


class _Content(TypedDict):
    """A namespace as the entering process prints it."""

    cookie: str
    devices: dict[str, str]  # identity by name


def _contents(paths: Sequence[str]) -> dict[str, _Content]:
    """The contents of namespaces by path; empty if the process may not enter them."""
    import subprocess

    if not paths:
        return {}
    words = [sys.executable, "-I", "-m", __name__, *paths]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=True
        )
        contents: dict[str, _Content] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return {}
    return contents


def alone(paths: Sequence[str]) -> dict[str, _Content]:
    """The contents of namespaces by path, for a process that needs no file of nettop."""
    return inside(paths, _content)


def inside(paths: Sequence[str], work: Callable[[], T]) -> dict[str, T]:
    """What `work` returns in each namespace that can be entered, by path; it must fit into JSON.

    A child process enters them, which has all modules that this one has.
    """
    read, write = os.pipe()
    if child := os.fork():
        os.close(write)
        with open(read, encoding="utf-8") as file:
            text = file.read()
        os.waitpid(child, 0)
        found: dict[str, T] = json.loads(text or "{}")
        return found
    with suppress(BaseException):
        descriptors.forget()
        with open(write, "w", encoding="utf-8") as file:
            json.dump(_each(paths, work), file)
    os._exit(0)


def _content() -> _Content:
    """The contents of the namespace of this process."""
    return {"cookie": context.netns().cookie, "devices": _devices()}


def _each(paths: Sequence[str], work: Callable[[], T]) -> dict[str, T]:
    """What `work` returns in each namespace that can be entered; this process stays in the last."""
    handles = {}
    for path in paths:
        try:
            handles[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
    libc = ctypes.CDLL(None, use_errno=True)
    _call(libc.unshare(_NEWNS))
    _call(libc.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None))
    found: dict[str, T] = {}
    for path, handle in handles.items():
        try:
            _call(libc.setns(handle, _NEWNET))
            _call(libc.mount(b"sysfs", b"/sys", b"sysfs", 0, None))
            try:
                found[path] = work()
            finally:
                _call(libc.umount2(b"/sys", _DETACH))
        except OSError:
            continue
    return found


def main(paths: Sequence[str]) -> None:
    """Print cookie and devices of each namespace that can be entered, as JSON by path."""
    print(json.dumps(_each(paths, _content)))


def _devices() -> dict[str, str]:
    """The identity of each interface by name; OSError if one cannot be read."""
    from ..host.source import Live
    from ..settings import _device

    source = Live()
    identities = {}
    for name in _listing("/sys/class/net"):
        try:
            identities[name] = _device.identity(source, name)
        except ValueError:
            continue
        except OSError as error:
            if not absent(error):  # else gone meanwhile
                raise
    return identities


def _call(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main(sys.argv[1:])
