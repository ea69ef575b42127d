"""Which destinations are in trouble, what the kernel is asked about them, and the facts."""

from types import SimpleNamespace
from typing import Any

import pytest
from way_tables import SOUND, frame, link, listener, route, rule

from nettop.collect.drop_reasons import Row as Drop
from nettop.collect.failed_calls import Row
from nettop.collect.host_names import Row as HostName
from nettop.collect.neighbour_states import Row as Neighbour
from nettop.collect.ways import Question
from nettop.facts.kinds.attempt import Attempt
from nettop.facts.kinds.way import KIND, WayFact, build
from nettop.facts.way.trouble import MOST, asked, troubles

TO = "10.2.0.5"


def call(to: str = TO, name: str = "sendto", error: str = "EHOSTUNREACH", **more: Any) -> Row:
    known = {"pid": 7, "where": "here", "port": "53", "process": "dnsd", "events": 4}
    return Row(name, error, address=to, **{**known, **more})


def seen(attempts: Any = (), flows: Any = ()) -> Any:
    return SimpleNamespace(more={"attempt": attempts}, flows=flows)


def facts(*calls: Row, attempts: Any = (), **tables: Any) -> tuple[WayFact, ...]:
    return build(frame(failed_calls=calls, **tables), seen(attempts))


def test_a_failed_call_names_the_decider_and_its_change() -> None:
    routes = [*SOUND["fib"], route("10.2.0.0/24", None, kind="unreachable")]
    (one,) = facts(call(), fib=routes)
    title = f"{one.what}: {one.decider}"
    assert title == (
        "sendto of dnsd[7] to 10.2.0.5:53 fails with EHOSTUNREACH: route 10.2.0.0/24 is unreachable"
    )
    assert one.stops
    assert (one.id, one.change) == ("10.2.0.5:53", "ip route del unreachable 10.2.0.0/24")
    assert one.explains == ("dnsd[7]/sendto/EHOSTUNREACH", "10.2.0.5:53")
    assert one.asks == "10.2.0.5:53 --udp"


@pytest.mark.parametrize(("pid", "names", "to", "told"), [
    (0, ("db.test",), TO, "/etc/hosts"), (7, ("db.test",), TO, "/proc/7/root/etc/hosts"),
    (8, ("db.test",), TO, ""), (0, (), TO, ""), (0, ("db.test",), "10.2.0.6", ""),
])  # fmt: skip
def test_the_name_that_a_line_of_hosts_gives_the_destination_is_told(
    pid: int, names: tuple[str, ...], to: str, told: str
) -> None:
    routes = [*SOUND["fib"], route("10.2.0.0/24", None, kind="unreachable")]
    line = HostName(to, pid, told or "/etc/hosts", names)
    (one,) = facts(call(), fib=routes, host_names=[line])
    said = f"route 10.2.0.0/24 is unreachable; {told} gives {TO} the name db.test"
    assert one.decider == (said if told else "route 10.2.0.0/24 is unreachable")
    assert (f"; or, if that line of {told} is old, correct or delete it: `dig +short db.test` asks "
            in one.change) is bool(told)  # fmt: skip


def test_the_file_of_the_process_itself_counts_and_an_address_of_this_host_is_not_told() -> None:
    lines = [HostName(TO, 0, "/etc/hosts", ("db.test",)), HostName(TO, 7, "/proc/7/hosts", ())]
    (one,) = facts(call(), host_names=lines)
    assert "db.test" not in one.decider + one.change
    own = HostName("10.0.0.1", 0, "/etc/hosts", ("me.test",))
    local = call("10.0.0.1", "connection", "ECONNREFUSED", port="443")
    (one,) = facts(local, sockets_tcp=[], host_names=[own])
    assert one.stops
    assert "me.test" not in one.decider + one.change


def test_where_no_port_is_free_a_route_is_not_the_cause() -> None:
    failed = call(TO, "connect", "EADDRNOTAVAIL", port="80")
    assert [one.stops for one in facts(failed, fib=SOUND["fib"][:1])] == [False]


