"""Apply changes: refuse what moved, journal, write, re-read, record what is so now."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .. import settings
from ..settings import Address, Host
from . import Change, Result, guard, place
from .journal import Entry, Journal, since_boot
from .plan import forecast, refused, sentence
from .settle import carrier, look, look_beside, settle

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
    terms = terms or Terms()
    results: list[Result] = []
    try:
        with journal.lock():
            for change in changes:  # not when the time to confirm has begun
                settings.prepare(host, settings.parse(change.setting))
            group = 0
            due: float | None = None
            for at, change in enumerate(changes):
                address = settings.parse(change.setting)
                left = changes[at:]
                if due is None and any(
                    risky(settings.parse(c.setting), terms.carries) for c in left
                ):
                    due = since_boot() + terms.confirm if terms.confirm else None
                made = _one(address, change, host, journal, terms, group, due)
                results.append(made)
                if due is not None and not group and made.id is not None:
                    due = next((e.due for e in journal.entries() if e.id == made.id), due)
                group = group or (made.id or 0)
                if made.state in ("refused", "conflict"):
                    break
    except OSError as error:
        missing = changes[len(results)]
        results.append(refused(missing, f"nothing was changed: {sentence(error)}"))
    why = "not tried: the change before it was not done"
    return (*results, *(refused(change, why) for change in changes[len(results) :]))


def _one(
    address: Address, change: Change, host: Host, journal: Journal, terms: Terms,
    group: int, due: float | None,
) -> Result:  # fmt: skip
    """One change, from the check to the record."""
    seen = forecast(change, host.source)
    if seen.state != "planned":
        return seen
    now, value, shell = seen.before, seen.wanted, seen.shell
    try:
        names = settings.beside(host.source, address)
    except (OSError, ValueError, LookupError) as error:
        return refused(change, sentence(error))
    before = look_beside(host, names)
    inode, name = place.netns()
    entry = journal.begin(
        Entry(
            0, time.time(), str(address), now, value, who=terms.who or place.who(),
            finding=terms.finding, shell=shell, group=group, boot=place.boot(),
            deadline=None if due is None else time.time() + due - since_boot(), due=due,
            netns=inode, netns_name=name, identity=settings.identity(host.source, address),
            beside={key: (was, None) for key, was in before.items()},
        )
    )  # fmt: skip
    if due is not None and not group:
        try:
            terms.arm(journal, entry.group, due)
        except OSError as error:
            because = f"no guard could be started: {sentence(error)}"
            journal.note(entry.id, "refused", because=because)
            return refused(change, because, entry.id, shell=shell)
        entry = _armed(journal, entry, terms.confirm)
    return _write(address, change, host, journal, entry)


def _armed(journal: Journal, entry: Entry, confirm: float) -> Entry:
    """The time to confirm begins when the guard waits: on a busy machine it starts slowly."""
    due, deadline = since_boot() + confirm, time.time() + confirm
    journal.note(entry.id, "armed", due=due, deadline=deadline)
    return replace(entry, due=due, deadline=deadline, armed=True)


def _write(address: Address, change: Change, host: Host, journal: Journal, entry: Entry) -> Result:
    if entry.due is not None and since_boot() >= entry.due:
        because = "its time to be confirmed was over before it was written"
        journal.note(entry.id, "refused", because=because)
        return refused(change, because, entry.id, shell=entry.shell)
    had = carrier(host, address)
    because = ""
    try:
        settings.write(host, address, entry.wanted)
    except (OSError, ValueError, LookupError) as error:
        because = sentence(error)
    settle(host, address, had_carrier=had)
    if entry.due is not None and since_boot() >= entry.due and not _stands(journal, entry):
        _quietly(host, address, entry.before)  # its guard came first and found nothing to revert
        late = "it was written after its time to be confirmed: taken back"
        return Result(
            entry.setting, entry.before, entry.wanted, "reverted", entry.id, look(host, address),
            entry.shell, late,
        )  # fmt: skip
    after = look(host, address)
    if after == entry.before:
        # Acknowledged and yet nothing shows: take the wish back, so that nothing waits to happen.
        if not because:
            because = "the kernel accepted it, but nothing changed"
            _quietly(host, address, entry.before)
        journal.note(entry.id, "refused", because=because)
        return refused(change, because, entry.id, shell=entry.shell, after=after)
    if after is None and not because:
        because = "it cannot be read back: it is gone, or has another name since"
    effect = "applied" if after == entry.wanted else "rounded"
    if effect == "rounded" and not because:
        because = f"the driver took {after!r}"
    state = "pending" if entry.due is not None else effect
    now = look_beside(host, tuple(entry.beside))
    moved = {
        key: (was, now[key])
        for key, (was, _) in entry.beside.items()
        if now[key] != was and (now[key] is not None or after is not None)
    }
    try:
        journal.note(
            entry.id, "end", state=state, effect=effect, after=after, because=because,
            beside=moved,
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


def _stands(journal: Journal, entry: Entry) -> bool:
    """Whether the journal still holds it open."""
    return any(e.id == entry.id and e.open for e in journal.entries())


def _quietly(host: Host, address: Address, value: str) -> None:
    try:
        settings.write(host, address, value)
    except (OSError, ValueError, LookupError):
        return
