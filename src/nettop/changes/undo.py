"""Undo: restore the values before the changes of nettop, but not over changes of others."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from .. import settings
from ..settings import Address, Host
from ..terms.dataclass import dataclass
from ..terms.errors import sentence
from . import Result, chain, status, target
from .entry import JournaledChange
from .journal import Book
from .namespaces import Namespace, Survey, alone, inside
from .plan import carrier, current, look, settle


def undo(
    journal: Book,
    host: Host,
    numbers: Collection[int] = (),
    *,
    everything: bool = False,
    force: bool = False,
) -> tuple[Result, ...]:
    """Undo the entries of these numbers, or all open ones with `everything`, newest first.

    A setting with the value that nettop left is restored; with the old value there is nothing to
    do; any other value is a conflict and stays, unless `force`. Safe to repeat after a crash.
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
    journal: Book, host: Host, entries: Collection[JournaledChange],
    chosen: Collection[JournaledChange], *, force: bool = False, state: str = "undone",
    survey: Survey | None = None, follow: bool = False,
) -> tuple[Result, ...]:  # fmt: skip
    """Revert `chosen` of all `entries` and record it in the journal, newest first.

    A setting that several of them changed in turn is written once, with its first old value.
    With `follow`, also on a device that is in another network namespace now, for a process that
    needs no file of nettop.
    """
    survey = survey or Survey(alone if follow else None)
    results = []
    known = {e.id: e for e in entries}
    for entry in sorted(chosen, key=lambda e: -e.id):
        others = tuple(known.values())
        series = chain.series(entry, chosen)
        try:
            space = target.find(entry, host, survey).space if follow else None
            if space is not None:
                result = _followed(space, entry, others, state, series)
            else:
                result = take_back(
                    entry, host, others, force=force, state=state, series=series, survey=survey
                )
        except Exception as error:
            result = _result(entry, "conflict", because=sentence(error))
        if result.state in (state, "void"):
            result = noted(journal, entry, result)
            event = _event(entry, result)
            known[entry.id] = replace(entry, state=event, last=max(known))
        results.append(result)
    return tuple(results)


def _followed(
    space: Namespace, entry: JournaledChange, others: Collection[JournaledChange], state: str,
    series: Sequence[JournaledChange],
) -> Result:  # fmt: skip
    """`take_back` in the network namespace where the device is now."""

    def there() -> dict[str, Any]:
        return asdict(take_back(entry, Host.at(), others, force=False, state=state, series=series))

    found = inside([space.path], there)
    if space.path not in found:
        because = f"its device is in {space.called}, which cannot be entered"
        return _result(entry, "conflict", because=because)
    result = Result(**found[space.path])
    moved = f"its device is in {space.called} now"
    return replace(result, because="; ".join(filter(None, (moved, result.because))))


def nothing_left(
    entries: Collection[JournaledChange], numbers: Collection[int], host: Host, survey: Survey
) -> tuple[Result, ...]:
    """The results for those of these numbers that are closed already."""
    return tuple(status.closed(e, host, survey) for e in entries if not e.open and e.id in numbers)


def noted(journal: Book, entry: JournaledChange, result: Result) -> Result:
    """Record a result in the journal; the result names an error, so that the others go on."""
    try:
        journal.note(entry.id, _event(entry, result), because=result.because)
    except OSError as error:
        why = f"done, but the journal could not be completed: {sentence(error)}"
        return replace(result, because=f"{result.because}; {why}" if result.because else why)
    return result


def _event(entry: JournaledChange, result: Result) -> str:
    """The event for the journal.

    A reverted undo is always `reverted` there, because `undone` means that an undo is in force.
    """
    return "reverted" if entry.undoes and result.state == "undone" else result.state


def forget(
    journal: Book,
    numbers: Collection[int] = (),
    *,
    everything: bool = False,
    host: Host | None = None,
) -> tuple[Result, ...]:
    """Close entries of these numbers, or all open ones; the host stays as it is."""
    results = []
    with journal.lock():
        for entry in journal.entries():
            if entry.open and (everything or entry.id in numbers):
                journal.note(entry.id, "forgotten")
                now = status.shown(entry, host or Host.at())[0]
                because = "the host stays as it is; the journal entry is closed"
                results.append(_result(entry, "unchanged", now, because=because))
    return tuple(results)


@dataclass(frozen=True, slots=True)
class Current:
    """The current address of the setting of an entry, its value, and the command to restore it."""

    address: Address
    now: str
    shell: str


def take_back(
    entry: JournaledChange, host: Host, others: Collection[JournaledChange] = (), *, force: bool,
    state: str, series: Sequence[JournaledChange] = (), survey: Survey | None = None,
) -> Result:  # fmt: skip
    """Restore the setting of one entry. `others` are the entries of its journal.

    With the `series` of changes that led to it (newest first), the setting and its side effects
    return to their values before the first of them.
    """
    series = series or (entry,)
    to, asked = way_back(series[-1], others)
    place = find(entry, host, others, force=force, to=to, survey=survey)
    if isinstance(place, Result):
        return place
    if never_written(entry, place) and place.now == to:
        return _result(entry, state, place.now, place.shell, status.never(place.now))
    result = _write(origins(_before(series), others), place, host, state, to, asked)
    old, nic = settings.device(entry.address), settings.device(place.address)
    if nic != old and not result.because:
        return replace(result, because=f"{old} has the name {nic} now")
    return result


