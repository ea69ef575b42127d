"""Confirm or revert: a process of its own that takes changes back unless somebody confirms them.

It is started, and has said that it waits, before the host is touched. It hangs on nothing of
nettop's: no terminal, no session, no open file. It shares only the journal, where it reads what was
confirmed and writes what it did. `python -I -m nettop.changes.guard FOLDER GROUP DUE`.

Every risky group of changes has a guard, and every guard takes back the whole chain that its group
is part of (`chain`), so one that was killed is missed by nobody while another of the chain lives.
A guard ends when its group is confirmed or taken back. To stop it (SIGTERM, SIGINT, SIGHUP, or its
systemd service) is to say that nobody waits any more: it takes the chain back at once. Where that
fails it tries again, until it succeeds or somebody else has changed the value.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from ..files.trust import environment, program
from ..terms.errors import sentence
from . import Result, chain, context, matching, status
from .chain import READY
from .journal import Busy, Entry, Journal, since_boot

if TYPE_CHECKING:
    from ..settings import Host

STOPS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PATIENCE = 3.0  # seconds past its time that a guard waits for a nettop that is still writing
_HELD = 3600.0  # seconds for which it waits for that nettop to end, its work done meanwhile
_AGAIN = 60.0  # seconds at most between two tries to take back what could not be written
_SYSTEMD = "/run/systemd/system"


def arm(journal: Journal, group: int, due: float) -> None:
    """Start the guard of a group; returns when it waits. OSError when it cannot be started.

    Where systemd is in charge and ours is the host's own namespace, it is a transient service: then
    not even the end of our control group ends it.
    """
    import subprocess

    words = [sys.executable, "-I", "-m", __name__, journal.folder, str(group), str(due)]
    if os.path.isdir(_SYSTEMD) and os.geteuid() == 0 and context.first_netns():
        # one that cannot be reached (no bus, no tool) is not in charge
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
        raise OSError(5, "the process that would revert it did not start")


def _arm_service(words: Sequence[str], unit: str) -> None:
    """Let systemd start it. A service, no timer: stopped, it still takes the changes back.

    systemd.service(5): of Type=forking the start is over when the first process ends, which ours
    does when its child waits; a guard that was killed is started again.
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


def confirm(
    journal: Journal, numbers: Collection[int] = (), host: Host | None = None
) -> tuple[Result, ...]:
    """Keep what is pending: everything, or these numbers and what stands before them in the chain.

    One that was reverted already is told as reverted, with what the host shows now.
    """
    from ..settings import Host
    from .namespaces import Survey

    with journal.lock():
        entries = journal.entries()
        kept = [entry.id for entry in chain.kept_by(entries, numbers)]
        if kept:  # one line: a crash keeps all of them or none
            journal.note(kept[-1], "confirmed", also=kept[:-1])
        groups = {e.group for e in entries if e.id in numbers}
        entries = journal.entries()
    host, survey = host or Host.at(), Survey()
    return tuple(
        status.confirmed(e, entries, host, survey, kept=e.id in kept)
        for e in entries
        if e.id in kept or e.group in groups
    )


def notices(journal: Journal) -> tuple[str, ...]:
    """What must be told at the start: guards that failed, changes that wait, changes cut short."""
    told = list(journal.failures())
    boot = context.boot()
    for entry in journal.entries():
        if not entry.open or (entry.boot and entry.boot != boot):
            continue
        name = f"change {entry.id} ({entry.setting})"
        if entry.due is not None and since_boot() > entry.due + 2 * _PATIENCE:
            told.append(
                f"{name} was neither confirmed nor reverted in time: "
                f"nettop undo {entry.id}, or nettop confirm {entry.id}"
            )
        elif entry.state == "begun" and time.time() - entry.at > READY:
            told.append(f"{name} was cut short: nettop undo {entry.id} puts it right")
    return tuple(told)


def revert(journal: Journal, group: int, *, at_once: bool = True) -> tuple[Result, ...]:
    """Take the chain of a group back unless it was confirmed; safe to call twice.

    Not `at_once`, only when its time is over. A nettop that was stopped while it holds the lock
    must not keep the host cut off: after some seconds the guard goes on without it.
    """
    try:
        with journal.lock(_PATIENCE):
            return _taken_back(journal, group, at_once=at_once)
    except Busy:
        if not at_once and since_boot() < chain.starting(chain.of_group(journal.entries(), group)):
            return ()  # the one that holds it starts the guard of a newer change: more time
        return _taken_back(journal, group, at_once=at_once)


