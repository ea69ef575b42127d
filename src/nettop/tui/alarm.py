"""A bell and a notification of the terminal for a new critical finding (`bell = true`).

The notification is OSC 9 of iTerm2, which other terminals know too; the rest ignore it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..terms.text import safe
from ..views.scene import Scene

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding


def new(before: Scene, after: Scene) -> list[Finding]:
    """The critical findings that did not hold before in this run; none in the first scene."""
    if before.facts is None:
        return []
    known = {one.id for one in (*before.findings, *before.muted)}
    known |= {one.finding.id for one in before.ended}
    return [one for one in after.findings if one.severity == "critical" and one.id not in known]


def sequence(findings: Sequence[Finding]) -> str:
    """The control sequence for these findings: the bell, and the titles as a notification."""
    if not findings:
        return ""
    more = f" and {len(findings) - 1} more" if len(findings) > 1 else ""
    return f"\a\x1b]9;nettop: {safe(findings[0].title)}{more}\a"
