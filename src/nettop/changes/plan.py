"""From what is wanted to the changes that get there; pure: it reads, and never writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import settings
from ..source import Source
from . import Change, data


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


def sentence(error: BaseException) -> str:
    """One sentence for what went wrong."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else str(error.strerror)
    if error.args and isinstance(error.args[0], str):
        return error.args[0]
    return str(error) or type(error).__name__
