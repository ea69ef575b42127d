"""Which end sends in the test of a setting: what a host receives is set at the host that receives.

A test in the other direction does not pass the setting, and would show nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from .. import settings
from . import tool
from .result import Options

_WORD = re.compile(r"[-_./@]")


def side(setting: str) -> str:
    """`rx` or `tx`: what the setting acts on; empty: on both, or on neither.

    `setting` is an address, or the template of one in a rule. What its kind declares as SIDE comes
    before the words in its name and in the name of its queue.
    """
    kind, _, rest = setting.partition(".")
    name, _, target = rest.partition("@")
    own = getattr(settings.kind(kind), "SIDE", {})
    if isinstance(own, str):
        return own
    if name in own:
        return str(own[name])
    found = {"rx", "tx"}.intersection(_WORD.split(f"{name}/{target.partition('/')[2]}"))
    return found.pop() if len(found) == 1 else ""


def reverse(names: Iterable[str], *, away: bool = False) -> bool | None:
    """Whether the other end must send so that data passes these settings; None: either may.

    `away`: they are settings of the other end.
    """
    sides = {side(name) for name in names} - {""}
    return (sides == {"rx"}) != away if len(sides) == 1 else None


def facing(tested: str, options: Options, names: Iterable[str], *, away: bool = False) -> Options:
    """The options of the tool `tested`; a direction that they do not say is that of `reverse`."""
    if options.reverse is not None or options.bidirectional:
        return options
    able = "reverse" in tool(tested).TAKES.split()
    return replace(options, reverse=reverse(names, away=away)) if able else options
