"""Where segments are lost: the count of a made loss lies in the bound, at the right place."""

from dataclasses import replace
from typing import Any

import pytest
from flow_tables import socket
from pair_looks import MSS, look

from nettop.facts.limits import Limit, Reading
from nettop.facts.pair import BETWEEN, HERE, THERE, Losses
from nettop.facts.pair.losses import FlowRows, losses
from nettop.facts.pair.words import datagrams


def made(last: FlowRows, first: FlowRows | None = None, *, sends: bool = True) -> Losses:
    found = losses(first or look(0.0, sent=1000), last, sends=sends)
    assert found is not None
    return found


def test_what_was_lost_and_sent_again_is_counted() -> None:
    found = made(look(5.0, sent=9000, lost=200))
    assert found.between == (200, 200)
    assert (found.sent, found.retransmitted, found.known) == (8200, 200, True)
    assert found.place is not None
    assert (found.place.end, found.place.stage, found.place.segments) == (
        BETWEEN, "path", (200, 200),
    )  # fmt: skip


def test_nothing_lost_is_not_known_to_be_something() -> None:
    found = made(look(5.0, sent=9000, flying=40))
    assert found.between == (0, 40)
    assert found.place is None


def test_a_counter_of_the_receiver_is_a_range_and_the_network_has_the_rest() -> None:
    found = made(look(5.0, sent=9000, lost=200, arriving={"ring": 190.0}),
                 look(0.0, sent=1000, arriving={"ring": 0.0}))  # fmt: skip
    ring, path = found.places
    assert (ring.end, ring.stage, ring.segments) == (THERE, "ring", (0, 190))
    assert (path.end, path.segments) == (BETWEEN, (10, 200))


def test_of_two_counters_that_count_the_same_drops_the_farther_one_is_the_place() -> None:
    """A veth counts as its own what the other end's backlog refuses (drivers/net/veth.c)."""
    found = made(
        look(5.0, sent=9000, lost=200, leaving={"tx-ring": 9000.0}, arriving={"backlog": 5000.0}),
        look(0.0, sent=1000, leaving={"tx-ring": 0.0}),
    )
    assert [(one.end, one.stage) for one in found.places[:2]] == [
        (THERE, "backlog"), (HERE, "tx-ring"),
    ]  # fmt: skip


def test_what_dies_at_the_socket_stands_beside_the_difference() -> None:
    found = made(look(5.0, sent=9000, drops=50))
    assert found.between == (0, 0)
    assert found.place is not None
    assert (found.place.end, found.place.stage, found.place.segments) == (
        THERE, "rcvbuf", (50, 50),
    )  # fmt: skip


def test_a_receiver_that_merges_is_counted_in_bytes() -> None:
    found = made(look(5.0, sent=9000, lost=200, merged=10), look(0.0, sent=1000, merged=10))
    assert found.merged
    assert found.between == (200, 200)


def test_a_kernel_without_the_counters_says_nothing() -> None:
    first, last = look(0.0, sent=1000), look(5.0, sent=9000)
    row: Any = socket(2, data_segs_in=None, bytes_received=9000 * MSS, drops=0)
    assert losses(first, FlowRows(5.0, last.sender, (row, row), last.leaving, last.arriving),
                  sends=True) is None  # fmt: skip


def test_filters_of_the_receiver_may_drop_merged_segments() -> None:
    first = look(0.0, sent=1000, arriving={"qdisc": 0.0})
    found = made(look(5.0, sent=9000, lost=200, arriving={"qdisc": 10.0}), first)
    filters = next(one for one in found.places if one.stage == "qdisc")
    assert (filters.end, filters.segments) == (THERE, (0, 200))
    alone = made(look(5.0, sent=9000, lost=200, arriving={"qdisc": 200.0}), first)
    assert alone.place is not None
    assert (alone.place.end, alone.place.stage) == (THERE, "qdisc")


def test_duplicates_that_the_socket_drops_are_no_loss() -> None:
    """Reordered segments arrive twice; the last reports of them (DSACK) are still on the way."""
    last = look(5.0, sent=9000, drops=133)
    early, late = (replace(row, dsack_dups=131, total_retrans=132) for row in last.sender)
    assert made(replace(last, sender=(early, late))).places == ()
    early, late = (replace(row, dsack_dups=60, total_retrans=132) for row in last.sender)
    (place,) = made(replace(last, sender=(early, late))).places
    assert (place.stage, place.segments) == ("rcvbuf", (73, 133))


# What is printed of a UDP socket that drops at one of two hosts.


@pytest.mark.parametrize(
    ("pid", "head"),
    [(None, "*:53 "), (0, "*:53 dns[0] "), (4711, "*:53 dns[4711] ")],
)
def test_the_socket_has_its_process_where_that_is_known(pid: int | None, head: str) -> None:
    stage = Reading("rcvbuf", "here", "receive buffer", because="its reader is late")
    limit = Limit("socket", "*:53", "rx", 1e9, stage=stage, pid=pid, process="dns")
    empty, first, *rest = datagrams(limit, "web2")
    assert empty == ""
    assert first == f"{head}receives 1 Gb/s, at web2"
    assert any("its reader is late" in one for one in rest)
    assert all(one.startswith("  ") for one in rest)
