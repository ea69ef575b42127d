"""The severities of rules, and the glyph of each in all outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MARKS: Final[Mapping[str, str]] = {
    "critical": "✗",  # loss or fault now
    "warning": "!",  # costs performance now
    "advice": "▸",  # could be better
    "info": "·",
}
SEVERITIES: Final = tuple(MARKS)  # the most severe first
SERIOUS: Final = SEVERITIES[:2]
CRITICAL, WARNING, ADVICE, _ = SEVERITIES
