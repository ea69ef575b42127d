"""The limit of a flow from those of its ends."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scenes import lossy

from nettop.facts.limits import Limit, Reading
from nettop.facts.limits.following import bound
from nettop.facts.pair import HERE, THERE, Joined, model
from nettop.facts.pair.verdict import Returns, verdict, with_ends


def limit(stage: str, held: float, direction: str, joint: tuple[str, ...] = ()) -> Limit:
    one = Reading(stage, "here", stage, "measured", "", held=held)
    return Limit(
        "flow", "10.0.0.1:1>10.0.0.2:2", direction, 1e8, stage=one, joint=joint, ladder=(one,)
    )


@pytest.mark.parametrize(
    ("writer", "reader", "stage", "end"),
    [
        (("sndbuf", 1.0), ("thread", 0.9), "thread", THERE),
        (("application", 0.3), ("thread", 0.9), "thread", THERE),
        (("application", 0.9), ("thread", 0.6), "application", HERE),
        (("application", 0.3), ("peer", 0.9), "application", HERE),
        (("application", 0.3), ("thread", 0.4), "application", HERE),
        (("qdisc", 0.6), ("thread", 0.9), "qdisc", HERE),
        (("peer", 0.9), ("thread", 0.4), "thread", THERE),
    ],
)
def test_the_end_that_holds_the_flow_longer_limits_it(
    writer: tuple[str, float], reader: tuple[str, float], stage: str, end: str
) -> None:
    sender, receiver = limit(*writer, "tx", ("peer",)), limit(*reader, "rx")
    found = verdict(sender, receiver, None, sends=True, line=(), reader="reader[2]")
    assert found is not None
    assert (found.stage.stage, found.stage.end) == (stage, end)


@pytest.mark.parametrize(("how", "stage"), [("late", "timer"), ("", "request")])
def test_a_client_that_sleeps_between_requests_is_told_by_its_own_end(how: str, stage: str) -> None:
    sender, receiver = limit("request", 1.0, "tx"), limit("timer", 0.98, "rx")
    sender = replace(sender, stage=replace(sender.stage, how=how))
    found = verdict(sender, receiver, None, sends=True, line=(), reader="reader[2]")
    assert found is not None
    assert found.stage.stage == stage


def test_the_window_that_a_small_receive_buffer_offers_is_not_the_next_limit() -> None:
    full = (0.9e8, 1.1e8)
    window = Reading("rwnd", THERE, "rwnd", "reported", "", 1.0, full, held=1.0)
    buffer = Reading("sndbuf", HERE, "sndbuf", "measured", "", 0.0, (1e9, 2e9))
    ends = (limit("peer", 1.0, "tx"), limit("rcvbuf", 1.0, "rx"))
    found = verdict(*ends, None, sends=True, line=(buffer, window), reader="reader[2]")
    assert found is not None
    assert (found.stage.stage, found.next) == ("rcvbuf", buffer)


def test_a_receive_buffer_and_the_window_it_offers_are_one_stage_as_full_as_the_fuller() -> None:
    buffer = Reading("rcvbuf", "here", "rcvbuf", "computed", "", 0.5, held=1.0)
    window = Reading("rwnd", "there", "rwnd", "reported", "", 1.0, held=1.0)
    sender, receiver = limit("rwnd", 1.0, "tx"), limit("rcvbuf", 1.0, "rx")
    sender = replace(sender, stage=window, ladder=(window,))
    receiver = replace(receiver, stage=buffer, ladder=(buffer,))
    line = model.stages(sender, receiver, (HERE, THERE))
    assert [(one.stage, one.end, one.utilisation) for one in line] == [("rcvbuf", THERE, 1.0)]
    found = verdict(sender, receiver, None, sends=True, line=line, reader="reader[2]")
    assert found is not None
    assert (found.stage.stage, found.stage.utilisation) == ("rcvbuf", 1.0)
    alone = model.stages(sender, limit("thread", 0.3, "rx"), (HERE, THERE))
    assert [one.stage for one in alone] == ["rwnd", "thread"]


def test_what_this_end_says_of_the_peer_is_left_out_where_the_peer_is_read() -> None:
    peer = Reading("peer", "there", "peer", "measured", "", 0.9, (1e8, 1.1e8), held=0.9)
    own = replace(limit("peer", 0.9, "tx"), stage=peer, ladder=(peer,), flow="a:1>b:2", over="nic")
    facts = lossy().facts
    assert facts is not None
    for stage, told in (("application", False), ("peer", True)):
        reader = Reading(stage, THERE, stage, "measured", "", 0.9)
        flow = replace(own, over="flow", target="a:1>b:2", stage=reader, ladder=(reader,))
        seen = with_ends(replace(facts, limits=(own,)), (Joined(flow, "a", "b", (reader,)),))
        (shown,) = seen.limits
        assert ("peer" in [one.stage for one in shown.ladder]) == told
        assert bool(bound(shown)) == (told and bool(bound(flow)))


@pytest.mark.parametrize("sends", [True, False])
def test_late_acknowledgments_that_wait_in_a_queue_of_the_receiver_are_no_slow_reader(
    sends: bool,
) -> None:
    queue = Returns("tbf 1: of eth0", 1.0)
    for sender, receiver, stage in (
        (("peer", 0.9), None, "qdisc"),
        (("peer", 0.9), ("thread", 0.9), "thread"),  # a reader that was seen to be late
        (("cwnd", 0.9), None, "cwnd"),
        (("rwnd", 0.9), None, "rwnd"),
    ):
        found = verdict(
            limit(*sender, "tx"), limit(*receiver, "rx") if receiver else None, None, sends=sends,
            line=(), reader="reader[2]", returns=queue,
        )  # fmt: skip
        assert found is not None
        assert found.stage.stage == stage
        if stage == "qdisc":
            assert found.stage.end == (THERE if sends else HERE)
            assert found.stage.name == queue.name
            assert found.stage.because.startswith("acknowledgments wait in it in 100%")


# Which host sends, by the limits that each end names: properties for any two limits.


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
