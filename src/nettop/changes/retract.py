"""The undo of a user: an undo that may cut the link is guarded, like a change.

An undo can cut the link as well, because users may depend on the new value. So the undo of a risky
change is a change of its own in the journal, which names the entries that it undoes. It is pending:
when it is confirmed, both are closed as undone; otherwise it reverts to the value before the undo,
and the old change stays open.

A change that is still pending is reverted at once, because its guard would do the same; so is one
that is held for a test.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from .. import settings
from ..settings import Host
from . import Change, Result, chain, status, target
from .apply import Terms, make, risky
from .entry import JournaledChange
from .journal import Journal
from .namespaces import Survey
from .plan import look, refused
from .undo import (
    Current,
    find,
    moved,
    never_written,
    noted,
    nothing_left,
    origins,
    put_back,
    way_back,
)


def retract(
    journal: Journal, host: Host, numbers: Collection[int] = (), *, terms: Terms,
    everything: bool = False, force: bool = False,
) -> tuple[Result, ...]:  # fmt: skip
    """Undo the entries of these numbers, or all open ones with `everything`, as `undo` does.

    If one of them is risky, the undo of all entries of its device is pending, as one group. With
    `everything`, an undo that is pending already stays pending.
    """
    survey = Survey()
    with journal.lock():
        entries = journal.entries()
        chosen = [e for e in entries if e.open and (everything or e.id in numbers)]
        undoing = [
            e for e in entries
            if e.undoes and chain.unconfirmed(e) and (everything or e.id not in numbers)
        ]  # fmt: skip
        busy = {number for e in undoing for number in (e.id, *e.undoes)}
        left = [e for e in chosen if e.id not in busy]
        risks = _guarded(left, host, terms) if terms.confirm else []
        plain = [e for e in left if e not in risks]
        results = list(put_back(journal, host, entries, plain, force=force, survey=survey))
        if risks:
            results += _pending(journal, host, risks, terms, survey, force=force)
        waiting = [e for e in undoing if any(one.id in (e.id, *e.undoes) for one in chosen)]
        return (
            *results, *(status.of(e, host, survey) for e in waiting),
            *nothing_left(entries, numbers, host, survey),
        )  # fmt: skip


def _guarded(left: Sequence[JournaledChange], host: Host, terms: Terms) -> list[JournaledChange]:
    """The confirmed entries on interfaces where the undo of one of them may cut the link.

    Entries whose target is not in this namespace are left out, because nothing is written there.
    """
    settled = [e for e in left if not chain.unconfirmed(e) and not e.keeper]
    here = [e for e in settled if _address(e, host) is not None]
    risks = [e for e in here if (address := _address(e, host)) and risky(address, terms.carries)]
    return [e for e in here if any(target.same_device(e, risk) for risk in risks)]


def _address(entry: JournaledChange, host: Host) -> settings.Address | None:
    """The address of the setting in this namespace; None if it is not here. Unknown, as it was."""
    try:
        return target.find(entry, host).address
    except LookupError:
        return None
    except OSError:
        return entry.address


def _pending(
    journal: Journal, host: Host, risks: Sequence[JournaledChange], terms: Terms, survey: Survey,
    *, force: bool,
) -> list[Result]:  # fmt: skip
    """Make one pending change for each setting that these entries changed, newest first."""
    results: list[Result] = []
    changes: list[Change] = []
    entries = journal.entries()
    seen: set[int] = set()
    planned: dict[str, str] = {}  # the values after these changes
    for entry in sorted(risks, key=lambda e: -e.id):
        if entry.id in seen:
            continue
        run = _run(entry, risks, force=force)
        seen |= {e.id for e in run}
        others = [e for e in entries if e.id not in seen]
        to, asked = way_back(run[-1], entries)
        place = find(entry, host, others, force=force, to=to, survey=survey)
        if isinstance(place, Result):
            results.append(noted(journal, entry, place) if place.state == "void" else place)
            continue
        side_effects = _side_effects([origins(e, entries) for e in run], place, host, planned)
        if place.now == to and all(_shows(host, key, value) for key, value in side_effects.items()):
            results += put_back(journal, host, entries, run, force=force, survey=survey)
            continue
        planned |= {str(place.address): to, **side_effects}
        numbers = tuple(e.id for e in run)
        changes.append(
            Change(str(place.address), place.now, to, numbers, tuple(side_effects.items()), asked)
        )  # fmt: skip
    applied: list[Result] = []
    make(changes, host, journal, replace(terms, finding=terms.finding or _finding(risks)), applied)
    why = "not tried: the previous undo failed"
    return [*results, *applied, *(refused(change, why) for change in changes[len(applied) :])]


def _run(
    entry: JournaledChange, risks: Sequence[JournaledChange], *, force: bool
) -> list[JournaledChange]:
    """This entry and the earlier ones of its setting in the same series, newest first."""
    first = chain.base(entry, risks)
    return [
        e for e in sorted(risks, key=lambda e: -e.id)
        if e.id <= entry.id and target.same_setting(e, entry) and (force or e.id >= first.id)
    ]  # fmt: skip


def _side_effects(
    run: Sequence[JournaledChange], place: Current, host: Host, planned: Mapping[str, str]
) -> dict[str, str]:
    """The old values of the side effects of these entries, to be restored with them."""
    values: dict[str, str] = {}
    for entry in run:
        if not never_written(entry, place):
            restored = moved(entry, place.address, host, {**planned, **values})
            values |= {str(address): old for address, old in restored}
    return values


def _shows(host: Host, setting: str, value: str) -> bool:
    return look(host, settings.parse(setting)) in (value, None)


def _finding(risks: Sequence[JournaledChange]) -> str:
    """The common finding of the undone changes; empty if they have several."""
    findings = {e.finding for e in risks}
    return findings.pop() if len(findings) == 1 else ""