def test_who_refuses_may_be_this_host_itself() -> None:
    local = route("10.2.0.0/24", "lo", table=255, kind="local")
    failed = call(TO, "connection", "ECONNREFUSED", port="443")
    (one,) = facts(failed, fib=[*SOUND["fib"], local], sockets_tcp=[])
    assert one.stops
    assert one.place == "local"


@pytest.mark.parametrize(("name", "error", "stops"), [
    ("sendto", "ECONNREFUSED", [True]),
    ("connection", "ECONNREFUSED", [True]),
    ("sendto", "EINVAL", [False]),  # given before a packet gets to the port
    ("sendto", "EOPNOTSUPP", []),  # of the socket and its arguments alone: no way is walked
    ("connect", "EISCONN", []),
])  # fmt: skip
def test_only_who_refuses_shows_that_nothing_listens(
    name: str, error: str, stops: list[bool]
) -> None:
    failed = call("10.0.0.1", name, error, port="5257")
    found = facts(failed, sockets_tcp=[], sockets_udp=[])
    assert [one.stops for one in found] == stops
    protocol = "tcp" if name == "connection" else "udp"
    assert all(f"nothing listens at {protocol} port 5257" in one.decider for one in found
               if one.stops)  # fmt: skip


V6 = "fd00:1::1"


@pytest.mark.parametrize(("others", "fails"), [
    ([], True),
    ([call("10.2.0.9", "connection", "0", port="443")], False),  # the program gets on by IPv4
    ([call("10.2.0.9", "connect", "ENETUNREACH", port="443")], False),  # which fails as well
    ([call("10.2.0.9", "connection", "0", port="443", process="other")], True),
    ([call("10.2.0.9", "connection", "0", port="443", where="elsewhere")], True),
    ([call("::ffff:10.2.0.9", "connection", "0", port="443")], False),
])  # fmt: skip
def test_no_way_by_ipv6_is_a_failure_where_the_program_has_no_other(
    others: list[Row], *, fails: bool
) -> None:
    rows = [call(V6, "connect", "ENETUNREACH"), *others]
    found = [one.flow.to for one in troubles(frame(failed_calls=rows), seen())]
    assert (V6 in found) is fails


def test_an_address_of_ipv4_in_a_socket_of_ipv6_is_of_ipv4() -> None:
    row = call("::ffff:10.2.0.9", "connect", "ENETUNREACH", port="443")
    assert [one.flow.to for one in troubles(frame(failed_calls=[row]), seen())] == ["10.2.0.9"]


@pytest.mark.parametrize(("error", "source", "action", "stops"), [
    ("EACCES", "10.1.0.1/32", "prohibit", True),
    ("EACCES", "10.1.0.1/32", "unreachable", False),  # it would answer with another error
    ("EACCES", "10.9.0.1/32", "prohibit", False),  # no address of this host
    ("EHOSTUNREACH", "10.1.0.0/24", "unreachable", True),
])  # fmt: skip
def test_a_rule_for_one_source_of_this_host_refuses_a_socket_that_is_bound_to_it(
    error: str, source: str, action: str, *, stops: bool
) -> None:
    rules = [*SOUND["routing_rules"], rule(90, 0, source=source, action=action)]
    (one,) = facts(call("10.0.0.2", "connect", error, port="80"), routing_rules=rules)
    assert one.stops is stops
    if stops:
        assert one.decider == f"rule 90 from {source} is {action}"
        assert one.asks == "10.0.0.2:80 --from 10.1.0.1"


def test_connections_given_up_because_lo_is_down() -> None:
    links = [link("lo", 1, type=772, kind="", up=False), *SOUND["links"][1:]]
    failed = call("127.0.0.1", "connection", "GIVEN_UP", port="80")
    (one,) = facts(failed, links=links)
    assert one.what == "a connection of dnsd[7] to 127.0.0.1:80 gets no answer"
    assert (one.decider, one.change) == ("the interface lo is down", "ip link set lo up")


