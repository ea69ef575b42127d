"""A recommended value as a step: values, command, risk, or why it cannot be set."""

from __future__ import annotations

from ..changes import text as value_text
from ..changes.plan import describe
from ..host.source import Source
from .scene import Step


def step(setting: str, value: str, source: Source) -> Step:
    """The step from the current value of a setting to `value`; "?" for a value not known."""
    change = describe(setting, value, source)
    before, after = (
        "?" if value is None else value_text(value) for value in (change["before"], change["after"])
    )
    return Step(
        setting, before, after, str(change.get("shell", "")),
        str(change.get("risk", "none")), str(change.get("because", "")),
    )  # fmt: skip
