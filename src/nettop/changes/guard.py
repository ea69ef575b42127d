"""Confirm or revert: a process of its own that takes changes back unless somebody confirms them.

It is started, and has said that it waits, before the host is touched. It hangs on nothing of
nettop's: no terminal, no session, no open file. It shares only the journal, where it reads whether
it was confirmed and writes what it did. `python -I -m nettop.changes.guard FOLDER GROUP DUE`.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time

from ..trust import environment, program
from . import Result, place
from .journal import Busy, Entry, Journal, since_boot
from .plan import sentence

READY = 60.0  # seconds a guard may take to start and load all it needs, on a very busy machine
_PATIENCE = 3.0  # seconds past its time that a guard waits for a nettop that is still writing
_HELD = 3600.0  # seconds for which it waits for that nettop to end, its work done meanwhile
_SYSTEMD = "/run/systemd/system"


def arm(journal: Journal, group: int, due: float) -> None:
    """Start the guard of a group; returns when it waits. OSError when it cannot be started.

    Where systemd is in charge and ours is the host's own namespace, its transient timer does it:
    then not even the end of our control group ends it.
    """
    import subprocess

    if os.path.isdir(_SYSTEMD) and os.geteuid() == 0 and place.first_netns():
        # one that cannot be reached (no bus, no tool) is not in charge
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            _arm_timer(journal, group, due)
            return

    end, ours = os.pipe()
    os.set_inheritable(ours, True)
    words = [sys.executable, "-I", "-m", __name__, journal.folder, str(group), str(due), str(ours)]
    try:
        starter = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(ours,), start_new_session=True, cwd="/",
        )  # fmt: skip
    finally:
        os.close(ours)
    try:
        ready = select.select([end], [], [], READY)[0] and os.read(end, 1) == b"!"
    finally:
        os.close(end)
    if not ready:
        starter.kill()
    starter.wait()  # it has forked: what waits now is its child, and nobody's
    if not ready:
        raise OSError(5, "the process that would revert it did not start")


def _arm_timer(journal: Journal, group: int, due: float) -> None:
    import subprocess

    left = max(0.1, due - since_boot())
    words = [
        program("systemd-run"), f"--on-active={left:.3f}", "--timer-property=AccuracySec=100ms",
        f"--unit=nettop-guard-{os.getpid()}-{group}", "--collect", "--quiet", "--",
        sys.executable, "-I", "-m", __name__, journal.folder, str(group), str(due),
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


def confirm(journal: Journal, numbers: tuple[int, ...] = ()) -> tuple[Result, ...]:
    """Keep what is pending: the groups of these numbers, or everything.

    One that was reverted already is told as reverted.
    """
    results = []
    with journal.lock():
        entries = journal.entries()
        groups = {e.group for e in entries if not numbers or e.id in numbers}
        for entry in entries:
            if entry.group not in groups or (not numbers and entry.state != "pending"):
                continue
            state = entry.state
            if state == "pending":
                journal.note(entry.id, "confirmed")
                state = entry.effect
            results.append(
                Result(entry.setting, entry.before, entry.wanted, state, entry.id, entry.after,
                       entry.shell, entry.because)
            )  # fmt: skip
    return tuple(results)


def notices(journal: Journal) -> tuple[str, ...]:
    """What must be told at the start: guards that failed, changes that wait, changes cut short."""
    told = list(journal.failures())
    boot = place.boot()
    for entry in journal.entries():
        if not entry.open or (entry.boot and entry.boot != boot):
            continue
        name = f"change {entry.id} ({entry.setting})"
        if entry.due is not None and since_boot() > entry.due + 2 * _PATIENCE:
            told.append(
                f"{name} was neither confirmed nor reverted: its guard is gone; "
                f"nettop undo {entry.id}, or nettop confirm {entry.id}"
            )
        elif entry.state == "begun" and time.time() - entry.at > READY:
            told.append(f"{name} was cut short: nettop undo {entry.id} puts it right")
    return tuple(told)


def revert(journal: Journal, group: int) -> tuple[Result, ...]:
    """Take a group back unless it was confirmed; safe to call twice.

    A nettop that was stopped while it holds the lock must not keep the host cut off: after some
    seconds the guard goes on without it.
    """
    from ..settings import Host
    from .undo import undo

    waiting = [e for e in journal.entries() if e.group == group and _unconfirmed(e)]
    if not waiting:
        return ()
    numbers = [e.id for e in waiting]
    try:
        return undo(
            journal, Host.at(), numbers, state="reverted", wait=_PATIENCE, still=_unconfirmed
        )
    except Busy:
        return undo(journal, Host.at(), numbers, state="reverted", wait=None, still=_unconfirmed)


def once_more(journal: Journal, group: int) -> tuple[Result, ...]:
    """Take back what a nettop that held the lock wrote after its group had been reverted.

    On a machine too loaded the write may come after the guard found nothing to revert. Waits for
    that nettop to end, for an hour at most (Busy).
    """
    from .. import settings
    from ..settings import Host
    from .settle import look
    from .undo import take_back

    host = Host.at()
    with journal.lock(_HELD):
        entries = journal.entries()
        left = [entry for entry in entries if entry.open]
        late = [
            e for e in reversed(entries)
            if e.group == group and e.state == "reverted"
            and look(host, settings.parse(e.setting)) != e.before
        ]  # fmt: skip
        return tuple(take_back(e, host, left, force=False, state="reverted") for e in late)


def _unconfirmed(entry: Entry) -> bool:
    return entry.open and entry.due is not None


def _warm(journal: Journal, group: int, known: set[int]) -> None:
    """Load now what taking back needs: at the deadline a busy machine needs seconds for it.

    `known` are the entries for which that was done: a group grows while we wait.
    """
    from .. import settings
    from ..settings import Host
    from . import undo  # noqa: F401
    from .settle import look

    host = Host.at()
    for entry in journal.entries():
        if entry.group == group and entry.open and entry.id not in known:
            known.add(entry.id)
            address = settings.parse(entry.setting)
            look(host, address)
            settings.prepare(host, address)


def _due(journal: Journal, group: int, due: float) -> float:
    """When to revert, since boot: its time is counted anew once nettop knows that we wait."""
    waiting = [e for e in journal.entries() if e.group == group and _unconfirmed(e)]
    counted = [e.due for e in waiting if e.armed and e.due is not None]
    return counted[0] if counted else due + READY if waiting else due


def main(words: list[str]) -> None:
    """Detach, say that we wait, wait, revert; a failure goes to the journal."""
    journal, group, due = Journal(words[0]), int(words[1]), float(words[2])
    known: set[int] = set()
    if len(words) > 3:
        if os.fork():
            os._exit(0)
        os.setsid()
        _warm(journal, group, known)
        os.write(int(words[3]), b"!")
        os.close(int(words[3]))
    while (left := _due(journal, group, due) - since_boot()) > 0:
        _warm(journal, group, known)
        time.sleep(min(left, 1.0))
    try:
        for result in (*revert(journal, group), *once_more(journal, group)):
            if result.state == "conflict":
                journal.note(result.id or group, "guard-failed", because=result.because)
    except Exception as error:
        journal.note(group, "guard-failed", because=sentence(error))
        raise


if __name__ == "__main__":
    main(sys.argv[1:])
