"""Confirm or revert: a separate process that reverts changes unless they are confirmed.

It reports that it is ready before nettop writes to the host. It does not depend on the terminal,
session or open files of nettop; both share only the journal, where the guard reads confirmations
and records what it did. `python -I -m nettop.changes.guard FOLDER GROUP DUE`. Once it is ready it
needs nothing: no module (`ready`), and no journal (`memory`). Only a line that it has read, such as
a confirmation, ends its waiting without a revert.

Every risky group of changes has a guard, and every guard reverts the whole chain of its group
(`chain`), so the chain reverts as long as one of its guards runs. A guard ends when its group is
confirmed or reverted. A guard that is stopped (by any signal that can be caught, or its systemd
service) reverts the chain at once. It retries after a failure, until it succeeds, also while the
device exists and is not to be seen. If the device is elsewhere, or another program changed the
value, it records that and ends.
"""

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from ..files import descriptors
from ..settings import Host
from ..terms.errors import sentence
from . import Result, chain, status, target, unguarded
from .chain import READY
from .entry import JournaledChange
from .journal import Book, Busy, Journal, since_boot
from .namespaces import Survey, alone
from .plan import current
from .unguarded import GUARD, over, running

# those that can be caught, without the ones that the kernel ignores by default (signal(7))
_SILENT: Final = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}
STOPS: Final = tuple(
    sorted(signal.valid_signals() - _SILENT - {signal.SIGKILL, signal.SIGSTOP})
)  # fmt: skip
PATIENCE = 3.0  # seconds after the deadline to wait for a nettop that holds the lock
_HELD = 3600.0  # seconds to wait for that nettop to end, after the revert
_LOOK = 0.25  # seconds between two looks at the journal
_HEARD = 5.0  # seconds at most until a guard has read a confirmation
_AGAIN = 60.0  # seconds at most between two tries to revert
_PATIENT = 8  # tries, in two minutes, until it ends where it can open no file
_TRIES = 4  # until it gives up where nothing more can be reverted: after 1, 2 and 4 seconds


def confirm(
    journal: Journal, numbers: Collection[int] = (), host: Host | None = None
) -> tuple[Result, ...]:
    """Confirm all pending changes, or these numbers and the earlier ones of their chains.

    An entry that was reverted before has state `reverted`, with the current value of the host.
    After the time to confirm, a change whose guard has ended is not kept.
    Returns when the guards have ended: until they have read it, a journal that is lost reverts.
    """
    with journal.lock():
        entries = journal.entries()
        asked, dead = chain.kept_by(entries, numbers), unguarded.unguarded(journal, entries)
        # another time namespace may have another boot time
        past = {e.id for e in asked if over(e, entries) >= 0 or time.time() >= (e.deadline or 0)}
        late = past & dead
        kept = [entry.id for entry in asked if entry.id not in late]
        if kept:  # in one line, so that a crash keeps all of them or none
            journal.note(kept[-1], "confirmed", also=kept[:-1])
        groups = {e.group for e in entries if e.id in numbers or (not numbers and _unfinished(e))}
        entries = journal.entries()
    _ended(journal, {e.group for e in entries if e.id in kept})
    host, survey = host or Host.at(), Survey()
    return tuple(
        status.confirmed(e, entries, host, survey, kept=e.id in kept, late=e.id in late)
        for e in entries
        if e.id in kept or e.id in late or e.group in groups
    )


def _unfinished(entry: JournaledChange) -> bool:
    """Whether its nettop ended before it could say that the change was made; a guard reverts it."""
    return entry.state == "begun" and chain.unconfirmed(entry)


def _ended(journal: Journal, groups: Collection[int]) -> None:
    """Wait until no guard of these groups runs, at most _HEARD seconds."""
    end = time.monotonic() + _HEARD
    while time.monotonic() < end and running(GUARD, journal.folder) & set(map(str, groups)):
        time.sleep(_LOOK / 10)


