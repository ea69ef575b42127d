"""Dropped packets by the kernel's drop monitor, where BPF cannot count them: the table of `drops`.

net/core/drop_monitor.c; `monitor_guard` has its messages. A kernel that knows reasons (5.18) sends
one for each packet, with its first bytes; an older one the sums of its places, a second late.
There is one monitor, asked in the first network namespace, for the packets of all. Asked for it,
the kernel loads its module. `monitor_guard` is the process that starts and stops it.
"""

import array
import errno
import os
import socket
import time
from collections import Counter as Sums
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from typing import Final

from . import monitor_guard
from .bpf import rights
from .bpf.symbols import Symbols
from .monitor_guard import ask, last_attribute, started
from .netlink.kernel import Kernel, door

MOST: Final = 20_000  # packets a second, each of which costs the kernel a message
_ROOM: Final = 8 << 20  # bytes of messages that wait to be read, some 8,000 packets
_AT_ONCE: Final = 40_000  # messages: more come while they are read
_GENERIC, _FORCE, _MEMORY = 16, 33, 55  # NETLINK_GENERIC, SO_RCVBUFFORCE, SO_MEMINFO
_PLACES: Final = ("/run/netns", "/run/docker/netns")  # namespaces that need no process
_NICS: Final = "/sys/class/net"
_TAKEN: Final = (
    "the kernel's drop monitor runs already: another program uses it, or one that was killed has "
    "left it on (`dropwatch` stops it)"
)
_MONITOR: Final = "the kernel's drop monitor"
_SAYS: Final = {
    errno.ENOENT: "and the kernel has no drop monitor here (CONFIG_NET_DROP_MONITOR)",
    errno.EAGAIN: "and " + _TAKEN,
    errno.EBUSY: "and " + _TAKEN,
}


class Counter:
    """The running monitor and what it has told; OSError with a sentence if it cannot be had."""

    def __init__(self, why: str) -> None:
        """`why` BPF does not count."""
        self._why, self._ended, self._rest = why, "", 0
        self._counts, self._symbols = Sums[str](), Symbols()
        self._open = ExitStack()
        if (last := last_attribute()) < 0:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        self._each = last >= monitor_guard.REASON
        self._kernel = self._open.enter_context(closing(Kernel()))
        kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC
        self._socket = self._open.enter_context(closing(door(socket.AF_NETLINK, kind, _GENERIC)))
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, _FORCE, _ROOM)
            self._socket.bind((0, 1 << monitor_guard.GROUP - 1))
            self._before = self._unsent() if self._each else 0
            self._open.callback(started(each=self._each))
        except BaseException:
            self.close()
            raise
        self._begun = time.monotonic()

    def text(self) -> str:
        """As `bpf.drops.Counter.text`; a line `!` says what is not known."""
        alone, hosts = _alone(), _interfaces()
        for message in self._messages():
            self._counts.update(monitor_guard.lines(message, self._place, hosts, alone=alone))
        seconds = time.monotonic() - self._begun
        if self._each and not self._ended:
            self._rest = self._lost()
        lines = [line.format(count) for line, count in sorted(self._counts.items())]
        lines += [f"OTHER {self._rest} - unknown - - -"] if self._rest else []
        if self._each and self._counts.total() + self._rest > MOST * max(1.0, seconds):
            self._ended = f"it was stopped: more than {MOST:,} packets a second are dropped"
            self.close()
        hidden = not self._each and any(" {} - " in line for line in self._counts)
        places = rights.hidden() if hidden else ""
        said = [self._why, unknown(self._each, alone), places, self._ended]
        return "\n".join([f"{seconds:.3f}", *lines, f"! {'; '.join(filter(None, said))}", ""])

    def close(self) -> None:
        """Stop the monitor, which takes some 10 ms."""
        self._open.close()

    def __del__(self) -> None:
        """Stop it if the object is dropped without `close`."""
        self.close()

    def _messages(self) -> Iterator[bytes]:
        """What has come since. That some had no room is an error once, and counted: see `_lost`."""
        for _ in range(0 if self._ended else _AT_ONCE):
            try:
                yield self._socket.recv(1 << 16, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise

    def _place(self, address: int) -> str:
        self._symbols.learn([address])
        return self._symbols.name(address)

    def _unsent(self) -> int:
        """Packets that had no room in the queue of their CPU, since the module was loaded."""
        found = ask(
            self._kernel, monitor_guard.FAMILY, monitor_guard.STATS_GET, b"", monitor_guard.STATS
        )
        return int(found.get("stats", {}).get("dropped", 0))

    def _lost(self) -> int:
        """Packets whose message had no room, in the kernel's queue or in that of the socket."""
        memory = array.array("I", self._socket.getsockopt(socket.SOL_SOCKET, _MEMORY, 36))
        return max(0, self._unsent() - self._before) + (memory[8] if len(memory) > 8 else 0)


def instead(error: OSError) -> Counter:
    """The monitor in place of BPF, which the error refuses; both reasons if there is none."""
    if rights.lacking("CAP_NET_ADMIN"):  # else the kernel would load its module for nothing
        raise error
    why = error.strerror or str(error)
    try:
        return Counter(f"{why}; the kernel's drop monitor counts instead")
    except OSError as other:
        said = _SAYS.get(other.errno or 0, f"and the kernel's drop monitor: {other.strerror}")
        if other.errno == errno.EPERM:
            said = "and " + rights.refused(_MONITOR, "CAP_NET_ADMIN", "CAP_SYS_ADMIN")
        raise OSError(error.errno, f"{why}; {said}") from None


def unknown(each: bool, alone: bool) -> str:
    """What the monitor does not tell."""
    if each:
        said = "what this host sends is seen from the interface on, and no packet before"
        other = "of another network namespace it tells only packets by a hardware address of ours"
    else:
        said = "places are up to a second late, without interface and port"
        other = "it does not tell the network namespaces apart"
    return said if alone else f"{said}; {other}"


def _alone() -> bool:
    """Whether no process and no name has another network namespace; no if that may not be read."""
    own = os.stat("/proc/thread-self/ns/net").st_ino
    try:
        for name in filter(str.isdigit, os.listdir("/proc")):
            with suppress(FileNotFoundError, ProcessLookupError):
                if os.stat(f"/proc/{name}/ns/net").st_ino != own:
                    return False
        return not any(os.listdir(place) for place in _PLACES if os.path.isdir(place))
    except PermissionError:
        return False


def _interfaces() -> dict[int, bytes]:
    """The hardware addresses of this namespace by number of the interface."""
    found = {}
    for name in os.listdir(_NICS):
        with suppress(OSError, ValueError):
            index, address = (_read(f"{_NICS}/{name}/{what}") for what in ("ifindex", "address"))
            found[int(index)] = bytes.fromhex(address.replace(":", ""))
    return {index: address for index, address in found.items() if any(address)}


def _read(path: str) -> str:
    with open(path) as file:
        return file.read().strip()
