"""Undo: put back exactly what nettop changed, and nothing that others changed since."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from .. import settings
from ..settings import Address, Host
from . import Result, chain, place
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
) -> tuple[Result, ...]:
    """Take back the entries of these numbers (or all that are open), newest first.

    For each: shows it what we left, it is put back; shows it the old value, nothing is to do;
    anything else is a conflict and stays untouched, unless `force`. Safe to repeat after a crash
    at any point.
    """
    with journal.lock():
        entries = journal.entries()
        chosen = [e for e in entries if e.open and (everything or e.id in numbers)]
        return (
            *put_back(journal, host, entries, chosen, force=force),
            *nothing_left(entries, numbers),
        )


def put_back(
    journal: Journal, host: Host, entries: Collection[Entry], chosen: Collection[Entry],
    *, force: bool = False, state: str = "undone",
) -> tuple[Result, ...]:  # fmt: skip
    """Take back `chosen` of all `entries` and say so in the journal, newest first.

    A setting that several of them changed in turn is written once: its first old value.
    """
    results = []
    left = {e.id: e for e in entries if e.open}
    for entry in sorted(chosen, key=lambda e: -e.id):
        first = chain.base(entry, chosen)
        try:
            result = take_back(
                entry, host, tuple(left.values()), force=force, state=state, to=first.before
            )
        except (OSError, ValueError, LookupError) as error:  # the others all the same
            result = _result(entry, "conflict", because=sentence(error))
        if result.state in (state, "void"):
            result = noted(journal, entry, result)
            left.pop(entry.id, None)
        results.append(result)
    return tuple(results)


def nothing_left(entries: Collection[Entry], numbers: Collection[int]) -> tuple[Result, ...]:
    """What is said of entries that were asked for and do not stand any more."""
    return tuple(
        _result(e, e.state, because="nothing to take back")
        for e in entries
        if not e.open and e.id in numbers
    )


def noted(journal: Journal, entry: Entry, result: Result) -> Result:
    """Say so in the journal; where that cannot be, the others are taken back all the same.

    An undo that is taken back is `reverted` there, whoever did it: `undone` means that it stands.
    """
    event = "reverted" if entry.undoes and result.state == "undone" else result.state
    try:
        journal.note(entry.id, event, because=result.because, back=result.after)
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
    later = [o for o in others if o.open and o.setting == entry.setting and o.id > entry.id]
    undoing = [o.id for o in later if entry.id in o.undoes]
    if undoing:
        return f"change {undoing[-1]} takes it back, once that is confirmed"
    if later:
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


@dataclass(frozen=True, slots=True)
class Found:
    """Where an entry's setting is now, and what it shows."""

    address: Address
    now: str
    shell: str


def take_back(
    entry: Entry, host: Host, others: Collection[Entry] = (), *, force: bool, state: str,
    to: str | None = None,
) -> Result:  # fmt: skip
    """Put one entry's setting back. `others` are the entries that still stand.

    `to` is the value to write, where it is an older one than that before the entry.
    """
    to = entry.before if to is None else to
    found = find(entry, host, others, force=force, to=to)
    return found if isinstance(found, Result) else _put_back(entry, found, host, state, to)


def find(
    entry: Entry, host: Host, others: Collection[Entry], *, force: bool, to: str
) -> Found | Result:
    """What is there to be put back to `to`; or why it cannot, or need not, be: nothing is written.

    It shows what the entry left, or what was before it, or `to` already; else it is somebody's.
    """
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
    shell = settings.shell(address, to, host.source)
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
    if now not in (entry.before, to, *left) and not force and not cut_short:
        because = f"it shows {now!r}, neither the old {entry.before!r} nor what nettop left"
        return _result(entry, "conflict", now, shell, because)
    return Found(address, now, shell)


def moved(entry: Entry, address: Address, host: Host) -> tuple[tuple[Address, str], ...]:
    """What moved along with an entry and still is where it moved to, with its old value."""
    return tuple(
        (replace_nic(settings.parse(key), address.nic, entry), was)
        for key, (was, is_) in entry.beside.items()
        if was is not None and _still(host, entry, key, is_)
    )


def _put_back(entry: Entry, found: Found, host: Host, state: str, to: str) -> Result:
    """Write the old value, then whatever moved along and still is where it moved to."""
    address, shell = found.address, found.shell
    others = moved(entry, address, host)
    try:
        if found.now != to:
            had = carrier(host, address)
            settings.write(host, address, to)
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
