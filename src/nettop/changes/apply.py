"""Apply changes: refuse what moved, journal, write, re-read, record what is so now."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .. import settings
from ..settings import Address, Host
from ..terms.errors import sentence
from . import Change, Result, chain, context, guard, matching
from .journal import Entry, Journal, since_boot
from .plan import forecast, refused
from .readback import carrier, look, read_side_effects, settle

CONFIRM = 30.0  # seconds a risky change lives without being confirmed
Arm = Callable[[Journal, int, float], None]


@dataclass(frozen=True, slots=True)
class Terms:
    """Under what terms changes are made.

    `confirm` is in seconds: 0 never reverts by itself. `carries` is the interface of this SSH
    session.
    """

    finding: str = ""
    who: str = ""
    confirm: float = CONFIRM
    carries: tuple[str, ...] = ()
    arm: Arm = guard.arm


def risky(address: Address, carries: Sequence[str] = ()) -> bool:
    """Whether it may cut somebody off: the link itself, or anything on the device SSH runs over."""
    nic = getattr(settings.kind(address.kind), "NIC", False)
    return settings.risk(address) == "link" or bool(nic and address.nic in carries)


def apply(
    changes: Sequence[Change], host: Host, journal: Journal, terms: Terms | None = None
) -> tuple[Result, ...]:
    """Make the changes in their order; the first that fails ends it, the rest are refused untried.

    When one of them is risky all of them are pending: they are confirmed, or reverted, together.
    """
    results: list[Result] = []
    try:
        with journal.lock():
            for change in changes:  # not when the time to confirm has begun
                settings.prepare(host, settings.parse(change.setting))
            make(changes, host, journal, terms or Terms(), results)
    except OSError as error:
        missing = changes[len(results)]
        results.append(refused(missing, f"nothing was changed: {sentence(error)}"))
    why = "not tried: the change before it was not done"
    return (*results, *(refused(change, why) for change in changes[len(results) :]))


def make(
    changes: Sequence[Change], host: Host, journal: Journal, terms: Terms, results: list[Result]
) -> None:
    """Make the changes and add to `results` what became of each, to the first that fails.

    Call it locked. What cuts no link is pending too when its setting has an unconfirmed change:
    the base of that one would be lost under it.
    """
    drafts = [_draft(change, host) for change in changes]
    waiting = [_waits(draft, journal) for draft in drafts]
    guarded = any(waiting) or any(
        risky(settings.parse(change.setting), terms.carries) for change in changes
    )
    due = since_boot() + terms.confirm if guarded and terms.confirm else None
    first: Entry | None = None
    for at, planned in enumerate(changes):
        change = _along(planned, first, journal)
        if due is None and (number := waiting[at]):
            why = f"change {number} of it still waits: nettop confirm {number}, or undo {number}"
            results.append(refused(change, why))
            return
        seen = _seen(change, host)
        if seen.state != "planned":
            results.append(so_already(seen, host, journal) if seen.state == "unchanged" else seen)
            if seen.state == "refused":
                return
            continue
        try:
            entry = _begin(change, seen, host, journal, terms, first, due)
        except (ValueError, LookupError) as error:
            results.append(refused(change, sentence(error)))
            return
        if first is None and due is not None:
            try:
                terms.arm(journal, entry.group, due)
            except OSError as error:
                because = f"no guard could be started: {sentence(error)}"
                journal.note(entry.id, "refused", because=because)
                results.append(refused(change, because, entry.id, shell=seen.shell))
                return
            entry = _armed(journal, entry, terms.confirm, drafts[at + 1 :])
            due = entry.due
        first = first or entry
        results.append(_write(change, host, journal, entry))
        if results[-1].state in ("refused", "conflict", "reverted"):
            return


def so_already(seen: Result, host: Host, journal: Journal) -> Result:
    """The result of a change that is so already; told when it is so only until it reverts."""
    change = Change(seen.setting, seen.before, seen.wanted)
    if number := _waits(_draft(change, host), journal):
        because = f"so it is until change {number} reverts: nettop confirm {number} keeps it"
        return replace(seen, because=because)
    return seen


def _waits(draft: Entry, journal: Journal) -> int:
    """The newest change of that setting which is not confirmed yet; 0 when there is none."""
    found = (
        e.id for e in journal.entries() if chain.unconfirmed(e) and matching.one_setting(e, draft)
    )
    return max(found, default=0)


def _along(change: Change, first: Entry | None, journal: Journal) -> Change:
    """The change from the value to which earlier changes of its group moved its setting."""
    for entry in journal.entries() if first else ():
        was, now = entry.side_effects.get(change.setting, (None, None))
        ours = first is not None and entry.open and entry.group == first.group
        if ours and was == change.before and now is not None:
            change = replace(change, before=now)
    return change


def _seen(change: Change, host: Host) -> Result:
    """What is decided before anything is written. An undo writes what has been there before."""
    if not change.undoes:
        return forecast(change, host.source)
    try:
        shell = settings.shell(settings.parse(change.setting), change.after, host.source)
    except (OSError, ValueError, LookupError) as error:
        return refused(change, sentence(error))
    return Result(change.setting, change.before, change.after, "planned", shell=shell)


def _draft(change: Change, host: Host) -> Entry:
    """The change as an entry that has no number yet: where it is made, and on which device."""
    address, here = settings.parse(change.setting), context.netns()
    return Entry(
        0, time.time(), str(address), change.before, change.after, undoes=change.undoes,
        boot=context.boot(), netns=here.inode, netns_name=here.name, netns_cookie=here.cookie,
        identity=settings.identity(host.source, address),
    )  # fmt: skip


def _begin(
    change: Change, seen: Result, host: Host, journal: Journal, terms: Terms,
    first: Entry | None, due: float | None,
) -> Entry:  # fmt: skip
    """The entry on the disk; nothing is written to the host before it."""
    address = settings.parse(change.setting)
    names = dict.fromkeys((*settings.side_effects(host.source, address), *dict(change.also)))
    before = read_side_effects(host, tuple(names))
    return journal.begin(
        replace(
            _draft(change, host), before=seen.before, wanted=seen.wanted,
            who=terms.who or context.who(), finding=terms.finding, shell=seen.shell,
            group=first.group if first else 0,
            deadline=None if due is None else time.time() + due - since_boot(),
            due=due, armed=first is not None and due is not None,
            asked=settings.asked(host.source, address),
            side_effects={key: (was, None) for key, was in before.items()},
        )
    )  # fmt: skip


def _armed(journal: Journal, entry: Entry, confirm: float, others: Sequence[Entry]) -> Entry:
    """The time to confirm begins when the guard waits: on a busy machine it starts slowly.

    It is the time of the whole chain from now on, that of `others` of the group included.
    """
    also = chain.joining(journal.entries(), entry, others)
    due, deadline = since_boot() + confirm, time.time() + confirm
    journal.note(entry.id, "armed", due=due, deadline=deadline, also=also)
    return replace(entry, due=due, deadline=deadline, armed=True)


def _write(change: Change, host: Host, journal: Journal, entry: Entry) -> Result:
    address = settings.parse(entry.setting)
    if entry.due is not None and (since_boot() >= entry.due or not _stands(journal, entry)):
        because = "its time to be confirmed was over before it was written"
        journal.note(entry.id, "refused", because=because)
        return refused(change, because, entry.id, shell=entry.shell)
    because = _ask(change, entry, host)
    if entry.due is not None and not _stands(journal, entry):
        # its guard came first and found nothing to revert
        _quietly(host, address, entry.asked or entry.before)
        late = "it was written after its time to be confirmed: taken back"
        return Result(
            entry.setting, entry.before, entry.wanted, "reverted", entry.id, look(host, address),
            entry.shell, late,
        )  # fmt: skip
    after = look(host, address)
    why = _without_effect(entry, after, because)
    if why:
        if not because:  # acknowledged: take the wish back, so that nothing waits to happen
            _quietly(host, address, entry.asked or entry.before)
        journal.note(entry.id, "refused", because=why)
        return refused(change, why, entry.id, shell=entry.shell, after=look(host, address))
    if after is None and not because:
        because = "it cannot be read back: it is gone, or has another name since"
    effect = "applied" if after == entry.wanted else "rounded"
    if effect == "rounded" and not because:
        because = f"the driver took {after!r}"
    state = "pending" if entry.due is not None else effect
    now = read_side_effects(host, tuple(entry.side_effects))
    moved = {
        key: (was, now[key])
        for key, (was, _) in entry.side_effects.items()
        if now[key] != was and (now[key] is not None or after is not None)
    }
    try:
        journal.note(
            entry.id, "end", state=state, effect=effect, after=after, because=because,
            side_effects=moved,
        )  # fmt: skip
    except OSError as error:
        because = f"{because}; " if because else ""
        because += f"done, but the journal could not be completed: {sentence(error)}"
    if moved:
        also = ", ".join(f"{key} {was} → {is_}" for key, (was, is_) in sorted(moved.items()))
        because = f"{because}; also moved: {also}" if because else f"also moved: {also}"
    if after is None:  # it went, or has another name now: undo finds it
        state = "conflict"
    return Result(
        entry.setting, entry.before, entry.wanted, state, entry.id, after, entry.shell, because,
        entry.deadline,
    )  # fmt: skip


def _ask(change: Change, entry: Entry, host: Host) -> str:
    """Write, and wait for the link; why it could not be written, or nothing."""
    address = settings.parse(entry.setting)
    had = carrier(host, address)
    because = ""
    try:
        settings.write(host, address, change.asked or entry.wanted)
        for key, value in change.also:
            if look(host, settings.parse(key)) not in (value, None):
                settings.write(host, settings.parse(key), value)
    except (OSError, ValueError, LookupError) as error:
        because = sentence(error)
    settle(host, address, had_carrier=had)
    return because


def _without_effect(entry: Entry, after: str | None, because: str) -> str:
    """Why a write was none; empty when the host shows it. An undo is exact, or it is none."""
    if after == entry.before:
        return because or "the kernel accepted it, but nothing changed"
    if entry.undoes and after not in (None, entry.wanted):
        return because or f"it was written, but the host shows {after!r}"
    return ""


def _stands(journal: Journal, entry: Entry) -> bool:
    """Whether the journal still holds it open."""
    return any(e.id == entry.id and e.open for e in journal.entries())


def _quietly(host: Host, address: Address, value: str) -> None:
    try:
        settings.write(host, address, value)
    except (OSError, ValueError, LookupError):
        return
