"""A sender that sleeps until the other end asks for the next piece.

Each question is followed by a round trip in which nothing new can be sent. A piece that fills the
send buffer or the congestion window does not wait for a larger one: its program sleeps in recv(),
not in send(), and writes again once it is asked.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ..feeding import cause
from ..following import BINDS
from ..looks import Look

MOST: Final = 1.1  # questions in a round trip: of more, several are on their way together


class Asked(NamedTuple):
    """Whether the program waits for a question, and the share of time that questions take."""

    sleeps: bool = False
    trips: float = 0.0


def asked(look: Look) -> Asked:
    """The questions of the other end, where each thread sleeps in none but the call that reads."""
    found = cause(look)
    if found is None or found.stage != "request" or not found.reads:
        return Asked()
    trips = (look.rated("data_segs_in") or 0.0) * (look.now("min_rtt") or 0) / 1e6
    return Asked(sleeps=True, trips=min(1.0, trips) if BINDS <= trips <= MOST else 0.0)
