"""What the names of an expression stand for on one target."""

from __future__ import annotations

from collections.abc import Mapping

from ...terms.dataclass import dataclass
from .moment import Moment
from .syntax import Limits


@dataclass(frozen=True, slots=True)
class Scope:
    """The facts by name, the moment around them, the rule's limits and the target's name."""

    facts: Mapping[str, object]  # a parent that is not known is None
    moment: Moment
    limits: Limits
    target: str = ""