def _taken_back(journal: Journal, group: int, *, at_once: bool) -> tuple[Result, ...]:
    from ..settings import Host
    from .undo import put_back

    entries = journal.entries()
    waiting = chain.of_group(entries, group)
    if not waiting or not (at_once or since_boot() >= chain.expiry(waiting)):
        return ()
    return put_back(journal, Host.at(), entries, waiting, state="reverted")


def once_more(journal: Journal, numbers: Collection[int]) -> tuple[Result, ...]:
    """Take back what a nettop that held the lock wrote after these entries had been reverted.

    On a machine too loaded the write may come after the guard found nothing to revert. Waits for
    that nettop to end, for an hour at most (Busy).
    """
    from ..settings import Host
    from .undo import take_back

    host = Host.at()
    results = []
    with journal.lock(_HELD):
        entries = journal.entries()
        left = [entry for entry in entries if entry.open]
        gone = [entry for entry in entries if entry.id in numbers]
        for entry in reversed(gone):
            changed_again = any(e.id > entry.id and matching.one_setting(e, entry) for e in left)
            now, _ = status.shown(entry, host)
            if changed_again or now not in (entry.wanted, entry.after):
                continue
            first = chain.base(entry, gone)
            results.append(
                take_back(entry, host, entries, force=False, state="reverted", first=first)
            )
    return tuple(results)


def _warm(journal: Journal, group: int, known: set[int]) -> None:
    """Load now what taking back needs: at the deadline a busy machine needs seconds for it.

    `known` are the entries for which that was done: a chain grows while we wait.
    """
    from .. import settings
    from ..settings import Host
    from . import undo  # noqa: F401

    host = Host.at()
    for entry in chain.of_group(journal.entries(), group):
        if entry.id not in known:
            known.add(entry.id)
            status.shown(entry, host)
            settings.prepare(host, settings.parse(entry.setting))


def stand(journal: Journal, group: int, known: set[int]) -> None:
    """Wait for the word or the time; then take back, and try again what could not be written.

    What somebody else changed meanwhile is theirs: that is told, and the guard ends.
    """
    stopped, pause, told = False, 1.0, ""
    while _own(waiting := chain.of_group(journal.entries(), group), group):
        if not stopped and (left := chain.expiry(waiting) - since_boot()) > 0:
            _warm(journal, group, known)
            stopped = signal.sigtimedwait(STOPS, min(left, 1.0)) is not None
            continue
        results = revert(journal, group, at_once=stopped)
        if gone := [r.id for r in results if r.id and r.state == "reverted"]:
            once_more(journal, gone)
        failed = [r for r in results if r.state == "conflict"]
        if _unwritten(journal, group, results) or (failed and _somebodys(waiting, failed)):
            told = _tell(journal, failed, told)
            return
        if failed:
            told = _tell(journal, failed, told)
            time.sleep(pause)
            pause = min(2 * pause, _AGAIN)


def _own(waiting: Sequence[Entry], group: int) -> bool:
    return any(entry.group == group for entry in waiting)


def _tell(journal: Journal, failed: Sequence[Result], told: str) -> str:
    """Put into the journal what could not be taken back and why, once."""
    why = "; ".join(r.because for r in failed)
    if why and why != told:
        for result in failed:
            journal.note(result.id or 0, "guard-failed", because=result.because)
    return why


def _unwritten(journal: Journal, group: int, results: Sequence[Result]) -> bool:
    """Whether something was taken back and the journal could not be told."""
    done = {r.id for r in results if r.state != "conflict"}
    return any(e.id in done for e in chain.of_group(journal.entries(), group))


def _somebodys(waiting: Sequence[Entry], failed: Sequence[Result]) -> bool:
    """Whether what could not be taken back shows values that nettop neither found nor left."""
    known = {e.id: (None, e.before, e.wanted, e.after) for e in waiting}
    return all(r.after not in known.get(r.id or 0, (None,)) for r in failed)


def main(words: list[str]) -> None:
    """Detach, say that we wait, wait, revert; a failure goes to the journal."""
    journal, group = Journal(words[0]), int(words[1])
    # they come to whoever asks for them: while changes are taken back nobody does
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    end, ours = os.pipe()
    child = os.fork()
    if child:
        os.close(ours)
        ready = select.select([end], [], [], READY)[0] and os.read(end, 1) == b"!"
        if not ready:
            os.kill(child, signal.SIGKILL)
        os._exit(0 if ready else 1)
    os.close(end)
    os.setsid()
    known: set[int] = set()
    _warm(journal, group, known)
    os.write(ours, b"!")
    os.close(ours)
    try:
        stand(journal, group, known)
    except Exception as error:
        journal.note(group, "guard-failed", because=sentence(error))
        raise


if __name__ == "__main__":
    main(sys.argv[1:])
