"""One wanted value as a step: values, command, risk, or why it cannot be set."""

from __future__ import annotations

from ..changes import text as value_text
from ..changes.plan import describe
from ..host.source import Source
from .scene import Step


def step(setting: str, value: str, source: Source) -> Step:
    """The step to one wanted value, with the command an expert would type."""
    found = describe(setting, value, source)
    before, after = ("?" if v is None else value_text(v) for v in (found["before"], found["after"]))

    return Step(
        setting, before, after, str(found.get("shell", "")),
        str(found.get("risk", "none")), str(found.get("because", "")),
    )  # fmt: skip
