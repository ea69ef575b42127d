"""Undo: put back exactly what nettop changed, and nothing that others changed since."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from .. import settings
from ..settings import Address, Host
from ..terms.errors import sentence
from . import Result, chain, matching, status, target
from .journal import Entry, Journal
from .namespaces import Survey
from .readback import carrier, look, settle


def undo(
    journal: Journal,
    host: Host,
    numbers: Collection[int] = (),
    *,
    everything: bool = False,
    force: bool = False,
) -> tuple[Result, ...]:
    """Take back the entries of these numbers (or all that are open), newest first.

    For each: shows it what we left, it is put back; shows it the old value, nothing is to do;
    anything else is a conflict and stays untouched, unless `force`. Safe to repeat after a crash
    at any point.
    """
    survey = Survey()
    with journal.lock():
        entries = journal.entries()
        chosen = [e for e in entries if e.open and (everything or e.id in numbers)]
        return (
            *put_back(journal, host, entries, chosen, force=force, survey=survey),
            *nothing_left(entries, numbers, host, survey),
        )


def put_back(
    journal: Journal, host: Host, entries: Collection[Entry], chosen: Collection[Entry],
    *, force: bool = False, state: str = "undone", survey: Survey | None = None,
) -> tuple[Result, ...]:  # fmt: skip
    """Take back `chosen` of all `entries` and say so in the journal, newest first.

    A setting that several of them changed in turn is written once: its first old value.
    """
    survey = survey or Survey()
    results = []
    known = {e.id: e for e in entries}
    for entry in sorted(chosen, key=lambda e: -e.id):
        first = chain.base(entry, chosen)
        others = tuple(known.values())
        try:
            result = take_back(
                entry, host, others, force=force, state=state, first=first, survey=survey
            )
        except (OSError, ValueError, LookupError) as error:  # the others all the same
            result = _result(entry, "conflict", because=sentence(error))
        if result.state in (state, "void"):
            result = noted(journal, entry, result)
            event = _event(entry, result)
            known[entry.id] = replace(entry, state=event, last=max(known))
        results.append(result)
    return tuple(results)


def nothing_left(
    entries: Collection[Entry], numbers: Collection[int], host: Host, survey: Survey
) -> tuple[Result, ...]:
    """What is said of entries that were asked for and do not stand any more."""
    return tuple(status.closed(e, host, survey) for e in entries if not e.open and e.id in numbers)


def noted(journal: Journal, entry: Entry, result: Result) -> Result:
    """Say so in the journal; where that cannot be, the others are taken back all the same."""
    try:
        journal.note(entry.id, _event(entry, result), because=result.because)
    except OSError as error:
        why = f"it is so, but the journal could not be completed: {sentence(error)}"
        return replace(result, because=f"{result.because}; {why}" if result.because else why)
    return result


def _event(entry: Entry, result: Result) -> str:
    """The state that the journal gets.

    An undo that is taken back is `reverted` there, whoever did it: `undone` means that it stands.
    """
    return "reverted" if entry.undoes and result.state == "undone" else result.state


def forget(
    journal: Journal,
    numbers: Collection[int] = (),
    *,
    everything: bool = False,
    host: Host | None = None,
) -> tuple[Result, ...]:
    """Close entries and leave the host as it is."""
    results = []
    with journal.lock():
        for entry in journal.entries():
            if entry.open and (everything or entry.id in numbers):
                journal.note(entry.id, "forgotten")
                now = status.shown(entry, host or Host.at())[0]
                because = "it stays as it is; the journal's entry is closed"
                results.append(_result(entry, "unchanged", now, because=because))
    return tuple(results)


@dataclass(frozen=True, slots=True)
class Found:
    """Where an entry's setting is now, and what it shows."""

    address: Address
    now: str
    shell: str


def take_back(
    entry: Entry, host: Host, others: Collection[Entry] = (), *, force: bool, state: str,
    first: Entry | None = None, survey: Survey | None = None,
) -> Result:  # fmt: skip
    """Put one entry's setting back. `others` are the entries of its journal.

    It goes back to the value before `first`, where older changes led to this one.
    """
    to, asked = way_back(first or entry, others)
    found = find(entry, host, others, force=force, to=to, survey=survey)
    if isinstance(found, Result):
        return found
    if never_written(entry, found) and found.now == to:
        return _result(entry, state, found.now, found.shell, status.never(found.now))
    result = _put_back(origins(entry, others), found, host, state, to, asked)
    old = settings.parse(entry.setting).nic
    if found.address.nic != old and not result.because:
        return replace(result, because=f"{old} has the name {found.address.nic} now")
    return result


