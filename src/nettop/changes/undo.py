"""Undo: put back exactly what nettop changed, and nothing that others changed since."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection
from dataclasses import replace

from .. import settings
from ..settings import Address, Host
from . import Result, place
from .journal import Entry, Journal
from .plan import sentence
from .settle import carrier, look, settle


def undo(
    journal: Journal,
    host: Host,
    numbers: Collection[int] = (),
    *,
    everything: bool = False,
    force: bool = False,
    state: str = "undone",
    wait: float | None = 10.0,
    still: Callable[[Entry], bool] = lambda _entry: True,
) -> tuple[Result, ...]:
    """Take back the entries of these numbers (or all that are open), newest first.

    For each: shows it what we left, it is put back; shows it the old value, nothing is to do;
    anything else is a conflict and stays untouched, unless `force`. Safe to repeat after a crash
    at any point. `wait` is how long to wait for the lock, None goes on without; `still` is asked
    of each entry under the lock.
    """
    with contextlib.nullcontext() if wait is None else journal.lock(wait):
        entries = journal.entries()
        chosen = [e for e in entries if e.open and (everything or e.id in numbers) and still(e)]
        results = []
        left = {e.id: e for e in entries if e.open}
        for entry in sorted(chosen, key=lambda e: -e.id):
            try:
                result = take_back(entry, host, tuple(left.values()), force=force, state=state)
            except (OSError, ValueError, LookupError) as error:  # the others all the same
                result = _result(entry, "conflict", because=sentence(error))
            if result.state in (state, "void"):
                result = _noted(journal, result)
                left.pop(entry.id, None)
            results.append(result)
        done = [
            _result(e, e.state, because="nothing to take back")
            for e in entries
            if not e.open and e.id in numbers
        ]
    return (*results, *done)


def _noted(journal: Journal, result: Result) -> Result:
    """Say so in the journal; where that cannot be, the others are taken back all the same."""
    try:
        journal.note(result.id or 0, result.state, because=result.because)
    except OSError as error:
        why = f"it is so, but the journal could not be completed: {sentence(error)}"
        return replace(result, because=f"{result.because}; {why}" if result.because else why)
    return result


def forget(
    journal: Journal, numbers: Collection[int] = (), *, everything: bool = False
) -> tuple[Result, ...]:
    """Close entries and leave the host as it is."""
    results = []
    with journal.lock():
        for entry in journal.entries():
            if entry.open and (everything or entry.id in numbers):
                journal.note(entry.id, "forgotten")
                because = "it stays as it is; the journal's entry is closed"
                results.append(_result(entry, "unchanged", entry.after, because=because))
    return tuple(results)


def overtaken(entry: Entry, host: Host, others: Collection[Entry]) -> str:
    """What became of an open entry without nettop; empty while the host shows what nettop left.

    `others` are entries of the same journal: a later one of the same setting speaks for it.
    """
    if any(o.open and o.setting == entry.setting and o.id > entry.id for o in others):
        return ""
    try:
        address = settings.parse(entry.setting)
    except LookupError as error:
        return sentence(error)
    why = _void(entry, address) or _elsewhere(entry, address)
    if why:
        return why
    found, why = _same_target(entry, address, host)
    if found is None:
        return why
    now = look(host, found)
    if now is None:
        return "it cannot be read now"
    if now == (entry.wanted if entry.after is None else entry.after):
        return ""
    if now == entry.before:
        return f"somebody put it back: it is {now} again"
    return f"somebody changed it since: it is {now}"


def take_back(
    entry: Entry, host: Host, others: Collection[Entry] = (), *, force: bool, state: str
) -> Result:
    """Put one entry's setting back. `others` are the entries that still stand."""
    try:
        address = settings.parse(entry.setting)
    except LookupError as error:
        return _result(entry, "conflict", because=sentence(error))
    why = _void(entry, address)
    if why:
        return _result(entry, "void", because=why)
    why = _elsewhere(entry, address)
    if why:
        return _result(entry, "conflict", because=why)
    found, why = _same_target(entry, address, host)
    if found is None:
        return _result(entry, "void", because=why)
    address = found
    shell = settings.shell(address, entry.before, host.source)
    later = [o.id for o in others if o.setting == entry.setting and o.id > entry.id]
    if later and not force:
        because = f"changed again by {later[-1]}: undo that first"
        return _result(entry, "conflict", None, shell, because)
    now = look(host, address)
    if now is None:
        return _result(entry, "conflict", because=f"{address} cannot be read now")
    # Killed between the write and its record: what a rounding driver made of it is not known.
    left = (entry.wanted,) if entry.after is None else (entry.after,)
    cut_short = entry.after is None and settings.rounds(address)
    if now not in (entry.before, *left) and not force and not cut_short:
        because = f"it shows {now!r}, neither the old {entry.before!r} nor what nettop left"
        return _result(entry, "conflict", now, shell, because)
    return _put_back(entry, address, host, now, shell, state)


