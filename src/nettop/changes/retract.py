"""Undo as a person asks for it: what may cut the link is undone under guard, like a change.

Going back can cut the link as well: somebody may have come to depend on the new value. So the undo
of a risky change is a change of its own in the journal, which names what it undoes. It is pending:
once it is confirmed, both are closed as undone; else it goes back to the value that was undone,
and that change stands as before.

A change that still waits itself is taken back at once: its guard would do the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from .. import settings
from ..settings import Host
from . import Change, Result, chain, matching, status, target
from .apply import Terms, make, risky
from .journal import Entry, Journal
from .namespaces import Survey
from .plan import refused
from .readback import look
from .undo import (
    Found,
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
    """Take back the entries of these numbers (or all that stand), as `undo` does.

    When one of them is risky, all those of its device are pending, as one group. With `everything`
    an undo that is pending already stays so.
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
        for entry in risks:
            settings.prepare(host, settings.parse(entry.setting))
        plain = [e for e in left if e not in risks]
        results = list(put_back(journal, host, entries, plain, force=force, survey=survey))
        if risks:
            results += _pending(journal, host, risks, terms, survey, force=force)
        waiting = [e for e in undoing if any(one.id in (e.id, *e.undoes) for one in chosen)]
        return (
            *results, *(status.of(e, host, survey) for e in waiting),
            *nothing_left(entries, numbers, host, survey),
        )  # fmt: skip


def _guarded(left: Sequence[Entry], host: Host, terms: Terms) -> list[Entry]:
    """The confirmed entries on interfaces where the undo of one of them may cut the link.

    What is not here is left out: nothing is written to it.
    """
    here = [e for e in left if not chain.unconfirmed(e) and _address(e, host) is not None]
    risks = [e for e in here if (found := _address(e, host)) and risky(found, terms.carries)]
    return [e for e in here if any(matching.one_device(e, risk) for risk in risks)]


def _address(entry: Entry, host: Host) -> settings.Address | None:
    """Where its setting is now, in this namespace."""
    try:
        return target.find(entry, host).address
    except LookupError:
        return None


def _pending(
    journal: Journal, host: Host, risks: Sequence[Entry], terms: Terms, survey: Survey,
    *, force: bool,
) -> list[Result]:  # fmt: skip
    """One pending change for each setting that these entries changed; newest first."""
    results: list[Result] = []
    changes: list[Change] = []
    entries = journal.entries()
    seen: set[int] = set()
    will: dict[str, str] = {}  # what the settings show once these changes are made
    for entry in sorted(risks, key=lambda e: -e.id):
        if entry.id in seen:
            continue
        run = _run(entry, risks, force=force)
        seen |= {e.id for e in run}
        others = [e for e in entries if e.id not in seen]
        to, asked = way_back(run[-1], entries)
        found = find(entry, host, others, force=force, to=to, survey=survey)
        if isinstance(found, Result):
            results.append(noted(journal, entry, found) if found.state == "void" else found)
            continue
        side_effects = _side_effects([origins(e, entries) for e in run], found, host, will)
        if found.now == to and all(_shows(host, key, was) for key, was in side_effects.items()):
            results += put_back(journal, host, entries, run, force=force, survey=survey)
            continue
        will |= {str(found.address): to, **side_effects}
        numbers = tuple(e.id for e in run)
        changes.append(
            Change(str(found.address), found.now, to, numbers, tuple(side_effects.items()), asked)
        )  # fmt: skip
    made: list[Result] = []
    make(changes, host, journal, replace(terms, finding=terms.finding or _finding(risks)), made)
    why = "not tried: the one before it was not undone"
    return [*results, *made, *(refused(change, why) for change in changes[len(made) :])]


def _run(entry: Entry, risks: Sequence[Entry], *, force: bool) -> list[Entry]:
    """This entry and those of its setting that led to it, newest first."""
    first = chain.base(entry, risks)
    return [
        e for e in sorted(risks, key=lambda e: -e.id)
        if e.id <= entry.id and matching.one_setting(e, entry) and (force or e.id >= first.id)
    ]  # fmt: skip


def _side_effects(
    run: Sequence[Entry], found: Found, host: Host, will: Mapping[str, str]
) -> dict[str, str]:
    """What moved along with these entries, newest first, and goes back with them."""
    back: dict[str, str] = {}
    for entry in run:
        if not never_written(entry, found):
            also = moved(entry, found.address, host, {**will, **back})
            back |= {str(one): was for one, was in also}
    return back


def _shows(host: Host, setting: str, value: str) -> bool:
    return look(host, settings.parse(setting)) in (value, None)


def _finding(risks: Sequence[Entry]) -> str:
    """What the undone changes answered, where it is one thing."""
    found = {e.finding for e in risks}
    return found.pop() if len(found) == 1 else ""
