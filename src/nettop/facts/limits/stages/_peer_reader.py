"""The program at the other end: it reads late, or it asks for the next piece late.

A receiver takes unread data off the window that it offers (tcp_select_window()). While nothing is
read it delays acknowledgments (__tcp_ack_snd_check()), so that the congestion window or the send
buffer of the sender is full before the offered window is. A queue on the path makes round trips
long as well, but leaves the window as it is.

Where a sender sleeps until the other end asks for the next piece, each question is followed by a
round trip in which nothing new can be sent. A piece that fills the send buffer or the congestion
window does not wait for a larger one: its program sleeps in recv(), not in send(), and writes again
once it is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from ....terms import units
from .. import Reading
from ..feeding import cause
from ..following import BINDS
from ..looks import Look
from ..window import mean

LONG: Final = 1000  # us; on longer round trips the distance alone may fill the window
# round trip / shortest round trip, from which on packets wait in a queue, or for the peer's reader
STRETCHED: Final = 4.0
UNREAD: Final = 0.5  # of what is in flight, by which the window shrinks
LOSSY: Final = 1e-3  # of the segments: what arrives after a lost one waits to be read as well
MUCH: Final = 0.1  # of the largest window, unread on average: then all data in flight waits for it
CLOSED: Final = 0.25  # of the time the window is closed, on a path too short to fill it


def reading(look: Look, waits: float) -> Reading | None:
    """The reader at the other end where it is behind; `waits`: how often data waits here."""
    rtt, least = mean(entry.now.rtt for entry in look.tcp), look.now("min_rtt")
    sent, again = look.rated("segs_out"), look.rated("total_retrans")
    if not rtt or not least or rtt < STRETCHED * least:
        return None
    if sent and again and again >= LOSSY * sent:
        return None
    offered = [entry.now.snd_wnd or 0 for entry in look.tcp]
    flying = mean((entry.now.unacked or 0) * (entry.now.mss or 0) for entry in look.tcp)
    closed = look.part("rwnd_limited")
    unread = _unread(offered)
    if not flying or (unread < UNREAD * flying and (closed < CLOSED or least >= LONG)):
        return None
    if unread >= MUCH * max(offered):  # between two bursts of its writer as well
        waits = max(waits, look.often("unacked"))
    why = (
        f"its window is {units.size(unread)} smaller than it was, with {units.size(flying)} in "
        f"flight: it reads late, and its host acknowledges late ({units.seconds(rtt / 1e6)})"
    )
    held = min(1.0, max(waits, look.part("sndbuf_limited")) + closed)  # one or the other
    around = (0.9 * look.rate, 1.1 * look.rate) if held >= BINDS else None
    return Reading("peer", "there", "program at the other end", "measured", why, None, around,
                   held)  # fmt: skip


def _unread(offered: Sequence[int]) -> float:
    """By how many bytes the offered window is smaller than its largest, on average.

    0 where it only grows: so does the peer's buffer at the start of a flow.
    """
    shrinks = any(later < sooner for sooner, later in pairwise(offered))
    return max(offered) - sum(offered) / len(offered) if shrinks else 0.0


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
