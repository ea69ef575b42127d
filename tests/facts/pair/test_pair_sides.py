"""Which host sends, by the limits that each end names: properties for any two limits."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from nettop.facts.limits import Limit
from nettop.facts.pair import model

FLOW = "10.0.0.1:1>10.0.0.2:2"
LIMITS = st.none() | st.builds(
    lambda direction, rate: Limit("flow", FLOW, direction, rate),
    st.sampled_from(["rx", "tx"]), st.none() | st.floats(1.0, 1e12),
)  # fmt: skip


@given(LIMITS, LIMITS)
def test_the_sender_s_limit_is_of_tx_and_names_the_host_that_sends(
    here: Limit | None, there: Limit | None
) -> None:
    sends, sender, receiver = model._sides(here, there)
    assert sender is None or (sender.direction == "tx" and sender is (here if sends else there))
    assert receiver is None or (
        receiver.direction == "rx" and receiver is (there if sends else here)
    )
    assert (sender is None and receiver is None) == (here is None and there is None)
    if here is not None and there is not None and here.direction != there.direction:
        assert None not in (sender, receiver)


@given(LIMITS, LIMITS)
def test_it_is_the_same_seen_from_the_other_host(here: Limit | None, there: Limit | None) -> None:
    assume(here is not None or there is not None)
    assume(here is None or there is None or here.rate != there.rate)
    sends, *limits = model._sides(here, there)
    assert model._sides(there, here) == (not sends, *limits)


@given(st.sampled_from(["rx", "tx"]), st.floats(1.0, 1e12), st.floats(1.0, 1e12))
def test_of_two_of_one_direction_the_faster_counts(way: str, here: float, there: float) -> None:
    _, *limits = model._sides(Limit("flow", FLOW, way, here), Limit("flow", FLOW, way, there))
    (chosen,) = [limit for limit in limits if limit is not None]
    assert chosen.rate == max(here, there)