def _put_back(
    entry: Entry, address: Address, host: Host, now: str, shell: str, state: str
) -> Result:
    """Write the old value, then whatever moved along and still is where it moved to."""
    moved = [
        (key, was)
        for key, (was, is_) in entry.beside.items()
        if was is not None and _still(host, entry, key, is_)
    ]
    try:
        if now != entry.before:
            had = carrier(host, address)
            settings.write(host, address, entry.before)
            settle(host, address, had_carrier=had)
        for key, was in moved:
            other = replace_nic(settings.parse(key), address.nic, entry)
            if look(host, other) not in (was, None):
                settings.write(host, other, was)
    except (OSError, ValueError, LookupError) as error:
        return _result(entry, "conflict", look(host, address), shell, sentence(error))
    after = look(host, address)
    if after != entry.before:
        because = f"it was written, but the host shows {after!r}"
        return _result(entry, "conflict", after, shell, because)
    return _result(entry, state, after, shell)


def _still(host: Host, entry: Entry, key: str, after: str | None) -> bool:
    """Whether a setting that moved along is where it moved to; unknown counts after a crash."""
    return entry.after is None or after is None or look(host, settings.parse(key)) in (after, None)


def _void(entry: Entry, address: Address) -> str:
    """Why the host has forgotten this change by itself; empty when it has not."""
    if not settings.runtime(address):
        return ""
    now = place.boot()
    if entry.boot and now and entry.boot != now:
        return "the host was started again since: the change is gone"
    if _spaced(address) and place.gone(entry.netns, entry.netns_name):
        return f"network namespace {entry.netns_name} is gone, and the change with it"
    return ""


def _elsewhere(entry: Entry, address: Address) -> str:
    """Why we are in the wrong place to undo it; empty when we are right."""
    inode, _name = place.netns()
    if not _spaced(address) or not entry.netns or entry.netns == inode:
        return ""
    if entry.netns_name:
        return (
            f"made in namespace {entry.netns_name}: nettop undo {entry.id} "
            f"--netns {entry.netns_name}"
        )
    return "made in another network namespace: undo it from there"


def _spaced(address: Address) -> bool:
    return bool(getattr(settings.kind(address.kind), "NIC", False)) or address.kind == "sysctl"


def _same_target(entry: Entry, address: Address, host: Host) -> tuple[Address | None, str]:
    """Where the target is now (an interface may be renamed), or None and why it is gone."""
    if not entry.identity:
        return address, ""
    now = settings.identity(host.source, address)
    if now == entry.identity:
        return address, ""
    if not getattr(settings.kind(address.kind), "NIC", False):
        if not now:
            return None, f"{address.target} is gone, and the change with it"
        return None, f"{address.target} is another one now: not touched"
    for name in _interfaces(host):
        other = replace_nic(address, name, entry)
        if settings.identity(host.source, other) == entry.identity:
            return other, ""
    told = getattr(settings.kind(address.kind), "FORGETS", "")
    if told:
        return None, told
    if now:
        return None, f"{address.nic} was made anew since: the change went with the old one"
    return None, f"{address.nic} is gone, and the change with it"


def replace_nic(address: Address, name: str, entry: Entry) -> Address:
    """The address on the interface that is now called `name`, when it was the entry's interface."""
    if address.nic != settings.parse(entry.setting).nic or not name:
        return address
    return replace(address, target=name + ("/" + address.part if address.part else ""))


def _interfaces(host: Host) -> list[str]:
    try:
        return host.source.listing("/sys/class/net")
    except OSError:
        return []


def _result(
    entry: Entry, state: str, after: str | None = None, shell: str = "", because: str = ""
) -> Result:
    return Result(
        entry.setting, entry.before, entry.wanted, state, entry.id, after, shell or entry.shell,
        because,
    )  # fmt: skip
