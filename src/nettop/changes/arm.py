"""Start a guard, and make sure that it knows each change of its group before it is made.

With systemd, in the initial network namespace, the guard is a transient service, so that it
survives the end of our control group.
"""

import atexit
import contextlib
import errno
import os
import signal
import sys
import time
from collections.abc import Sequence

from ..files import descriptors
from ..files.own import called
from ..files.trust import environment, program
from ..terms.text import safe
from . import chain, context, unguarded
from .chain import READY
from .entry import JournaledChange
from .guard import finish, own, revert
from .journal import Journal
from .unguarded import GUARD

_SYSTEMD = "/run/systemd/system"
_LOOK = 0.025  # seconds between two looks at what a guard knows


def arm(journal: Journal, entry: JournaledChange) -> None:
    """Return when a guard has read an entry: with the first of a group, start it.

    OSError: there is none, or it does not read the entry in time.
    """
    if entry.id == entry.group and entry.due is not None:
        start(journal, entry.group, entry.due)
        return
    end = time.monotonic() + READY
    while (known := unguarded.known(journal.folder, entry.group)) < entry.id:
        if known < 0 or time.monotonic() >= end:
            why = "has ended" if known < 0 else "does not read the journal"
            raise OSError(errno.ESRCH, f"the guard of change {entry.group} {why}")
        time.sleep(_LOOK)


def start(journal: Journal, group: int, due: float) -> None:
    """Start the guard of a group and wait until it is ready; OSError if it cannot be started.

    `due` is in seconds since boot.
    """
    import subprocess

    if os.getpid() == 1:
        atexit.register(_outlast, journal, group)
    words = [sys.executable, "-I", "-m", GUARD, journal.folder, str(group), str(due)]
    if os.path.isdir(_SYSTEMD) and os.geteuid() == 0 and context.first_netns():
        # without a bus or systemd-run, start it directly
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            _arm_service(words, f"nettop-guard-{os.getpid()}-{group}")
            return
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, cwd="/",
    ) as starter:  # fmt: skip
        try:
            starter.wait(READY)
        except subprocess.TimeoutExpired:
            starter.kill()
    if starter.returncode:
        why = "the process that would revert it did not start"
        if starter.returncode in descriptors.NONE_LEFT:
            why += f": {os.strerror(starter.returncode)}"
        raise OSError(5, why)


def _arm_service(words: Sequence[str], unit: str) -> None:
    """Start the guard as a service; a timer would not revert the changes when it is stopped.

    systemd.service(5): with Type=forking the start is complete when the first process ends, which
    it does when its child is ready; systemd restarts a killed guard.
    """
    import subprocess

    words = [
        program("systemd-run"), f"--unit={unit}", "--collect", "--quiet",
        "--property=Type=forking", "--property=Restart=on-failure",
        "--property=TimeoutStopSec=300", "--", *words,
    ]  # fmt: skip
    done = subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=READY,
        env=environment(),
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise OSError(5, f"systemd-run: {lines[0] if lines else done.returncode}")


def _outlast(journal: Journal, group: int) -> None:
    """Stay until a group is confirmed or reverted: with process 1 the kernel ends the guard too."""
    if not own(chain.of_group(journal.entries(), group), group):
        return
    sys.stdout.flush()
    why = "the end of process 1 would end the guard: nettop stays until the change is confirmed"
    print(f"nettop: {why} or reverted", file=sys.stderr, flush=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # else process 1 ignores Ctrl-C
    try:
        tried = finish(journal, group)
    except KeyboardInterrupt:
        tried = revert(journal, group)
    for result in tried:
        if result.state == "conflict":
            told = f"{result.setting} is not reverted: {result.because}"
            print(safe(f"nettop: {told}: {called()} undo {result.id}"), file=sys.stderr, flush=True)
            os._exit(4)
