"""Apply changes: compare, journal, write, read back, record the result."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from .. import settings
from ..files import own
from ..settings import Address, Host
from ..terms.dataclass import dataclass
from ..terms.errors import sentence
from . import Change, Result, arm, chain, context, target
from .entry import JournaledChange
from .journal import Journal, since_boot
from .plan import carrier, forecast, look, read_side_effects, refused, settle

CONFIRM = 30.0  # seconds to confirm a risky change
_SAID = 8  # side effects that are named
Arm = Callable[[Journal, JournaledChange], None]


@dataclass(frozen=True, slots=True)
class Terms:
    """How changes are made.

    `finding` and `who` are for the journal. `keeper` names the process that reverts the changes
    when this one ends. `confirm` is in seconds; with 0 nothing reverts by itself. `carries` are
    the interfaces of this SSH session. `arm` returns when the process that would revert a change
    knows it, so that the change needs no journal any more; OSError if there is none.
    """

    finding: str = ""
    who: str = ""
    keeper: str = ""
    confirm: float = CONFIRM
    carries: tuple[str, ...] = ()
    arm: Arm = arm.arm


def risky(address: Address, carries: Sequence[str] = ()) -> bool:
    """Whether a change may cut a connection: risk `link`, or an interface of this SSH session."""
    return settings.risk(address) == "link" or settings.device(address) in carries


def reverts(addresses: Iterable[Address], carries: Sequence[str], within: str) -> str:
    """That changes revert unless confirmed, and why if their risk does not say so; else empty."""
    risks = [one for one in addresses if risky(one, carries)]
    if not risks:
        return ""
    said = f"reverts {within}"
    if any(settings.risk(one) == "link" for one in risks):
        return said
    return f"{said}: {settings.device(risks[0])} carries this SSH session"


def apply(
    changes: Sequence[Change], host: Host, journal: Journal, terms: Terms | None = None
) -> tuple[Result, ...]:
    """Make the changes in order; after the first failure the rest are refused without a try.

    If one of them is risky, all of them are pending: they are confirmed or reverted together.
    """
    results: list[Result] = []
    try:
        with journal.lock():
            make(changes, host, journal, terms or Terms(), results)
    except OSError as error:
        missing = changes[len(results)]
        results.append(refused(missing, f"nothing was changed: {sentence(error)}"))
    results = _now(results, journal)
    why = "not tried: the previous change failed"
    return (*results, *(refused(change, why) for change in changes[len(results) :]))


def _now(results: Sequence[Result], journal: Journal) -> list[Result]:
    """The results, of which some may have been reverted meanwhile: an overloaded host is slow."""
    try:
        closed = {entry.id: entry.state for entry in journal.entries() if not entry.open}
    except OSError:
        return [*results]
    late = "the time to confirm was over"
    return [
        replace(one, state="reverted", after=one.before, because=late)
        if one.state == "pending" and closed.get(one.id or 0) == "reverted" else one
        for one in results
    ]  # fmt: skip


def make(
    changes: Sequence[Change], host: Host, journal: Journal, terms: Terms, results: list[Result]
) -> None:
    """Make the changes up to the first failure and add the result of each to `results`.

    The caller holds the lock of the journal. A change without risk is pending too if its setting
    has an unconfirmed change: otherwise the value to which that one reverts would be lost.
    """
    drafts = [_draft(change, host) for change in changes]
    waiting = [_unconfirmed(draft, journal) for draft in drafts]
    guarded = any(waiting) or any(risky(change.address, terms.carries) for change in changes)
    due = since_boot() + terms.confirm if guarded and terms.confirm else None
    first: JournaledChange | None = None
    for at, planned in enumerate(changes):
        change = _after_side_effects(planned, first, journal)
        if due is None and (number := waiting[at]):
            why = f"change {number} is not confirmed: "
            why += f"{own.called()} confirm {number}, or {own.called()} undo {number}"
            results.append(refused(change, why))
            return
        expected = _forecast(change, host)
        if expected.state == "unchanged":
            results.append(so_already(expected, host, journal))
            continue
        if expected.state != "planned":
            results.append(expected)
            return
        try:
            entry = _begin(change, expected, host, journal, terms, first, due)
        except (ValueError, LookupError) as error:
            results.append(refused(change, sentence(error)))
            return
        if due is not None or entry.keeper:
            try:
                terms.arm(journal, entry)
            except OSError as error:
                results.append(
                    _refuse(journal, entry, f"nothing would revert it: {sentence(error)}")
                )
                return
        if first is None and due is not None:
            entry = _armed(journal, entry, terms.confirm, drafts[at + 1 :])
            due = entry.due
        first = first or entry
        results.append(_write(change, host, journal, entry))
        if results[-1].state in ("refused", "conflict", "reverted"):
            return


def so_already(unchanged: Result, host: Host, journal: Journal) -> Result:
    """The result of an unneeded change; it says so if an unconfirmed change set that value."""
    change = Change(unchanged.setting, unchanged.before, unchanged.wanted)
    if number := _unconfirmed(_draft(change, host), journal):
        because = f"change {number} set it and reverts unless confirmed: "
        because += f"{own.called()} confirm {number}"
        return replace(unchanged, because=because)
    return unchanged


def _unconfirmed(draft: JournaledChange, journal: Journal) -> int:
    """The number of the newest unconfirmed change of the same setting; 0 if there is none."""
    numbers = (
        e.id for e in journal.entries() if chain.unconfirmed(e) and target.same_setting(e, draft)
    )
    return max(numbers, default=0)


def _after_side_effects(change: Change, first: JournaledChange | None, journal: Journal) -> Change:
    """The change, from the value that earlier changes of its group gave to its setting."""
    for entry in journal.entries() if first else ():
        was, now = entry.side_effects.get(change.setting, (None, None))
        ours = first is not None and entry.open and entry.group == first.group
        if ours and was == change.before and now is not None:
            change = replace(change, before=now)
    return change


def _forecast(change: Change, host: Host) -> Result:
    """The decision before the write. An undo is not checked: the host had this value before."""
    if not change.undoes:
        return forecast(change, host.source)
    try:
        shell = settings.shell(change.address, change.after, host.source)
    except (OSError, ValueError, LookupError) as error:
        return refused(change, sentence(error))
    return Result(change.setting, change.before, change.after, "planned", shell=shell)


def _draft(change: Change, host: Host) -> JournaledChange:
    """The change as an entry without a number, with boot, namespace and device."""
    address, netns = change.address, context.netns()
    return JournaledChange(
        0, time.time(), str(address), change.before, change.after, undoes=change.undoes,
        boot=context.boot(), netns=netns.inode, netns_name=netns.name, netns_cookie=netns.cookie,
        identity=settings.identity(host.source, address),
    )  # fmt: skip


def _begin(
    change: Change, expected: Result, host: Host, journal: Journal, terms: Terms,
    first: JournaledChange | None, due: float | None,
) -> JournaledChange:  # fmt: skip
    """Write the entry of the change to disk, before any write to the host."""
    address = change.address
    names = dict.fromkeys((*settings.side_effects(host.source, address), *dict(change.also)))
    before = read_side_effects(host, tuple(names))
    return journal.begin(
        replace(
            _draft(change, host), before=expected.before, wanted=expected.wanted,
            who=terms.who or context.user(), finding=terms.finding, shell=expected.shell,
            keeper=terms.keeper,
            group=first.group if first else 0,
            deadline=None if due is None else time.time() + due - since_boot(),
            due=due, armed=first is not None and due is not None,
            asked=settings.asked(host.source, address),
            side_effects={key: (value, None) for key, value in before.items()},
            devices=target.devices(host, address, names),
        )
    )  # fmt: skip


def _armed(
    journal: Journal, entry: JournaledChange, confirm: float, others: Sequence[JournaledChange]
) -> JournaledChange:
    """Start the time to confirm now, when the guard runs: on a busy host it starts slowly.

    It applies to the whole chain, with the `others` of the group.
    """
    also = chain.joining(journal.entries(), entry, others)
    due, deadline = since_boot() + confirm, time.time() + confirm
    journal.note(entry.id, "armed", due=due, deadline=deadline, also=also)
    return replace(entry, due=due, deadline=deadline, armed=True)


def _write(change: Change, host: Host, journal: Journal, entry: JournaledChange) -> Result:
    if because := _withdrawn(journal, entry) or _replaced(host, entry):
        return _refuse(journal, entry, because)
    because = _write_all(change, entry, host)
    if other := _replaced(host, entry):
        return _mistaken(host, journal, entry, other)
    try:
        late = _withdrawn(journal, entry)
    except OSError:  # unknown; what reverts it needs no journal
        late = ""
    if late:  # what reverts it may have come before the write, and had nothing to revert
        return _taken_back(host, entry, late)
    return _read_back(host, journal, entry, because)


def _read_back(host: Host, journal: Journal, entry: JournaledChange, because: str) -> Result:
    """Record what the host shows after a write; `because` is the error of the write."""
    address = entry.address
    after = look(host, address)
    why = _without_effect(entry, after, because)
    if why:
        if not because:  # accepted: withdraw the request, so that it takes no effect later
            _quietly(host, address, entry.asked or entry.before)
        return _refuse(journal, entry, why, look(host, address))
    if after is None and not because:
        because = "it cannot be read back: the device is gone or renamed"
    effect = "applied" if after == entry.wanted else "rounded"
    if effect == "rounded" and not because:
        because = f"the driver took {after!r}"
    state = "pending" if entry.due is not None else effect
    now = read_side_effects(host, tuple(entry.side_effects))
    moved = {
        key: (old, now[key])
        for key, (old, _) in entry.side_effects.items()
        if now[key] != old and (now[key] is not None or after is not None)
    }
    # also what did not move: the write of an undo may move it
    still = {k: (v, v) for k, (v, _) in entry.side_effects.items() if v is not None and now[k] == v}
    both = {key: (still | moved)[key] for key in entry.side_effects if key in still or key in moved}
    try:
        journal.note(
            entry.id, "end", state="held" if entry.keeper else state, effect=effect, after=after,
            because=because, side_effects=both,
        )  # fmt: skip
    except OSError as error:
        why = f"the journal could not be completed: {sentence(error)}"
        if entry.due is not None or entry.keeper:  # it could not be confirmed
            return _taken_back(host, entry, why)
        because = f"{because}; done, but {why}" if because else f"done, but {why}"
    if moved:
        also = ", ".join(
            f"{key} {old} → {new}" for key, (old, new) in sorted(moved.items())[:_SAID]
        )
        also += f" and {len(moved) - _SAID:,} more" if len(moved) > _SAID else ""
        because = f"{because}; also moved: {also}" if because else f"also moved: {also}"
    if after is None:  # gone or renamed: undo finds it
        state = "conflict"
    return Result(
        entry.setting, entry.before, entry.wanted, state, entry.id, after, entry.shell, because,
        entry.deadline,
    )  # fmt: skip


def _write_all(change: Change, entry: JournaledChange, host: Host) -> str:
    """Write the value and the side effects, wait for the link; the error of the write, or empty."""
    address = entry.address
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


def _without_effect(entry: JournaledChange, after: str | None, because: str) -> str:
    """Why a write had no effect; empty if it had one. An undo must restore the exact value."""
    if after == entry.before:
        return because or "the kernel accepted it, but nothing changed"
    if entry.undoes and after not in (None, entry.wanted):
        return because or f"it was written, but the host shows {after!r}"
    return ""


def _refuse(
    journal: Journal, entry: JournaledChange, because: str, after: str | None = None
) -> Result:
    """Close an entry of a change that was not made, or had no effect."""
    journal.note(entry.id, "refused", because=because)
    return _ended(entry, "refused", after, because)


def _taken_back(host: Host, entry: JournaledChange, why: str) -> Result:
    """Write the old value again, because the change may not stay."""
    _quietly(host, entry.address, entry.asked or entry.before)
    after = look(host, entry.address)
    if after == entry.before:
        return _ended(entry, "reverted", after, f"{why}: reverted")
    return _ended(entry, "conflict", after, f"{why}, and what reverts it tries again")


def _mistaken(host: Host, journal: Journal, entry: JournaledChange, other: str) -> Result:
    """Close an entry whose value went to another target; that one gets the old value again."""
    _quietly(host, entry.address, entry.asked or entry.before)
    after = look(host, entry.address)
    because = f"{other} during the write, and has {after} now"
    with suppress(OSError):
        journal.note(entry.id, "void", because=because)
    return _ended(entry, "conflict", after, because)


def _ended(entry: JournaledChange, state: str, after: str | None, because: str) -> Result:
    return Result(
        entry.setting, entry.before, entry.wanted, state, entry.id, after, entry.shell, because
    )


def _replaced(host: Host, entry: JournaledChange) -> str:
    """That another target has the name of that of an entry now; empty if it is the same."""
    if not entry.identity:
        return ""
    try:
        now = settings.identity(host.source, entry.address)
    except (OSError, ValueError, LookupError):  # the write tells it
        return ""
    if not now or settings.same(entry.identity, now):
        return ""
    return f"another {settings.device(entry.address) or entry.address.target} took its place"


def _withdrawn(journal: Journal, entry: JournaledChange) -> str:
    """Why a change that something reverts must not be in place any more; empty if it may."""
    if entry.due is None and not entry.keeper:
        return ""
    found = next((e for e in journal.entries() if (e.id, e.at) == (entry.id, entry.at)), None)
    if found is None:
        return "the journal was removed, emptied or replaced during the change"
    if entry.due is not None and (since_boot() >= entry.due or not found.open):
        return "the time to confirm was over"
    return "" if found.open else "nettop was stopped for too long"


def _quietly(host: Host, address: Address, value: str) -> None:
    try:
        settings.write(host, address, value)
    except (OSError, ValueError, LookupError):
        return