def revert(journal: Book, group: int, *, at_once: bool = True) -> tuple[Result, ...]:
    """Revert the chain of a group unless it was confirmed; safe to call twice.

    Without `at_once`, only after its deadline. A nettop that was stopped while it holds the lock
    must not keep the host cut off, so after PATIENCE seconds the guard continues without the lock.
    """
    try:
        with journal.lock(PATIENCE):
            return _revert(journal, group, at_once=at_once)
    except Busy:
        if not at_once and since_boot() < chain.starting(chain.of_group(journal.entries(), group)):
            return ()  # its holder is starting the guard of a newer change, which gives more time
        return _revert(journal, group, at_once=at_once)


def finish(journal: Journal, group: int) -> tuple[Result, ...]:
    """Wait until a group is confirmed or reverted; revert its chain if no guard does so in time."""
    while own(pending := chain.of_group(entries := journal.entries(), group), group):
        late = over(pending[-1], entries)
        if late >= PATIENCE or (
            late >= 0 and pending[-1].id in unguarded.unguarded(journal, entries)
        ):
            return revert(journal, group, at_once=False)
        time.sleep(_LOOK / 5)
    return ()


def _revert(journal: Book, group: int, *, at_once: bool) -> tuple[Result, ...]:
    from .undo import put_back

    entries = journal.entries()
    pending = chain.of_group(entries, group)
    if not pending or not (at_once or since_boot() >= chain.expiry(pending)):
        return ()
    return put_back(journal, Host.at(), entries, pending, state="reverted", follow=True)


def once_more(journal: Book, numbers: Collection[int]) -> tuple[Result, ...]:
    """Revert what a nettop that held the lock wrote after these entries had been reverted.

    On an overloaded host the write may come after the guard had nothing to revert. Waits for that
    nettop to end, at most _HELD seconds (Busy). OSError if a value cannot be read.
    """
    from .undo import take_back

    host = Host.at()
    results = []
    with journal.lock(_HELD):
        entries = journal.entries()
        still_open = [entry for entry in entries if entry.open]
        reverted = [entry for entry in entries if entry.id in numbers]
        for entry in reversed(reverted):
            changed_again = any(
                e.id > entry.id and target.same_setting(e, entry) for e in still_open
            )
            address = target.find(entry, host).address
            now = None if address is None else current(host, address)
            if changed_again or now is None or now not in (entry.wanted, entry.after):
                continue
            series = chain.series(entry, reverted)
            results.append(
                take_back(entry, host, entries, force=False, state="reverted", series=series)
            )
    return tuple(results)


def wait(journal: Book, group: int, tell: Callable[[int], object] = lambda _: None) -> None:
    """Wait for the confirmation or the deadline; then revert, and retry whatever fails.

    `tell` gets the number of the newest change that it knows.

    SystemExit: it ends without a revert, because it can open no file, or at a second SIGTERM.
    """
    from .ready import lift, rehearse

    stopped, tries, said = False, 0, ""
    told = 0  # how often it got SIGTERM
    rehearsed: set[int] = set()  # also what is added to the group, or was before it
    seen: set[int] = set()
    while True:
        try:
            pending = chain.of_group(journal.entries(), group)
            if not own(pending, group):
                why = _late(journal, seen)
                if not why:
                    return
            elif not stopped and (left := chain.expiry(pending) - since_boot()) > 0:
                if new := [entry for entry in pending if entry.id not in rehearsed]:
                    rehearse(new)
                    rehearsed |= {entry.id for entry in new}
                    tell(max(rehearsed))
                number = _signal(min(left, _LOOK))
                stopped, told = number > 0, told + (number == signal.SIGTERM)
                continue
            else:
                tries += 1
                lift()
                descriptors.lift()
                seen |= {entry.id for entry in pending}
                why = _try(journal, group, at_once=stopped, last=tries >= _TRIES)
        except Exception as error:
            lift()  # somebody may have limited its memory meanwhile (prlimit(2))
            why = {group: sentence(error)}
        if why:
            if ends := _ends(tries, told):
                why = {number: f"{because}: {ends}" for number, because in why.items()}
            said = _say(journal, why, said)
            if ends:
                sys.exit(1)
            with contextlib.suppress(OSError):
                told += _signal(min(2.0 ** (tries - 1), _AGAIN)) == signal.SIGTERM


