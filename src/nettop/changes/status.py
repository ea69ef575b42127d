"""What became of a change: what the journal says, and what the host shows now."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace

from ..settings import Host
from ..terms.errors import sentence
from . import Result, context, matching, target
from .journal import Entry
from .namespaces import Survey
from .readback import look


def shown(entry: Entry, host: Host, survey: Survey | None = None) -> tuple[str | None, str]:
    """What the host shows now where the entry's target is; None and the reason when unknown."""
    try:
        found = target.find(entry, host, survey)
    except LookupError as error:
        return None, sentence(error)
    if found.address is None:
        return None, found.because
    now = look(host, found.address)
    return now, "" if now is not None else "it cannot be read now"


def of(entry: Entry, host: Host, survey: Survey | None = None) -> Result:
    """The state that the journal has, with the value that the host shows now."""
    return _of(entry, *shown(entry, host, survey))


def _of(entry: Entry, now: str | None, why: str) -> Result:
    before, wanted = entry.before, entry.wanted
    if entry.state == "undone" and entry.undoes:  # told as an undo that needed no confirmation
        before, wanted = wanted, before
    because = _joined(entry.because, why)
    return Result(
        entry.setting, before, wanted, entry.state, entry.id, now, entry.shell, because,
        entry.deadline,
    )  # fmt: skip


def confirmed(
    entry: Entry, others: Collection[Entry], host: Host, survey: Survey, *, kept: bool
) -> Result:
    """What a confirmation says of an entry; `kept` by this confirmation, or closed before."""
    now, why = shown(entry, host, survey)
    told = _of(entry, now, why)
    if entry.state == "begun" and not kept:
        because = "it was cut short, and is not confirmed"
        because += "; it reverts by itself" if entry.due is not None else ""
        return replace(told, state="refused", because=_joined(because, why))
    if entry.state == "reverted":
        return replace(told, because=_joined(f"{ended(entry)}: it was not confirmed", why))
    if not entry.open and not (entry.undoes and entry.state == "undone"):
        because = f"{ended(entry)}: there is nothing to keep"
        return replace(told, state="refused", because=_joined(because, why))
    later = [o.id for o in others if o.open and o.id > entry.id and matching.one_setting(o, entry)]
    if later:
        because = f"changed again by {later[-1]}"
        state = "applied" if entry.state == "begun" else entry.state
        return replace(told, state=state, after=entry.after, because=because)
    if entry.state == "begun":
        because = "it was cut short: whether it was written is not known"
        return replace(told, state="applied", because=_joined(because, why))
    if now is not None and now != entry.after:
        return replace(told, because=f"changed since: it is {now}")
    return told


def closed(entry: Entry, host: Host, survey: Survey) -> Result:
    """What an undo says of an entry that was closed before."""
    now, why = shown(entry, host, survey)
    state, because = "unchanged", f"{ended(entry)}: nothing to take back"
    if entry.state == "forgotten":
        state, because = "refused", f"{ended(entry)}: nettop does not take it back any more"
    if now is None and entry.state != "void":
        because += f"; {why}"
    before = entry.before if now is None else now
    return Result(entry.setting, before, entry.before, state, entry.id, now, "", because)


def late(entries: Sequence[Entry], host: Host) -> tuple[Result, ...]:
    """What guards reverted in this boot, after the newest change that one of them watched began."""
    watched = [e for e in entries if e.armed and e.boot == context.boot()]
    newest = max((e.id for e in watched), default=0)
    gone = [e for e in watched if e.state == "reverted" and e.last >= newest]
    survey = Survey()
    return tuple(confirmed(e, (), host, survey, kept=False) for e in gone)


def ended(entry: Entry) -> str:
    """What became of a closed entry, when, and why."""
    told = {"void": "closed", "forgotten": "closed by --forget"}.get(entry.state, entry.state)
    if entry.ended is not None:
        told += time.strftime(" at %Y-%m-%d %H:%M:%S", time.localtime(entry.ended))
    return f"{told} ({entry.because})" if entry.because else told


def overtaken(
    entry: Entry, host: Host, others: Collection[Entry], survey: Survey | None = None
) -> str:
    """What became of an open entry without nettop; empty while the host shows what nettop left.

    `others` are entries of the same journal: a later one of the same setting speaks for it.
    """
    undoing = [o.id for o in others if o.open and entry.id in o.undoes]
    if undoing:
        return f"change {undoing[-1]} takes it back, once that is confirmed"
    if any(o.open and o.id > entry.id and matching.one_setting(o, entry) for o in others):
        return ""
    now, why = shown(entry, host, survey)
    if now is None:
        return why
    if now == (entry.wanted if entry.after is None else entry.after):
        return ""
    if now != entry.before:
        return f"changed since: it is {now}"
    return f"put back since: it is {now} again" if entry.after is not None else never(now)


def never(now: str) -> str:
    """An entry whose end was not recorded, while the host shows the old value."""
    return f"cut short: it was never written, or put back since; it is {now}"


def _joined(*words: str) -> str:
    return "; ".join(filter(None, words))
