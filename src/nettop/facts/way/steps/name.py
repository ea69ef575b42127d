"""The name that the file hosts(5) gives the destination: an old line may lead it elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...host_names import named
from ..flow import PASSES, Step
from ..legs import OUT, Leg

PLACE: Final = 2


def look(leg: Leg) -> Iterator[Step]:
    """The line of the file."""
    line = named(leg.host.frame, leg.question.to)
    if leg.role == OUT and not leg.back and line.said:
        yield Step("name", PASSES, line.said, "cat /etc/hosts", line.cure)
