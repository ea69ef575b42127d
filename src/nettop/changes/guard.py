"""Confirm or revert: a separate process that reverts changes unless they are confirmed.

It reports that it is ready before nettop writes to the host. It does not depend on the terminal,
session or open files of nettop; both share only the journal, where the guard reads confirmations
and records what it did. `python -I -m nettop.changes.guard FOLDER GROUP DUE`.

Every risky group of changes has a guard, and every guard reverts the whole chain of its group
(`chain`), so the chain reverts as long as one of its guards runs. A guard ends when its group is
confirmed or reverted. A guard that is stopped (SIGTERM, SIGINT, SIGHUP, or its systemd service)
reverts the chain at once. It retries after a failure, until it succeeds or another program has
changed the value.
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
from .journal import Busy, Journal, JournaledChange, since_boot

if TYPE_CHECKING:
    from ..settings import Host

STOPS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PATIENCE = 3.0  # seconds after the deadline to wait for a nettop that holds the lock
_HELD = 3600.0  # seconds to wait for that nettop to end, after the revert
_AGAIN = 60.0  # seconds at most between two tries to revert
_SYSTEMD = "/run/systemd/system"


def arm(journal: Journal, group: int, due: float) -> None:
    """Start the guard of a group and wait until it is ready; OSError if it cannot be started.

    `due` is in seconds since boot. With systemd, in the initial network namespace, the guard is a
    transient service, so that it survives the end of our control group.
    """
    import subprocess

    words = [sys.executable, "-I", "-m", __name__, journal.folder, str(group), str(due)]
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
        raise OSError(5, "the process that would revert it did not start")


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


def confirm(
    journal: Journal, numbers: Collection[int] = (), host: Host | None = None
) -> tuple[Result, ...]:
    """Confirm all pending changes, or these numbers and the earlier ones of their chains.

    An entry that was reverted before has state `reverted`, with the current value of the host.
    """
    from ..settings import Host
    from .namespaces import Survey

    with journal.lock():
        entries = journal.entries()
        kept = [entry.id for entry in chain.kept_by(entries, numbers)]
        if kept:  # in one line, so that a crash keeps all of them or none
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
    """Messages to show at the start: failed guards, overdue changes, interrupted changes."""
    messages = list(journal.failures())
    boot = context.boot()
    for entry in journal.entries():
        if not entry.open or (entry.boot and entry.boot != boot):
            continue
        name = f"change {entry.id} ({entry.setting})"
        if entry.due is not None and since_boot() > entry.due + 2 * _PATIENCE:
            messages.append(
                f"{name} was neither confirmed nor reverted in time: "
                f"nettop undo {entry.id}, or nettop confirm {entry.id}"
            )
        elif entry.state == "begun" and time.time() - entry.at > READY:
            messages.append(
                f"{name} was interrupted: nettop undo {entry.id} restores the old value"
            )
    return tuple(messages)


def revert(journal: Journal, group: int, *, at_once: bool = True) -> tuple[Result, ...]:
    """Revert the chain of a group unless it was confirmed; safe to call twice.

    Without `at_once`, only after its deadline. A nettop that was stopped while it holds the lock
    must not keep the host cut off, so after _PATIENCE seconds the guard continues without the lock.
    """
    try:
        with journal.lock(_PATIENCE):
            return _revert(journal, group, at_once=at_once)
    except Busy:
        if not at_once and since_boot() < chain.starting(chain.of_group(journal.entries(), group)):
            return ()  # its holder is starting the guard of a newer change, which gives more time
        return _revert(journal, group, at_once=at_once)


def _revert(journal: Journal, group: int, *, at_once: bool) -> tuple[Result, ...]:
    from ..settings import Host
    from .undo import put_back

    entries = journal.entries()
    pending = chain.of_group(entries, group)
    if not pending or not (at_once or since_boot() >= chain.expiry(pending)):
        return ()
    return put_back(journal, Host.at(), entries, pending, state="reverted")


def once_more(journal: Journal, numbers: Collection[int]) -> tuple[Result, ...]:
    """Revert what a nettop that held the lock wrote after these entries had been reverted.

    On an overloaded host the write may come after the guard had nothing to revert. Waits for that
    nettop to end, at most _HELD seconds (Busy).
    """
    from ..settings import Host
    from .undo import take_back

    host = Host.at()
    results = []
    with journal.lock(_HELD):
        entries = journal.entries()
        still_open = [entry for entry in entries if entry.open]
        reverted = [entry for entry in entries if entry.id in numbers]
        for entry in reversed(reverted):
            changed_again = any(
                e.id > entry.id and matching.same_setting(e, entry) for e in still_open
            )
            now, _ = status.shown(entry, host)
            if changed_again or now not in (entry.wanted, entry.after):
                continue
            series = chain.series(entry, reverted)
            results.append(
                take_back(entry, host, entries, force=False, state="reverted", series=series)
            )
    return tuple(results)


def _warm(journal: Journal, group: int, known: set[int]) -> None:
    """Load what the revert needs in advance: at the deadline a busy host needs seconds for it.

    `known` collects the entries that were prepared, because a chain may grow.
    """
    from ..settings import Host
    from . import undo  # noqa: F401

    host = Host.at()
    for entry in chain.of_group(journal.entries(), group):
        if entry.id not in known:
            known.add(entry.id)
            status.shown(entry, host)


def wait(journal: Journal, group: int, known: set[int]) -> None:
    """Wait for the confirmation or the deadline; then revert, and retry failed writes.

    A value that another program changed is reported in the journal, and the guard ends.
    """
    stopped, pause, reported = False, 1.0, ""
    while _own(pending := chain.of_group(journal.entries(), group), group):
        if not stopped and (left := chain.expiry(pending) - since_boot()) > 0:
            _warm(journal, group, known)
            stopped = signal.sigtimedwait(STOPS, min(left, 1.0)) is not None
            continue
        results = revert(journal, group, at_once=stopped)
        if reverted := [r.id for r in results if r.id and r.state == "reverted"]:
            once_more(journal, reverted)
        failed = [r for r in results if r.state == "conflict"]
        foreign = failed and _is_foreign(pending, failed)
        if failed:
            reported = _report(journal, failed, reported)
        if foreign or _unrecorded(journal, group, results):
            return
        if failed:
            time.sleep(pause)
            pause = min(2 * pause, _AGAIN)


def _own(pending: Sequence[JournaledChange], group: int) -> bool:
    return any(entry.group == group for entry in pending)


def _report(journal: Journal, failed: Sequence[Result], reported: str) -> str:
    """Record the failures in the journal, unless they are the `reported` ones; their text."""
    why = "; ".join(r.because for r in failed)
    if why and why != reported:
        for result in failed:
            journal.note(result.id or 0, "guard-failed", because=result.because)
    return why


def _unrecorded(journal: Journal, group: int, results: Sequence[Result]) -> bool:
    """Whether a change was reverted, but the journal could not be written."""
    done = {r.id for r in results if r.state != "conflict"}
    return any(e.id in done for e in chain.of_group(journal.entries(), group))


def _is_foreign(pending: Sequence[JournaledChange], failed: Sequence[Result]) -> bool:
    """Whether all failed settings have values that are neither the old ones nor from nettop."""
    known = {e.id: (None, e.before, e.wanted, e.after) for e in pending}
    return all(r.after not in known.get(r.id or 0, (None,)) for r in failed)


def main(words: list[str]) -> None:
    """Detach, report that the guard is ready, wait, revert; a failure goes to the journal."""
    journal, group = Journal(words[0]), int(words[1])
    # blocked signals are only read by sigtimedwait(), so they do not interrupt a revert
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    end, report = os.pipe()
    child = os.fork()
    if child:
        os.close(report)
        ready = select.select([end], [], [], READY)[0] and os.read(end, 1) == b"!"
        if not ready:
            os.kill(child, signal.SIGKILL)
        os._exit(0 if ready else 1)
    os.close(end)
    os.setsid()
    known: set[int] = set()
    _warm(journal, group, known)
    os.write(report, b"!")
    os.close(report)
    try:
        wait(journal, group, known)
    except Exception as error:
        journal.note(group, "guard-failed", because=sentence(error))
        raise


if __name__ == "__main__":
    main(sys.argv[1:])