def find(
    entry: Entry, host: Host, others: Collection[Entry], *, force: bool, to: str,
    survey: Survey | None = None,
) -> Found | Result:  # fmt: skip
    """What is there to be put back to `to`; or why it cannot, or need not, be: nothing is written.

    It shows what the entry left, or what was before it, or `to` already; else it is somebody's.
    """
    try:
        there = target.find(entry, host, survey or Survey(), force=force)
    except LookupError as error:
        return _result(entry, "conflict", because=sentence(error))
    if there.address is None:
        return _result(entry, "void" if there.gone else "conflict", because=there.because)
    address = there.address
    shell = settings.shell(address, to, host.source)
    later = [o.id for o in others if o.open and o.id > entry.id and matching.one_setting(o, entry)]
    if later and not force:
        because = f"changed again by {later[-1]}: undo that first"
        return _result(entry, "conflict", None, shell, because)
    now = look(host, address)
    if now is None:
        return _result(entry, "conflict", because=f"{address} cannot be read now")
    # Killed between the write and its record: what a rounding driver made of it is not known.
    left = (entry.wanted,) if entry.after is None else (entry.after,)
    cut_short = entry.after is None and settings.rounds(address)
    if now not in (entry.before, to, *left) and not force and not cut_short:
        because = f"it shows {now!r}, neither the old {entry.before!r} nor what nettop left"
        return _result(entry, "conflict", now, shell, because)
    return Found(address, now, shell)


def way_back(first: Entry, others: Collection[Entry]) -> tuple[str, str]:
    """What the setting of a change goes back to, and what to ask for where that is another value.

    `others` are the entries of its journal.
    """
    to = _origin(first, first.setting, first.before, others)
    return to, first.asked if to == first.before else ""


def origins(entry: Entry, others: Collection[Entry]) -> Entry:
    """The entry with the side effects to restore. `others` are the entries of its journal."""
    side_effects = {
        key: (None if was is None else _origin(entry, key, was, others), now)
        for key, (was, now) in entry.side_effects.items()
    }
    return replace(entry, side_effects=side_effects)


def _origin(entry: Entry, setting: str, value: str, others: Collection[Entry]) -> str:
    """The value that a setting goes back to, which had `value` before this entry.

    An older change may have moved the setting along to `value`. When that change was taken back
    before this one, its own value from before is still to be put back.
    """
    for other in sorted(others, key=lambda e: -e.id):
        stands = other.undoes and other.state == "undone"  # an undo that was confirmed
        if other.state not in ("undone", "reverted") or stands:
            continue
        if other.id < entry.id <= other.last and matching.one_place(other, entry):
            was, moved = other.side_effects.get(setting, (None, None))
            if was is not None and moved == value:
                value = was
    return value


def never_written(entry: Entry, found: Found) -> bool:
    """Whether an entry whose end was not recorded shows the value of before it."""
    return entry.after is None and found.now == entry.before


def moved(
    entry: Entry, address: Address, host: Host, will: Mapping[str, str] | None = None
) -> tuple[tuple[Address, str], ...]:
    """What moved along with an entry and still is where it moved to, with its old value.

    `will` are values that are written first: where one of them is what it moved to, it counts.
    """
    return tuple(
        (other, was)
        for key, (was, after) in entry.side_effects.items()
        for other in (target.renamed(settings.parse(key), address.nic, entry),)
        if was is not None and _still(host, entry, other, after, will or {})
    )


def _put_back(entry: Entry, found: Found, host: Host, state: str, to: str, asked: str) -> Result:
    """Write the old value, then whatever moved along and still is where it moved to."""
    address, shell = found.address, found.shell
    others = moved(entry, address, host)
    try:
        if found.now != to or (asked and settings.asked(host.source, address) != asked):
            had = carrier(host, address)
            settings.write(host, address, asked or to)
            settle(host, address, had_carrier=had)
        for other, was in others:
            if look(host, other) not in (was, None):
                settings.write(host, other, was)
    except (OSError, ValueError, LookupError) as error:
        return _result(entry, "conflict", look(host, address), shell, sentence(error))
    after = look(host, address)
    if after != to:
        because = f"it was written, but the host shows {after!r}"
        return _result(entry, "conflict", after, shell, because)
    return _result(entry, state, after, shell)


def _still(
    host: Host, entry: Entry, other: Address, after: str | None, will: Mapping[str, str]
) -> bool:
    """Whether a setting that moved along is where it moved to; unknown counts after a crash."""
    if entry.after is None or after is None:
        return True
    return (will.get(str(other)) or look(host, other)) in (after, None)


def _result(
    entry: Entry, state: str, after: str | None = None, shell: str = "", because: str = ""
) -> Result:
    return Result(
        entry.setting, entry.before, entry.wanted, state, entry.id, after, shell or entry.shell,
        because,
    )  # fmt: skip
