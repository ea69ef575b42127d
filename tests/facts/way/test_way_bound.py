"""The way of a socket that is bound to an interface (SO_BINDTODEVICE), or to an address."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import way_tables as host
from way_tables import FAR, SOUND, answer, frame, route, went

from nettop.collect import neighbour_states
from nettop.collect.failed_calls import Row as Call
from nettop.facts.kinds.way import build
from nettop.facts.way import STOPS as DECIDES
from nettop.facts.way import SUSPECT

gone = "198.51.100.7"


@pytest.mark.parametrize(("state", "outcome"), [("failed", DECIDES), ("reachable", SUSPECT)])
def test_a_socket_bound_to_an_interface_without_a_route_asks_for_a_neighbour_there(
    state: str, outcome: str
) -> None:
    """The kernel takes the destination for one on the link: ip_route_output_key_hash_rcu()."""
    said = [answer(FAR, leaves="b0", kind="unicast", interface="b0", address="10.1.0.1")]
    neighbours = [*SOUND["neighbour_states"], neighbour_states.Row("b0", FAR, 4, state)]
    way = went(FAR, frame(ways=said, neighbour_states=neighbours), leaves="b0")
    (step,) = (one for one in way.steps if "SO_BINDTODEVICE" in one.saw)
    assert (step.outcome, step.place) == (outcome, "route")
    assert step.saw.endswith("the route to it leads by a0")
    assert step.command == "ip route get 10.0.0.2 oif b0"
    assert step.change.startswith("let the program bind its socket to a0, or to none")


def test_a_socket_bound_to_the_interface_of_the_route_passes() -> None:
    way = went(FAR, frame(), leaves="a0")
    assert (way.decider, way.suspect) == (None, None)
    via = [*SOUND["fib"], route("0.0.0.0/0", "b0", "10.1.0.254", metric=200)]
    assert went(gone, frame(fib=via), leaves="b0").suspect is None


def test_the_interface_to_which_a_socket_is_bound_is_part_of_the_question() -> None:
    failed = Call("connection", "GIVEN_UP", address=FAR, pid=7, where="here", port="443",
                  process="app", events=4)  # fmt: skip
    waits = replace(host.listener("10.1.0.1", 4000), state="syn-sent", remote=FAR, remote_port=443,
                    interface="b0")  # fmt: skip
    silent = [*SOUND["neighbour_states"], neighbour_states.Row("b0", FAR, 4, "failed")]
    seen = frame(failed_calls=[failed], sockets_tcp=[waits], neighbour_states=silent)
    facts: Any = SimpleNamespace(more={}, flows=())
    (one,) = build(seen, facts)
    assert one.decider.startswith("the socket is bound to b0 (SO_BINDTODEVICE)")
    assert one.asks == f"{FAR}:443 --oif b0"


@pytest.mark.parametrize("error", ["EINVAL", "ENETUNREACH"])  # Linux 6.18 says the second
def test_the_address_of_an_open_connection_may_be_gone(error: str) -> None:
    """The kernel refuses the question: ip_route_output_key_hash_rcu()."""
    gone = "198.51.100.7"
    asked = [answer(FAR, error, source=gone)]
    way = went(FAR, frame(ways=asked), origin=gone, source_port=40000)
    (step,) = [one for one in way.steps if one.place == "source"]
    assert (step.outcome, step.saw) == (DECIDES, f"{gone} is not an address of this host")
