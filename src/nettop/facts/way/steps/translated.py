"""A rule of nf_tables that replaces the destination."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...flow_words import end
from ..flow import PASSES, Step
from ..legs import Leg

PLACE: Final = 5


def look(leg: Leg) -> Iterator[Step]:
    """Where the packets go instead."""
    if leg.by is not None:
        yield Step("nat", PASSES, f"{leg.by.who} sends these packets to "
                   f"{end(leg.flow.to, leg.flow.port)}", leg.by.show)  # fmt: skip
