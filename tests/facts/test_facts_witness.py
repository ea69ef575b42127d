"""The queues' own counters against the queues that RSS would give the flows."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettop.facts.kinds.queue import Queue
from nettop.facts.landing import (
    EXCESS,
    NOTHING,
    TRICKLE,
    UNSENT,
    Verdict,
    Witness,
    suspected,
    weigh,
)

MB = 1e6


def counted(*rates: float | None) -> list[Queue]:
    return [Queue("eth0", f"rx-{n}", "rx", n, bytes_per_s=rate) for n, rate in enumerate(rates)]


def test_a_queue_that_counts_less_than_its_flows_receive_contradicts() -> None:
    obeyed, why = weigh({"rx-0": 10 * MB, "rx-2": 30 * MB}, counted(30 * MB, 5 * MB, 8 * MB, MB))
    assert obeyed is False
    assert why == (
        "rx-2 counts 64.0 Mbit/s, but the flows that RSS assigns to it receive 240.0 Mbit/s: "
        "the table shown is not in force"
    )


def test_queues_that_count_their_flows_and_little_else_bear_it_out() -> None:
    assert weigh({"rx-0": 10 * MB, "rx-1": 30 * MB}, counted(10.4 * MB, 31 * MB)) == Verdict(True)


@pytest.mark.parametrize(
    ("flows", "rates"),
    [
        ({}, (MB, MB)),
        ({"rx-0": MB}, (0.0, 0.0)),
        ({"rx-0": MB}, (None, None)),  # the driver does not count by queue
        ({"rx-0": MB}, (MB,)),  # one queue alone proves nothing
        ({"rx-0": 0.0}, (MB, MB)),  # nothing received, or the first frame
        ({"rx-0": MB, "rx-1": MB}, (90 * MB, 10 * MB)),  # mostly other traffic
        ({"rx-0": TRICKLE * 0.9}, (TRICKLE * 0.1, TRICKLE)),
        ({"rx-0": 100.0, "rx-1": 100.0}, (110.0, 110.0)),  # agreement of a trickle
    ],
)
def test_where_the_counters_say_nothing(
    flows: dict[str, float], rates: tuple[float | None, ...]
) -> None:
    assert weigh(flows, counted(*rates)) is NOTHING


def test_sockets_read_later_than_the_counters_are_no_contradiction() -> None:
    """All flows alike stand twice as high; the busiest queue is still the busiest."""
    assert weigh({"rx-0": 40 * MB, "rx-1": 20 * MB}, counted(20 * MB, 10 * MB)).obeyed is True
    assert weigh({"rx-0": 40 * MB, "rx-1": 20 * MB}, counted(10 * MB, 20 * MB)).obeyed is False


@given(
    st.lists(st.floats(0, 1e10), min_size=2, max_size=8),
    st.lists(st.floats(1.0, EXCESS - 0.01), min_size=8, max_size=8),
    st.floats(0.2, 5),
)
def test_true_queues_are_never_contradicted(
    rates: list[float], heads: list[float], late: float
) -> None:
    """Each queue counts its flows with headers; the sockets may have been read early or late."""
    queues = counted(*(rate * head for rate, head in zip(rates, heads, strict=False)))
    flows = {f"rx-{n}": rate * late for n, rate in enumerate(rates)}
    assert weigh(flows, queues).obeyed is not False


@given(st.dictionaries(st.sampled_from(["rx-0", "rx-1", "rx-9"]), st.floats(0, 1e12)),
       st.lists(st.none() | st.floats(0, 1e12), max_size=4))  # fmt: skip
def test_no_figures_are_too_odd(flows: dict[str, float], rates: list[float | None]) -> None:
    found = weigh(flows, counted(*rates))
    assert bool(found.why) == (found.obeyed is False)
    assert "\n" not in found.why


def test_a_verdict_lasts_until_the_counters_say_otherwise_or_rss_is_another() -> None:
    witness = Witness()
    table, idle, right, wrong = object(), counted(0, 0), counted(MB, MB / 10), counted(0, MB)
    flows = {"rx-0": 0.9 * MB}
    assert witness.hear("eth0", table, flows, idle) is NOTHING
    assert witness.hear("eth0", table, flows, wrong).obeyed is False
    assert witness.hear("eth0", table, {"rx-0": 0.0}, idle).obeyed is False
    assert witness.hear("eth1", table, flows, idle) is NOTHING
    assert witness.hear("eth0", table, flows, right).obeyed is True
    assert witness.hear("eth0", table, {"rx-0": 0.0}, idle).obeyed is True
    assert witness.hear("eth0", object(), {"rx-0": 0.0}, idle) is NOTHING


def test_a_new_table_that_equals_the_old_one_is_the_same() -> None:
    witness = Witness()
    first, again = SimpleNamespace(table=(0, 1)), SimpleNamespace(table=(0, 1))
    assert witness.hear("eth0", first, {"rx-0": MB}, counted(0, MB)).obeyed is False
    assert witness.hear("eth0", again, {}, []).obeyed is False


def test_the_table_of_an_old_virtio_net_is_believed_when_borne_out() -> None:
    assert suspected("virtio_net", (6, 1)) is UNSENT
    assert suspected("virtio_net", None) is UNSENT
    assert suspected("virtio_net", (6, 12)) is NOTHING
    assert suspected("mlx5_core", (5, 10)) is NOTHING
    witness = Witness()
    idle, busy = ({"rx-0": 0.0}, counted(0, 0)), ({"rx-0": MB}, counted(1.1 * MB, 0))
    assert witness.hear("eth0", 1, *idle, UNSENT) is UNSENT
    assert witness.hear("eth0", 1, *busy, UNSENT).obeyed is True
    assert witness.hear("eth0", 1, *idle, UNSENT).obeyed is True
