"""A rule that replaces the destination: the way goes on to the new one."""

from typing import Any

from way_tables import FAR, NEAR, SOUND, frame, listener, switches, went

from nettop.collect import neighbour_states, sockets_udp, udp_bound
from nettop.collect.nft_hooks import Row as Hook
from nettop.collect.nft_rules import Row as Rule
from nettop.facts.way import HIDDEN, Way

INSIDE = "10.1.0.9"  # on b0
SILENT = [*SOUND["neighbour_states"], neighbour_states.Row("b0", INSIDE, 4, "failed", None)]
PORT443 = (("payload", 1, 2, 2, 2), ("cmp", 1, 0, "01bb"))
TO_INSIDE = (("immediate", 1, "0a010009"), ("nat", 1, 1))
ELSEWHERE = (("immediate", 1, "0a010009"), ("immediate", 2, "1f90"), ("nat", 1, 1, 2))


def through(
    does: tuple[Any, ...], hook: str = "prerouting", match: tuple[Any, ...] = PORT443, **tables: Any
) -> Way:
    """The way of packets from FAR to port 443 of this host, or of its own to FAR."""
    on = [switches("all", 1), switches("a0", 1), switches("b0", 1)]
    seen = frame(
        nft_hooks=[Hook("ip", "t", "c", hook, -100, "nat", drops=False)],
        nft_rules=[Rule("ip", "t", "c", 2, (*match, *does))],
        **{"interface_sysctls": on, **tables},
    )
    if hook == "output":
        return went(FAR, seen, port=443)
    return went(NEAR, seen, port=443, origin=FAR, arrives="a0")


def test_packets_to_this_host_are_forwarded_to_the_new_destination() -> None:
    way = through(TO_INSIDE)
    assert (way.decider, way.case) == (None, "forward")
    assert way.steps[0].saw == (
        f"rule of handle 2 in chain c (hook prerouting, ip t) sends these packets to {INSIDE}:443"
    )
    decider = through(TO_INSIDE, neighbour_states=SILENT).decider
    assert decider is not None
    assert decider.saw == f"no neighbour answers for {INSIDE} on b0"
    assert decider.change.startswith(
        f"if {INSIDE} is gone, correct the address in that rule, or delete it (nft delete rule "
        "ip t c handle 2), for rule of handle 2 in chain c "
    )


def test_the_port_is_replaced_too() -> None:
    assert f"to {INSIDE}:8080" in through(ELSEWHERE).steps[0].saw


def test_a_redirection_goes_to_a_port_of_this_host() -> None:
    does = (("immediate", 1, "0050"), ("redir", 1))
    way = through(does)
    assert way.decider is None
    assert any("app[7] listens" in one.saw for one in way.steps)
    decider = through(does, sockets_tcp=[listener("0.0.0.0", 443)]).decider
    assert decider is not None
    rule = "rule of handle 2 in chain c (hook prerouting, ip t)"
    assert decider.saw == f"nothing listens at tcp port 80, to which {rule} sends these packets"
    assert "correct the rule" in decider.change


def test_what_this_host_sends_is_translated_in_its_output() -> None:
    decider = through(TO_INSIDE, "output", neighbour_states=SILENT).decider
    assert decider is not None
    assert decider.saw == f"no neighbour answers for {INSIDE} on b0"


def test_other_ports_and_answers_are_not_translated() -> None:
    """Nor is it told where a rule leads whose values a scrubbed recording does not have."""
    seen = through((("nat", "?"),))
    assert any("changes the addresses" in one.saw for one in seen.of(HIDDEN))
    way = through(TO_INSIDE, match=(("payload", 1, 2, 2, 2), ("cmp", 1, 0, "0050")))
    assert way.decider is not None
    assert way.decider.saw == "nothing listens at tcp port 443"


def datagrams(local: str = "0.0.0.0", *bound: udp_bound.Row) -> dict[str, Any]:
    none: dict[str, Any] = dict.fromkeys(sockets_udp.Row.__dataclass_fields__)
    row = sockets_udp.Row(**{**none, "inode": 70, "local": local, "local_port": 53,
                             "remote": "0.0.0.0", "remote_port": 0})  # fmt: skip
    return {"sockets_udp": [row], "udp_bound": bound}


def asked(tables: dict[str, Any], to: str = NEAR, arrives: str = "a0") -> Way:
    return went(to, frame(**tables), port=53, origin=FAR, arrives=arrives, protocol="udp")


def test_a_datagram_socket_of_another_interface_does_not_take_them() -> None:
    assert asked(datagrams()).decider is None
    decider = asked(datagrams("0.0.0.0", udp_bound.Row(70, "b0"))).decider
    assert decider is not None
    assert decider.saw == f"nothing listens at {NEAR}:53: app[7] listens at 0.0.0.0:53 on b0 only"
    six = asked(datagrams("::", udp_bound.Row(70, None, v6only=True))).decider
    assert six is not None
    assert "for IPv6 only" in six.saw


def test_answers_leave_from_another_address_than_was_asked() -> None:
    """As the route says, where the socket has no address of its own."""
    way = asked(datagrams(), "10.1.0.1")
    assert way.decider is None
    assert way.suspect is not None
    assert way.suspect.saw.startswith(f"the answers of app[7] leave from {NEAR}, not from 10.1.0.1")
    assert asked(datagrams("10.1.0.1"), "10.1.0.1").suspect is None


def test_the_rule_that_leads_a_connection_of_this_host_to_a_closed_port_is_named() -> None:
    does = (("immediate", 1, "0050"), ("redir", 1))
    decider = through(does, "output", sockets_tcp=[listener("0.0.0.0", 443)]).decider
    assert decider is not None
    rule = "rule of handle 2 in chain c (hook output, ip t)"
    assert decider.saw == f"nothing listens at tcp port 80, to which {rule} sends these packets"
