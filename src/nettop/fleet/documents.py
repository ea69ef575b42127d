"""The state of a host by its `advise --json` document, which another version may have written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final

from ..advice.rules.severity import SEVERITIES
from ..files.bounds import number
from ..views.inventory import address
from .model import Brief, HostState, Interface

LONGEST: Final = 200  # characters of a name, a value or a title
FINDINGS: Final = 1000  # of one host; the most severe come first
SETTINGS: Final = 20_000  # of one host
INTERFACES: Final = 1000  # of one host


def state_of(value: object, file: str, at: float, named: Callable[[str], str]) -> HostState:
    """The state; ValueError for any other JSON.

    `at` is the time of a document without one, `named` gives the host its name.
    """
    if not isinstance(value, Mapping) or not isinstance(value.get("findings"), list):
        message = "neither a recording nor a document of `nettop advise --json`"
        raise ValueError(message)  # noqa: TRY004 - as for any other text
    host = text(value.get("host"))
    system = _mapping(value.get("system"))
    when = system.get("at")
    own = [
        one for one in map(_mapping, value["findings"])
        if "host" not in one or text(one["host"]) == host
    ]  # fmt: skip
    return HostState(
        host=named(host),
        file=file,
        at=float(when) if isinstance(when, int | float) and number(when) else at,
        kernel=text(system.get("kernel")),
        interfaces=tuple(islice(_interfaces(system.get("interfaces")), INTERFACES)),
        settings=dict(islice(_settings(system.get("settings")), SETTINGS)),
        findings=tuple(islice(_findings(own), FINDINGS)),
        shortfall=text(value.get("shortfall")),
    )


def text(value: object) -> str:
    """A text of bounded length; empty for anything else. Equal texts share their memory."""
    return sys.intern(value[:LONGEST]) if isinstance(value, str) else ""


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _rows(value: object) -> Iterator[Mapping[str, object]]:
    return map(_mapping, value if isinstance(value, list) else ())


def _interfaces(value: object) -> Iterator[Interface]:
    for one in _rows(value):
        if name := text(one.get("name")):
            yield Interface(name, text(one.get("driver")), text(one.get("firmware")))


def _settings(value: object) -> Iterator[tuple[str, str]]:
    for name, setting in _mapping(value).items():
        if isinstance(setting, str):
            yield text(name), text(setting)


def _findings(rows: list[Mapping[str, object]]) -> Iterator[Brief]:
    for one in rows:
        rule, target, severity = text(one.get("rule")), text(one.get("target")), one.get("severity")
        if not rule or severity not in SEVERITIES:
            continue
        changes = [text(change.get("setting")) for change in _rows(one.get("changes"))]
        read = [address(text(e.get("field")), target) for e in _rows(one.get("evidence"))]
        touches = frozenset(sys.intern(name) for name in (*changes, *read) if name)
        yield Brief(rule, target, text(severity), text(one.get("title")), touches)
