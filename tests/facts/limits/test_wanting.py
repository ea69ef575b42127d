"""Which way a flow wants to move data, for every kind of what it moves and holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

from folded import folded

from nettop.facts.flow_words import QUIET
from nettop.facts.limits.looks import wanting

BYTES = (0.0, QUIET / 16, QUIET / 8 - 1, QUIET / 8, QUIET)  # a second
OFTEN = (0.0, 0.49, 0.5, 1.0)


@dataclass
class Flow:
    """What a look says of its socket."""

    rates: dict[str, float | None]
    often_: dict[str, float]
    tcp: tuple[str, ...] = ("row",)
    direction: str = ""
    rate: float = 0.0
    named: list[str] = field(default_factory=list)

    def rated(self, name: str) -> float | None:
        return self.rates[name]

    def often(self, name: str) -> float:
        return self.often_[name]


def way(tx: float | None, rx: float | None, held: float, unread: float, lost: float | None) -> Any:
    rates = {"bytes_acked": tx, "bytes_received": rx, "total_retrans": lost}
    look: Any = Flow(rates, {"notsent": held, "recv_q": unread})
    return [(one.direction, one.rate) for one in wanting(look)]


@folded(("tx", "rx"), list(product(BYTES, BYTES)))
def test_a_flow_has_one_way_unless_it_rests(tx: float, rx: float) -> None:
    for held, unread, lost in product(OFTEN, OFTEN, (0.0, 0.1)):
        waits, waiting = held >= 0.5 or lost > 0, unread >= 0.5
        found = way(tx, rx, held, unread, lost)
        if not waits and not waiting and 8 * tx < QUIET and 8 * rx < QUIET:
            assert found == []
        elif waits or (tx >= rx and not waiting):
            assert found == [("tx", 8 * tx)]
        else:
            assert found == [("rx", 8 * rx)]


def test_what_is_not_known_moves_nothing() -> None:
    assert way(None, None, 0.0, 0.0, None) == []
    assert way(None, QUIET, 0.0, 0.0, None) == [("rx", 8 * QUIET)]
    assert way(QUIET, None, 0.0, 0.0, None) == [("tx", 8 * QUIET)]
    nothing: Any = Flow({}, {}, tcp=())
    assert wanting(nothing) == []


def test_a_receiver_that_repeats_a_small_answer_still_receives() -> None:
    """sshd while it writes to a slow disk: it repeats messages of its own, about one a second."""
    assert way(1e4, 2e7, 0.0, 0.0, 1.0) == [("rx", 1.6e8)]
    assert way(1e6, 2e7, 0.0, 0.0, 1.0) == [("tx", 8e6)]
    assert way(0.0, 2e7, 0.0, 0.0, 1.0) == [("tx", 0.0)]  # nothing that it sends arrives
    assert way(1e4, 2e7, 0.6, 0.0, 1.0) == [("tx", 8e4)]