def test_a_permanent_entry_decides_where_nothing_else_does() -> None:
    wrong = [Neighbour("a0", "10.0.0.2", 4, "permanent", "02:00:00:00:00:99")]
    waits = [Attempt("10.0.0.2:80", 3, 2, 0)]
    (one,) = facts(attempts=waits, neighbour_states=wrong)
    assert one.stops
    assert "02:00:00:00:00:99" in one.decider
    assert (one.change, one.sockets) == ("ip neigh del 10.0.0.2 dev a0", 3)


def test_a_neighbour_that_does_not_answer_explains_its_own_finding() -> None:
    absent = [Neighbour("a0", "10.0.0.254", 4, "failed")]
    (one,) = facts(call("198.51.100.7"), neighbour_states=absent)
    assert "10.0.0.254@a0" in one.explains
    assert "must answer ARP" in one.change


def test_what_is_no_trouble_of_a_destination() -> None:
    for one in (
        call(where="elsewhere"), call("", "bind"), call(TO, "bind", "EADDRINUSE"), call("unix"),
        call(TO, "connection", "0"),
    ):  # fmt: skip
        assert facts(one) == (), one
    assert facts(attempts=[Attempt("10.0.0.2:80", 1, 1, 0)]) == ()
    assert build(frame("ways", failed_calls=[call()]), seen()) == ()


def test_single_failures_at_many_destinations_are_one_trouble() -> None:
    """Each destination of a server farm is tried once: the first stands for all."""
    failed = [call(f"10.2.0.{n}", "connect", "EHOSTUNREACH", events=1, port="443")
              for n in range(1, 7)]  # fmt: skip
    opened = [call("10.3.0.1", "connection", "0", events=2, port="443"),
              call("10.3.0.2", "connection", "0", events=9, process="other")]  # fmt: skip
    alone = call("10.2.0.9", "connect", "EHOSTUNREACH", events=1, process="other")
    (one, other) = troubles(frame(failed_calls=[*failed, *opened, alone]), seen())
    assert (one.flow.name, one.events, one.answered) == ("10.2.0.1:443", 6, 2)
    assert one.calls[0].endswith("fails with EHOSTUNREACH, and so do those to 5 others")
    assert (other.flow.to, other.events, other.answered) == ("10.2.0.9", 1, 0)


def test_attempts_that_were_answered_count() -> None:
    (one,) = facts(call(TO, "connection", "ETIMEDOUT", events=1), call(TO, "connection", "0",
                                                                      events=9))  # fmt: skip
    assert one.share == 0.1
    (other,) = facts(attempts=[Attempt("[::ffff:10.0.0.2]:80", 1, 2, 3)])
    assert (other.id, other.share) == ("10.0.0.2:80", 0.25)


def test_the_kernel_is_asked_about_a_few_destinations_in_the_protocol_of_the_call() -> None:
    calls = [call(f"10.2.0.{n}", events=n) for n in range(1, 3 * MOST)]
    found = troubles(frame(failed_calls=calls), seen())
    assert [one.events for one in found] == [11, 10, 9, 8]
    asks = asked(frame(failed_calls=[call()]), seen())
    assert asks == (
        Question(TO, protocol="udp", port=53), Question("10.0.0.1", TO, "a0", protocol="udp"),
    )  # fmt: skip
    tcp = [Attempt("[2001:db8::1]:443", 1, 2, 0)]
    assert asked(frame(), seen(tcp)) == (Question("2001:db8::1", port=443),)


def test_the_kind_names_its_target() -> None:
    assert KIND.target(WayFact("10.2.0.5:53")) == "10.2.0.5:53"


def test_a_refusal_is_an_answer_and_a_local_error_is_no_silence() -> None:
    entries = [Neighbour("a0", "10.0.0.2", 4, "permanent", "02:00:00:00:00:99")]
    for error, decides in (("ECONNREFUSED", False), ("EPERM", False), ("ETIMEDOUT", True)):
        failed = call("10.0.0.2", "connect", error)
        assert facts(failed, neighbour_states=entries)[0].stops is decides, error
    (local,) = facts(call("10.0.0.1", "connect", "ECONNREFUSED", port="81"))
    assert local.decider == "nothing listens at tcp port 81"
    absent = [Neighbour("a0", "10.0.0.2", 4, "failed")]
    (far,) = facts(call("10.0.0.2", "connect", "ECONNREFUSED"), neighbour_states=absent)
    assert not far.stops


