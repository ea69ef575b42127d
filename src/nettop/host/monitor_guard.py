"""The process that starts the drop monitor and stops it (net/core/drop_monitor.c).

The monitor belongs to no process, and a socket that is closed does not stop it. So this one waits
until its standard input ends, as it does when the process that wants the monitor ends, however that
happens. Where the guard is killed, that process stops the monitor; SIGKILL of both leaves it on.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from .netlink import net_dm
from .netlink.codec import Attributes, Field, Request, Table, attribute, decode, encode, messages
from .netlink.kernel import Kernel

if TYPE_CHECKING:
    from subprocess import Popen

_STARTED: Final = b"!"
_ROOM: Final = 256  # bytes: what the guard writes is shorter
_END: Final = 5.0  # seconds until it must have stopped the monitor


def ask(kernel: Kernel, family: str, command: int, body: bytes, table: Table) -> Attributes:
    """The attributes of the first message that answers."""
    answer = kernel.ask(Request(family, command, body, f"{family}/{command}"))
    found = [decode(answer, start + 4, end, table) for _, start, end in messages(answer)]
    return found[0] if found else {}


@cache
def last_attribute() -> int:
    """The number of the last attribute that the kernel's monitor knows; 0 before Linux 5.4.

    -1 without a monitor. It is asked once: the kernel looks for the module each time.
    """
    with closing(Kernel()) as kernel, suppress(FileNotFoundError):
        # CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, CTRL_ATTR_MAXATTR
        name = attribute(2, net_dm.FAMILY.encode() + b"\0")
        return int(ask(kernel, "nlctrl", 3, name, {5: Field("most")}).get("most", 0))
    return -1


def started(*, each: bool) -> Callable[[], None]:
    """Start the monitor by a guard; what stops it. OSError has the kernel's number."""
    import subprocess

    words = [sys.executable, "-I", "-m", __name__, *(["each"] if each else [])]
    pipe = subprocess.PIPE
    guard = subprocess.Popen(
        words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True, cwd="/",
    )  # fmt: skip
    said = os.read(guard.stdout.fileno(), _ROOM) if guard.stdout else b""
    if said[:1] != _STARTED:
        _ended(guard)
        number = said[0] if said else errno.ECHILD
        raise OSError(number, os.strerror(number))
    return partial(_end, guard, said[1:])


def _end(guard: Popen[bytes], before: bytes) -> None:
    """Let the guard stop the monitor; if it was killed, stop it here."""
    if (_ended(guard) or 0) < 0:
        with closing(Kernel()) as kernel, suppress(OSError):
            _stop(kernel, before)


def _ended(guard: Popen[bytes]) -> int | None:
    """End its input, and wait for its exit code."""
    from subprocess import TimeoutExpired

    for pipe in filter(None, (guard.stdin, guard.stdout)):
        pipe.close()
    with suppress(TimeoutExpired):  # it goes on alone
        guard.wait(_END)
    return guard.returncode


def _stop(kernel: Kernel, before: bytes) -> None:
    """Stop the monitor, and restore its settings if it has some."""
    kernel.change(net_dm.FAMILY, net_dm.STOP, b"")
    if before:
        kernel.change(net_dm.FAMILY, net_dm.CONFIG, before)


def main(words: Sequence[str]) -> None:
    """The guard: start the monitor, stop it when standard input ends, restore its settings.

    It writes `!` and those settings, or the number of the error.
    """
    kernel, before = Kernel(), b""
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)
    try:
        if last_attribute():  # else it is older than its settings
            known = ask(kernel, net_dm.FAMILY, net_dm.CONFIG_GET, b"", net_dm.SETUP)
            before = encode(net_dm.SETUP, known)
            each = {"alert_mode": net_dm.EACH, "trunc_len": net_dm.LENGTH}
            wanted = {**known, **(each if words else {"alert_mode": net_dm.SUMMARY})}
            kernel.change(net_dm.FAMILY, net_dm.CONFIG, encode(net_dm.SETUP, wanted))
        try:
            kernel.change(net_dm.FAMILY, net_dm.START, b"")
        except OSError:
            if before:
                kernel.change(net_dm.FAMILY, net_dm.CONFIG, before)
            raise
        with suppress(OSError):  # nobody reads it any more
            os.write(1, _STARTED + before)
            while os.read(0, 1):
                pass
        _stop(kernel, before)
    except OSError as error:
        with suppress(OSError):
            os.write(1, bytes([error.errno or errno.EIO]))


if __name__ == "__main__":
    main(sys.argv[1:])