def find(
    entry: JournaledChange, host: Host, others: Collection[JournaledChange], *, force: bool,
    to: str, survey: Survey | None = None,
) -> Current | Result:  # fmt: skip
    """The setting to restore to `to`; or the result that says why nothing is written there.

    The current value must be the one that the entry left, the one before it, or `to`; any other
    value is a change of another program.
    """
    try:
        located = target.find(entry, host, survey or Survey(), force=force)
    except (OSError, LookupError) as error:
        return _result(entry, "conflict", because=sentence(error))
    if located.address is None:
        return _result(entry, "void" if located.gone else "conflict", because=located.because)
    address = located.address
    shell = settings.shell(address, to, host.source)
    later = [o.id for o in others if o.open and o.id > entry.id and target.same_setting(o, entry)]
    if later and not force:
        because = f"changed again by {later[-1]}: undo that first"
        return _result(entry, "conflict", None, shell, because)
    now = look(host, address)
    if now is None:
        return _result(entry, "conflict", because=f"{address} cannot be read now")
    # without an `end` line, the value that a rounding driver chose is unknown
    left = (entry.wanted,) if entry.after is None else (entry.after,)
    cut_short = entry.after is None and settings.rounds(address)
    if now not in (entry.before, to, *left) and not force and not cut_short:
        because = f"it shows {now!r}, neither the old {entry.before!r} nor what nettop left"
        return _result(entry, "conflict", now, shell, because)
    return Current(address, now, shell)


def way_back(first: JournaledChange, others: Collection[JournaledChange]) -> tuple[str, str]:
    """The value to which a change reverts, and the text to write if that is another one.

    `others` are the entries of its journal.
    """
    to = _origin(first, first.setting, first.before, others)
    return to, first.asked if to == first.before else ""


def _before(series: Sequence[JournaledChange]) -> JournaledChange:
    """The newest entry of a series, with its side effects as they were before the oldest one.

    A value in between may be impossible with the first value of the setting: the kernel accepts no
    IPv6 MTU of 9000 on an interface that has an MTU of 1500 again.
    """
    newest, *older = series
    side_effects = dict(newest.side_effects)
    for entry in older:
        for key, (was, now) in side_effects.items():
            old, new = target.side_effect(entry, key, newest)
            if old is not None and new in (was, None):
                side_effects[key] = (old, now)
    return replace(newest, side_effects=side_effects)


def origins(entry: JournaledChange, others: Collection[JournaledChange]) -> JournaledChange:
    """The entry with the side effects to restore. `others` are the entries of its journal."""
    side_effects = {
        key: (None if was is None else _origin(entry, key, was, others), now)
        for key, (was, now) in entry.side_effects.items()
    }
    return replace(entry, side_effects=side_effects)


def _origin(
    entry: JournaledChange, setting: str, value: str, others: Collection[JournaledChange]
) -> str:
    """The value to which a setting reverts that had `value` before this entry.

    `value` may be the side effect of an older change. If that change was reverted before this one,
    the value before its side effect is still to be restored.
    """
    for other in sorted(others, key=lambda e: -e.id):
        in_force = other.undoes and other.state == "undone"  # a confirmed undo
        if other.state not in ("undone", "reverted") or in_force:
            continue
        if other.id < entry.id <= other.last and target.same_namespace(other, entry):
            old, new = target.side_effect(other, setting, entry)
            if old is not None and new == value:
                value = old
    return value


def never_written(entry: JournaledChange, place: Current) -> bool:
    """Whether an entry without `end` line still has its old value."""
    return entry.after is None and place.now == entry.before


def moved(
    entry: JournaledChange, address: Address, host: Host, planned: Mapping[str, str] | None = None
) -> tuple[tuple[Address, str], ...]:
    """The side effects of an entry that are still in place, with their old values.

    `planned` are values that will be written first; they count as current values.
    """
    return tuple(
        (other, old)
        for key, (old, new) in entry.side_effects.items()
        for other in (target.beside(settings.parse(key), settings.device(address), entry, host),)
        if old is not None
        and other is not None
        and _in_place(host, entry, other, new, planned or {})
    )


def _write(
    entry: JournaledChange, place: Current, host: Host, state: str, to: str, asked: str
) -> Result:
    """Write the old value, then those of the side effects that are still in place.

    Whatever is wrong with a side effect, the old value is written.
    """
    address, shell = place.address, place.shell
    others: tuple[tuple[Address, str], ...] = ()
    wrong = ""
    try:
        others = moved(entry, address, host)
    except Exception as error:
        wrong = f"what changed with it is not restored: {sentence(error)}"
    try:
        if place.now != to or (asked and settings.asked(host.source, address) != asked):
            had = carrier(host, address)
            settings.write(host, address, asked or to)
            settle(host, address, had_carrier=had)
    except (OSError, ValueError, LookupError) as error:
        return _result(entry, "conflict", look(host, address), shell, sentence(error))
    for other, old in others:
        try:
            if current(host, other) not in (old, None):
                settings.write(host, other, old)
        except Exception as error:
            wrong = wrong or f"{other} is not {old} again: {sentence(error)}"
    after = look(host, address)
    if after != to:
        because = f"it was written, but the host shows {after!r}"
        return _result(entry, "conflict", after, shell, because)
    return _result(entry, "conflict" if wrong else state, after, shell, wrong)


def _in_place(
    host: Host,
    entry: JournaledChange,
    other: Address,
    after: str | None,
    planned: Mapping[str, str],
) -> bool:
    """Whether a side effect is still in place; after a crash an unknown one counts."""
    if entry.after is None or after is None:
        return True
    return (planned.get(str(other)) or look(host, other)) in (after, None)


def _result(
    entry: JournaledChange, state: str, after: str | None = None, shell: str = "", because: str = ""
) -> Result:
    return Result(
        entry.setting, entry.before, entry.wanted, state, entry.id, after, shell or entry.shell,
        because,
    )  # fmt: skip