def test_a_connection_that_gets_no_answer_any_more_is_in_trouble() -> None:
    known = {"protocol": "tcp", "namespace": None, "remote": "10.0.0.2", "remote_port": 5001,
             "process": "app", "pid": 7, "lost": 0, "send_q": 0, "tx_per_s": 0.0,
             "id": "tcp:1", "window": 9000, "mss": 1448, "probes": 0, "backoff": 0,
             "local": "10.0.0.1", "local_port": 443}  # fmt: skip
    stalled = SimpleNamespace(**{**known, "backoff": 2})
    absent = [Neighbour("a0", "10.0.0.2", 4, "failed")]
    (one,) = build(frame(neighbour_states=absent), seen(flows=[stalled]))
    assert f"{one.what}: {one.decider}" == (
        "the connection of app[7] to 10.0.0.2:5001 gets no answer any more: no neighbour answers "
        "for 10.0.0.2 on a0"
    )
    assert one.explains[0] == "tcp:1"
    (open_,) = troubles(frame(), seen(flows=[stalled]))
    assert (open_.flow.origin, open_.flow.source_port) == ("10.0.0.1", 443)
    failed = [call("10.0.0.2", "connect", "ETIMEDOUT", port="5001")]
    (both,) = troubles(frame(failed_calls=failed), seen(flows=[stalled]))
    assert (both.flow.origin, both.flow.source_port) == ("", 0)  # of a new connection as well
    for no in (
        {"probes": 1}, {"backoff": 1}, {"backoff": 3, "window": 0},
        {"backoff": 9, "protocol": "udp"}, {"backoff": 9, "namespace": "web"},
    ):  # fmt: skip
        flow = SimpleNamespace(**{**known, **no})
        assert build(frame(neighbour_states=absent), seen(flows=[flow])) == (), no
    probed = SimpleNamespace(**{**known, "probes": 2, "window": 0})
    assert build(frame(neighbour_states=absent), seen(flows=[probed]))[0].stops
    stuck = {**known, "probes": 0, "backoff": 0, "lost": 3, "send_q": 9000}
    for rate, count in ((0.0, 1), (5.0, 0), (None, 0)):
        flow = SimpleNamespace(**{**stuck, "tx_per_s": rate})
        assert len(build(frame(), seen(flows=[flow]))) == count


@pytest.mark.parametrize(("error", "slow"), [
    ("GIVEN_UP", True), ("EINVAL", False), ("EHOSTUNREACH", False),  # a route answers at once
])  # fmt: skip
def test_each_failure_without_an_answer_takes_seconds(error: str, *, slow: bool) -> None:
    routes = [*SOUND["fib"], route("10.2.0.0/24", None, kind="unreachable")]
    (one,) = facts(call(TO, "connection", error, port="80", events=1), fib=routes)
    assert one.slow is slow


def test_the_device_of_a_datagram_socket_is_asked_for_where_its_port_loses_packets() -> None:
    def lost(port: str) -> Any:
        row = Drop("NO_SOCKET", "__udp4_lib_rcv", "here", "2", "udp", port, 9, 3.0, "10.0.0.2",
                   40000, "10.0.0.1", int(port))  # fmt: skip
        return frame(drop_reasons=[row], sockets_udp=[listener("0.0.0.0", 53)])

    assert Question("10.0.0.1") in asked(lost("53"), seen())
    assert Question("10.0.0.1") not in asked(lost("54"), seen())


def test_the_way_back_is_asked_for_where_the_reverse_path_filter_rejects_an_answer() -> None:
    row = Drop("IP_RPFILTER", "ip_rcv_finish_core", "here", "2", "udp", "40000", 9, 3.0,
               "192.0.2.9", 53, "10.0.0.1", 40000)  # fmt: skip
    assert Question("192.0.2.9", protocol="udp") in asked(frame(drop_reasons=[row]), seen())


def test_no_way_leads_to_an_address_of_one_link_whose_interface_is_not_told() -> None:
    assert facts(call("fe80::9", "connect", "EINVAL", port="80")) == ()
