"""One wanted value as a pane shows it: values, command, risk, or why it cannot be."""

from __future__ import annotations

from typing import Any

from ..changes import text as value_text
from ..changes.plan import describe
from ..host.source import Source
from .scene import Step


def step(setting: str, value: str, source: Source) -> Step:
    """One wanted value with the command an expert would type, or why it cannot be."""
    told = describe(setting, value, source)

    def text(value: Any) -> str:
        return "?" if value is None else value_text(value)

    return Step(
        setting, text(told["before"]), text(told["after"]), str(told.get("shell", "")),
        str(told.get("risk", "none")), str(told.get("because", "")),
    )  # fmt: skip
