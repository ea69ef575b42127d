"""From what is wanted to the changes that get there; pure: it reads, and never writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from .. import settings
from ..host.source import Source
from ..terms.errors import sentence
from . import Change, Result, data


def plan(wanted: Iterable[tuple[str, str]], source: Source) -> tuple[Change, ...]:
    """The changes still needed, in the order they must be written.

    What is already so is left out; a setting wanted twice gets the last value. UnknownError for a
    name there is not; ValueError for a value beyond the limits; OSError when the host has no such
    thing.
    """
    asked: dict[str, tuple[settings.Address, str]] = {}
    for text, value in wanted:
        address = settings.parse(text)
        asked[str(address)] = (address, settings.normal(address, value))
    needed: list[tuple[int, Change]] = []
    for address, value in asked.values():
        before = settings.read(source, address)
        if before != value:
            value = settings.check(source, address, value)  # noqa: PLW2901
            rank = settings.rank(address, value)
            needed.append((rank, Change(str(address), before, value)))
    return tuple(change for _rank, change in sorted(needed, key=lambda pair: pair[0]))


def forecast(change: Change, source: Source) -> Result:
    """What `apply` decides before it writes anything: planned, unchanged, or refused and why."""
    address = settings.parse(change.setting)
    try:
        now = settings.read(source, address)
        value = settings.normal(address, change.after)
        if now != value:
            value = settings.check(source, address, value)
        shell = settings.shell(address, value, source)
    except (OSError, ValueError, LookupError) as error:
        return refused(change, sentence(error))
    if change.identity and not settings.same(change.identity, settings.identity(source, address)):
        because = f"{address.target} is another one now than when this was shown"
        return refused(change, because, shell=shell)
    if now == value:  # so already, whoever did it: often a change that was made just before
        return Result(change.setting, now, value, "unchanged", after=now, shell=shell)
    if now != change.before:
        because = f"the host no longer shows {change.before!r} but {now!r}"
        return refused(change, because, shell=shell)
    if settings.risk(address) in ("reboot", "advice"):
        return refused(change, "this takes a reboot: it is shown, never applied", shell=shell)
    return Result(str(address), now, value, "planned", after=value, shell=shell)


def unfit(wanted: Iterable[tuple[str, str]], source: Source) -> tuple[Result, ...]:
    """Nothing is done when one value is none that may be: which one, why, and what waits for it."""
    results = []
    for setting, value in wanted:
        try:
            before = settings.read(source, settings.parse(setting))
        except (OSError, ValueError, LookupError):
            before = value  # the forecast says why it cannot be read
        seen = forecast(Change(setting, before, value), source)
        if seen.state == "planned":
            why = "not tried: another of these is refused"
            seen = replace(seen, state="refused", after=None, because=why)
        results.append(seen)
    return tuple(results)


def refused(
    change: Change, because: str, number: int | None = None, shell: str = "",
    after: str | None = None,
) -> Result:  # fmt: skip
    """A change that was not made, and why."""
    return Result(
        change.setting, change.before, change.after, "refused", number, after, shell, because
    )


def describe(setting: str, value: str, source: Source) -> dict[str, Any]:
    """One wanted value as data: setting, before, after, the expert's command, the risk.

    `before` is None, with `because`, when the host does not show it.
    """
    found: dict[str, Any] = {"setting": setting, "before": None, "after": data(setting, value)}
    try:
        address = settings.parse(setting)
        found["risk"] = settings.risk(address)
        value = settings.normal(address, value)
        found["after"] = settings.data(address, value)
        found["shell"] = settings.shell(address, value, source)
        found["before"] = settings.data(address, settings.read(source, address))
    except (OSError, ValueError, LookupError) as error:
        found.setdefault("risk", "none")
        found.setdefault("shell", "")
        found["because"] = sentence(error)
    return found