def _ends(tries: int, told: int) -> str:
    """Why the guard ends although a try has failed; empty: it does not."""
    if told > 1:
        return "the guard was told twice to end"
    if tries >= _PATIENT:
        try:
            descriptors.must_be_left(1)
        except OSError:
            return "the guard ends, because it can open no file"
    return ""


def _signal(seconds: float) -> int:
    """Wait for one of `STOPS`; 0 if none came in time."""
    came = signal.sigtimedwait(STOPS, seconds)
    return 0 if came is None else came.si_signo


def own(pending: Sequence[JournaledChange], group: int) -> bool:
    """Whether a change of this group is among the unconfirmed ones of its chain."""
    return any(entry.group == group for entry in pending)


def _late(journal: Book, seen: Collection[int]) -> dict[int, str]:
    """`once_more` for those of `seen` that were reverted; the reason for each that failed."""
    reverted = [e.id for e in journal.entries() if e.id in seen and e.state == "reverted"]
    results = once_more(journal, reverted) if reverted else ()
    return {r.id or 0: r.because for r in results if r.state == "conflict"}


def _try(journal: Book, group: int, *, at_once: bool, last: bool) -> dict[int, str]:
    """Revert the chain; the reason for each change that could not be reverted, by its number.

    At the `last` try, changes of which nothing more can be reverted are closed, with the reason.
    """
    results = revert(journal, group, at_once=at_once)
    failed = {r.id or 0: r for r in results if r.state == "conflict"}
    entries = journal.entries()
    for entry in entries if last else ():
        result = failed.get(entry.id)
        if result is not None and (state := _final(entry, result, entries)):
            journal.note(entry.id, state, because=result.because)
            del failed[entry.id]
    return {number: result.because for number, result in failed.items()}


def _final(
    entry: JournaledChange, result: Result, entries: Sequence[JournaledChange]
) -> str:  # fmt: skip
    """The state of a change that could not be reverted and never can; empty if it still may.

    `reverted`: it was, without its side effects. `conflict`: the device is not in this namespace,
    or another program changed the value.
    """
    from .undo import way_back

    pending = [e for e in entries if chain.unconfirmed(e)]
    if result.after is None:
        try:
            place = target.find(entry, Host.at(), Survey(alone))
        except OSError:  # it is not known where the device is
            return ""
        return "" if place.address is not None or place.gone else "conflict"
    if result.after == way_back(chain.base(entry, pending), entries)[0]:
        return "reverted"
    ours = (entry.before, entry.wanted, entry.after)
    return "conflict" if result.after not in ours else ""


def _say(journal: Book, why: Mapping[int, str], said: str) -> str:
    """Record the reasons in the journal, unless that was `said` last; their text."""
    text = "; ".join(why.values())
    if text != said:
        for number, because in why.items():
            with contextlib.suppress(Exception):  # it is tried again, recorded or not
                journal.note(number, "guard-failed", because=because)
    return text


def main(words: list[str]) -> None:
    """Detach, report that the guard is ready, wait, revert; a failure goes to the journal."""
    from .memory import Memory
    from .ready import hold, lift, ready, tell

    group = int(words[1])
    # blocked signals are only read by sigtimedwait(), so they do not interrupt a revert
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    end, report = os.pipe()
    child = os.fork()
    if child:
        os.close(report)
        said = os.read(end, 1) if select.select([end], [], [], READY)[0] else b""
        if said != b"!":
            os.kill(child, signal.SIGKILL)
        os._exit(0 if said == b"!" else ord(said or b"\1"))
    os.close(end)
    os.setsid()
    ready()
    book = Journal(words[0])
    journal = Memory(book)
    if not (pending := chain.of_group(journal.entries(), group)):
        os._exit(1)
    try:
        hold(book, pending)
    except OSError as error:
        os.write(report, bytes((error.errno or 1,)))
        os._exit(1)
    os.write(report, b"!")
    os.close(report)
    try:
        wait(journal, group, tell)
    except SystemExit:
        journal.record()
        raise
    lift()
    journal.record(lambda seconds: _signal(seconds) == signal.SIGTERM)


if __name__ == "__main__":
    main(sys.argv[1:])
