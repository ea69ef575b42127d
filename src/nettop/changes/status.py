"""The status of a change: its state in the journal, and the current value of the host."""

import time
from collections.abc import Collection, Sequence
from dataclasses import replace

from ..files import own
from ..settings import Host
from ..terms.errors import sentence
from . import Result, context, target
from .entry import JournaledChange
from .namespaces import Survey
from .plan import look


def shown(
    entry: JournaledChange, host: Host, survey: Survey | None = None
) -> tuple[str | None, str]:
    """The current value of the setting of an entry; None and the reason if it is unknown."""
    try:
        place = target.find(entry, host, survey)
    except (OSError, LookupError) as error:
        return None, sentence(error)
    if place.address is None:
        return None, place.because
    now = look(host, place.address)
    return now, "" if now is not None else "it cannot be read now"


def of(entry: JournaledChange, host: Host, survey: Survey | None = None) -> Result:
    """The state in the journal, with the current value of the host."""
    return _of(entry, *shown(entry, host, survey))


def _of(entry: JournaledChange, now: str | None, why: str) -> Result:
    before, wanted = entry.before, entry.wanted
    if entry.state == "undone" and entry.undoes:  # reported like an undo without confirmation
        before, wanted = wanted, before
    because = _joined(entry.because, why)
    return Result(
        entry.setting, before, wanted, entry.state, entry.id, now, entry.shell, because,
        entry.deadline,
    )  # fmt: skip


def confirmed(
    entry: JournaledChange,
    others: Collection[JournaledChange],
    host: Host,
    survey: Survey,
    *,
    kept: bool,
    late: bool = False,
) -> Result:
    """The result of a confirmation for an entry, which it `kept` or which was closed before.

    `late`: its time is over, and no guard reverted it.
    """
    now, why = shown(entry, host, survey)
    result = _of(entry, now, why)
    if entry.state == "held":
        because = "it reverts when the nettop that tests it ends, and cannot be confirmed"
        return replace(result, state="refused", because=_joined(because, why))
    if late:
        because = "it was not confirmed in time, and not reverted because its guard has ended or is"
        because += f" stopped: {own.called()} undo {entry.id}"
        return replace(result, state="refused", because=_joined(because, why))
    if entry.state == "begun" and not kept:
        because = "it was interrupted and is not confirmed"
        because += "; it reverts by itself" if entry.due is not None else ""
        return replace(result, state="refused", because=_joined(because, why))
    if entry.state == "reverted":
        return replace(result, because=f"{ended(entry)}: it was not confirmed")
    if not entry.open and not (entry.undoes and entry.state == "undone"):
        because = f"{ended(entry)}: there is nothing to keep"
        return replace(result, state="refused", because=because)
    later = [o.id for o in others if o.open and o.id > entry.id and target.same_setting(o, entry)]
    if later:
        because = f"changed again by {later[-1]}"
        state = "applied" if entry.state == "begun" else entry.state
        return replace(result, state=state, after=entry.after, because=because)
    if entry.state == "begun":
        because = "it was interrupted: whether it was written is not known"
        return replace(result, state="applied", because=_joined(because, why))
    if now is not None and now != entry.after:
        return replace(result, because=f"changed since: it is {now}")
    return result


def closed(entry: JournaledChange, host: Host, survey: Survey) -> Result:
    """The result of an undo for an entry that was closed before."""
    now, _ = shown(entry, host, survey)
    state, because = "unchanged", f"{ended(entry)}: nothing to undo"
    if entry.state == "forgotten":
        state, because = "refused", f"{ended(entry)}: nettop does not undo it any more"
    before = entry.before if now is None else now
    return Result(entry.setting, before, entry.before, state, entry.id, now, "", because)


def late(entries: Sequence[JournaledChange], host: Host) -> tuple[Result, ...]:
    """What guards of this boot reverted after the newest guarded change began."""
    guarded = [e for e in entries if e.armed and context.maybe_this_boot(e.boot)]
    newest = max((e.id for e in guarded), default=0)
    reverted = [e for e in guarded if e.state == "reverted" and e.last >= newest]
    survey = Survey()
    return tuple(confirmed(e, (), host, survey, kept=False) for e in reverted)


def word(state: str) -> str:
    """The word for the state of a change: one that is lost with its target is closed."""
    return {"void": "closed", "forgotten": "closed"}.get(state, state)


def ended(entry: JournaledChange) -> str:
    """State of a closed entry, when and why it was closed."""
    text = word(entry.state) + " by --forget" * (entry.state == "forgotten")
    if entry.ended is not None:
        text += time.strftime(" at %Y-%m-%d %H:%M:%S", time.localtime(entry.ended))
    return f"{text} ({entry.because})" if entry.because else text


def standing(
    entry: JournaledChange,
    host: Host,
    others: Collection[JournaledChange],
    survey: Survey,
) -> tuple[JournaledChange, str]:
    """The entry as it stands now, and what happened to it outside nettop (see `overtaken`).

    An open one whose target is gone is closed, whether or not the journal has that already.
    """
    if not entry.open:
        return entry, ""
    try:
        place = target.find(entry, host, survey)
    except (OSError, LookupError):
        return entry, overtaken(entry, host, others, survey)
    if place.gone:
        return replace(entry, state="void", because=place.because), ""
    return entry, overtaken(entry, host, others, survey)


def overtaken(
    entry: JournaledChange,
    host: Host,
    others: Collection[JournaledChange],
    survey: Survey | None = None,
) -> str:
    """What happened to an open entry outside nettop; empty while the host has the value of nettop.

    `others` are entries of the same journal; with a later one of the same setting it is empty too.
    """
    undoing = [o.id for o in others if o.open and entry.id in o.undoes]
    if undoing:
        return f"change {undoing[-1]} takes it back, once that is confirmed"
    if any(o.open and o.id > entry.id and target.same_setting(o, entry) for o in others):
        return ""
    now, why = shown(entry, host, survey)
    if now is None:
        return why
    if now == (entry.wanted if entry.after is None else entry.after):
        return ""
    if now != entry.before:
        return f"changed since: it is {now}"
    return f"restored since: it is {now} again" if entry.after is not None else never(now)


def never(now: str) -> str:
    """The message for an entry without `end` line while the host has the old value."""
    return f"interrupted: it was never written, or restored since; it is {now}"


def _joined(*words: str) -> str:
    return "; ".join(filter(None, words))
