"""Losses of a look: by counters, by the kernel's reasons, and the rest by stage."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettop.collect import drop_reasons, packet_sockets, qdiscs, snmp, softnet
from nettop.facts import Facts
from nettop.facts.accounting import account
from nettop.facts.joined import Joiner
from nettop.facts.kinds.nic import Counters, Nic
from nettop.facts.losses import Accounting, sentence
from nettop.frame.pairs import entries
from nettop.frame.rates import Frame

BEGIN = 100.0  # seconds
LOOK = 5.0


def told(
    reason: str, packets: int, protocol: str = "udp", where: str = "here", place: str = "",
    seconds: float = LOOK,
) -> drop_reasons.Row:  # fmt: skip
    return drop_reasons.Row(reason, place, where, "2", protocol, "53", packets, seconds)


def moment(at: float, *drops: drop_reasons.Row, nics: tuple[Nic, ...] = (), **more: Any) -> Any:
    """A frame and its facts; `more`: counters of the protocols, of the CPUs, or a table."""
    tables = {
        "snmp": [snmp.row({})], "softnet": [softnet.Row(0, 0, more.pop("backlog", 0), 0)],
        "qdiscs": more.pop("qdiscs", []), "drop_reasons": list(drops),
        "packet_sockets": more.pop("captures", []),
    }  # fmt: skip
    container, missing = more.pop("container", ""), more.pop("missing", {})
    tables["snmp"] = [replace(tables["snmp"][0], **more)]
    read = {name: entries(rows, (), 0.0) for name, rows in tables.items() if name not in missing}
    frame = Frame(at, at, read, missing, {})
    facts: Facts = Joiner().build(frame)
    host = replace(facts.host, container=container)
    return frame, replace(facts, nics=nics, host=host)


def look(*drops: drop_reasons.Row, nics: tuple[Nic, ...] = (), **more: Any) -> Accounting:
    """The account of a look that began with all counters zero, the interfaces too."""
    zero = tuple(replace(nic, total=Counters(**dict.fromkeys(_known(nic), 0))) for nic in nics)
    names = [f for f in more if f in snmp._SUMS]
    first = moment(BEGIN, nics=zero, **dict.fromkeys(names, 0))
    return account(first, moment(BEGIN + LOOK, *drops, nics=nics, **more))


def _known(nic: Nic) -> list[str]:
    return [f for f in Counters.__dataclass_fields__ if getattr(nic.total, f) is not None]


def nic(kind: str = "nic", driver: str = "", **total: float) -> Nic:
    return Nic("eth0", kind, driver=driver, total=Counters(**total))


def test_what_is_lost_is_what_is_explained_and_the_rest_by_stage() -> None:
    one = look(
        told("SOCKET_RCVBUFF", 2000), told("QDISC_OVERLIMIT", 400), told("NETFILTER_DROP", 30),
        nics=(nic(ring_drops=50, qdisc_drops=1000),), udp_rcvbuf_errors=2000,
    )  # fmt: skip
    assert (one.counted, one.explained, one.uncertain) == (3050, 2400, 0)
    assert one.stages == {"qdisc": 600, "ring": 50}
    assert sentence(one) == (
        "lost in 5 s: 3,050 packets by counters; 2,400 explained by the kernel's reasons "
        "(SOCKET_RCVBUFF, QDISC_OVERLIMIT); 650 by stage: qdisc 600, ring 50; "
        "30 more by the kernel's reasons alone (NETFILTER_DROP)"
    )


def test_no_more_is_explained_than_counted_and_few_without_a_reason_are_no_rest() -> None:
    segments = look(told("QDISC_DROP", 44_000), nics=(nic(qdisc_drops=1000),))
    assert (segments.counted, segments.explained, segments.alone) == (1000, 1000, ())
    assert "1,000 explained by the kernel's reasons (QDISC_DROP: 44,000 segments)" in (
        sentence(segments)
    )
    late = look(told("SOCKET_RCVBUFF", 990), udp_rcvbuf_errors=1000)
    assert (late.explained, late.uncertain, late.stages) == (990, 10, {})
    assert sentence(late).endswith("(SOCKET_RCVBUFF); 10 within the error of both readings")
    assert look(told("SOCKET_RCVBUFF", 1), udp_rcvbuf_errors=3).stages == {}
    assert look(udp_rcvbuf_errors=3).stages == {"rcvbuf": 3}


def test_reasons_of_a_part_of_the_time_explain_nothing() -> None:
    seen = look(replace(told("SOCKET_RCVBUFF", 20), seconds=2.0), udp_rcvbuf_errors=200)
    assert (seen.seconds, seen.counted, seen.explained) == (LOOK, 200, 0)
    assert "explained: not read, the kernel's reasons are of 2 s alone" in sentence(seen)


def test_where_nothing_is_lost_nothing_is_said() -> None:
    sound = [told("TCP_OLD_DATA", 80, "tcp"), told("NOT_SPECIFIED", 9, place="kfree_skb_list")]
    assert sentence(look(*sound)) == ""
    assert sentence(look(told("NETFILTER_DROP", 8, where="elsewhere"))) == ""


def test_what_the_host_answers_is_refused_and_no_loss() -> None:
    why = {"drop_reasons": "counting in the kernel needs root"}
    scanned = look(udp_no_ports=1, missing=why)
    assert (scanned.counted, scanned.places) == (0, ())
    assert sentence(scanned) == "refused in 5 s: 1 packet that no socket takes"
    both = look(told("NO_SOCKET", 9), told("NO_SOCKET", 4, "tcp"), told("SOCKET_RCVBUFF", 20),
                udp_no_ports=9, udp_rcvbuf_errors=20)  # fmt: skip
    assert (both.counted, both.explained, both.alone) == (20, 20, ())
    assert sentence(both).endswith("(SOCKET_RCVBUFF); refused: 13 packets that no socket takes")
    full = look(told("NO_SOCKET", 5, "tcp", place="cookie_v4_check"))
    assert (full.refused, full.alone) == (0, (("NO_SOCKET", 5),))


def test_without_the_reasons_all_is_the_rest_and_why_is_said() -> None:
    why = {"drop_reasons": "counting in the kernel needs root"}
    assert sentence(look(udp_rcvbuf_errors=9, missing=why)) == (
        "lost in 5 s: 9 packets by counters; by stage: rcvbuf 9; explained: not read, counting in "
        "the kernel needs root"
    )
    unasked = {"drop_reasons": ""}
    assert sentence(look(udp_rcvbuf_errors=9, missing=unasked)).endswith("rcvbuf 9; not explained")
    ring = look(nics=(nic(ring_drops=9),), missing=unasked)  # no reason is ever given there
    assert sentence(ring) == "lost in 5 s: 9 packets by counters; by stage: ring 9"


@pytest.mark.parametrize(("seconds", "rest"), [(LOOK, 7), (4.6, 0)])
def test_what_reasons_and_counters_of_unlike_length_differ_by_is_no_rest(
    seconds: float, rest: int
) -> None:
    one = look(told("IP_RPFILTER", 113, "tcp", seconds=seconds), reverse_path_drops=120)
    assert (one.counted, one.explained) == (120, 113)
    assert (sum(one.stages.values()), one.uncertain) == (rest, 7 - rest)


def test_counters_of_the_protocols_say_what_they_count() -> None:
    assert sentence(look(listen_drops=12)) == (
        "lost in 5 s: 12 packets by counters; 0 explained by the kernel's reasons; "
        "12 by stage: protocols 12 (SYNs dropped)"
    )


def test_a_backlog_serves_all_namespaces_and_a_container_lost_what_its_interfaces_did() -> None:
    rows = told("CPU_BACKLOG", 60, where="elsewhere"), told("CPU_BACKLOG", 40)
    one = look(*rows, backlog=100)
    assert (one.counted, one.explained, one.stages) == (100, 100, {})
    inside = look(*rows, backlog=100, container="docker", nics=(nic("veth", rx_dropped=40),))
    assert (inside.counted, inside.explained) == (40, 40)


def test_an_interface_that_counts_what_another_place_dropped_has_no_part() -> None:
    veth = nic("veth", "veth", tx_dropped=100, rx_dropped=100)
    assert look(told("CPU_BACKLOG", 100), backlog=100, nics=(veth,)).counted == 100
    tun = look(told("FULL_RING", 90), nics=(nic("tunnel", "tun", tx_dropped=90),))
    assert (tun.counted, tun.explained) == (90, 90)


def test_what_a_capture_misses_is_lost_as_its_socket_counts_it() -> None:
    none: Any = dict.fromkeys(packet_sockets.Row.__dataclass_fields__)
    before, now = (packet_sockets.Row(**{**none, "inode": 7, "drops": n}) for n in (5, 405))
    first, last = (
        moment(BEGIN, captures=[before]),
        moment(BEGIN + LOOK, told("PACKET_SOCK_ERROR", 120, place="packet_rcv"), captures=[now]),
    )
    one = account(first, last)
    assert (one.counted, one.explained, one.stages) == (400, 120, {"capture": 280})


def test_drops_of_filters_and_of_xdp_are_of_their_own_counters() -> None:
    def ingress(drops: int) -> list[Any]:
        return [qdiscs.Row("eth0", "ingress", "ffff:", "ingress", root=False, drops=drops)]

    first = moment(BEGIN, qdiscs=ingress(5), nics=(nic(xdp_drops=0),))
    last = moment(BEGIN + LOOK, told("TC_INGRESS", 20), qdiscs=ingress(25),
                  nics=(nic(xdp_drops=7),))  # fmt: skip
    one = account(first, last)
    assert (one.counted, one.explained, one.stages) == (27, 20, {"xdp": 7})


def test_what_was_counted_before_the_look_is_no_part_of_it() -> None:
    before = told("NETFILTER_DROP", 100, seconds=60.0)
    now = told("NETFILTER_DROP", 130, seconds=60.0 + LOOK)
    assert account(moment(BEGIN, before), moment(BEGIN + LOOK, now)).alone == (
        ("NETFILTER_DROP", 30),
    )
    of_an_earlier_look = told("NETFILTER_DROP", 100, seconds=2.0)
    now = told("NETFILTER_DROP", 30, seconds=LOOK + 0.1)
    assert account(moment(BEGIN, of_an_earlier_look), moment(BEGIN + LOOK, now)).alone == (
        ("NETFILTER_DROP", 30),
    )


@pytest.mark.parametrize(("fails", "explained"), [(90, 90), (20, 0), (0, 0)])
def test_fragments_of_no_interface_explain_a_counter_that_has_as_many(
    fails: int, explained: int
) -> None:
    lost = told("FRAG_TOO_FAR", 100, protocol="", where="unknown", place="inet_frag_rbtree_purge")
    one = look(lost, reasm_fails=fails)
    assert (one.explained, one.alone) == (explained, ())


def test_a_drop_without_a_reason_has_its_place() -> None:
    one = look(told("NOT_SPECIFIED", 300, place="ip_error"))
    assert sentence(one) == "lost in 5 s: 300 packets by the kernel's reasons alone (ip_error)"


COUNTS = st.integers(0, 10_000)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_the_parts_add_up(counted: int, told_of: int, ring: int, filtered: int) -> None:
    one = look(
        told("SOCKET_RCVBUFF", told_of), told("NETFILTER_DROP", filtered),
        nics=(nic(ring_drops=ring),), udp_rcvbuf_errors=counted,
    )  # fmt: skip
    assert one.counted == counted + ring
    assert one.counted == one.explained + one.uncertain + sum(one.stages.values())
    assert one.explained <= min(counted, told_of)
    assert min(one.uncertain, *one.stages.values(), 0) == 0


def test_the_time_is_that_of_the_drops_where_it_is_known() -> None:
    alone = look(told("NETFILTER_DROP", 90, seconds=4.5))
    assert (alone.seconds, alone.alone) == (4.5, (("NETFILTER_DROP", 90),))
    kept = account(
        moment(BEGIN, told("NETFILTER_DROP", 10, seconds=60.0)),
        moment(BEGIN + LOOK, told("NETFILTER_DROP", 100, seconds=64.5)),
    )
    assert (kept.seconds, kept.alone) == (4.5, (("NETFILTER_DROP", 90),))


@pytest.mark.parametrize(("reason", "place", "protocol", "counters"), [
    ("SOCKET_FILTER", "udp_queue_rcv_one_skb", "udp", {"udp_errors": 90}),
    ("XFRM_POLICY", "udp_queue_rcv_one_skb", "udp", {"udp_errors": 90}),
    ("PKT_TOO_BIG", "ip_forward", "tcp", {"frag_refused": 90}),
    ("TCP_RFC7323_PAWS", "tcp_validate_incoming", "tcp", {"paws_drops": 90}),
    ("FRAG_REASM_TIMEOUT", "ip_expire", "udp", {"reasm_fails": 90}),
])  # fmt: skip
def test_what_a_counter_of_a_protocol_counts_is_not_told_by_the_reasons_alone(
    reason: str, place: str, protocol: str, counters: dict[str, int]
) -> None:
    more: Any = counters
    one = look(told(reason, 90, protocol, place=place), **more)
    assert (one.counted, one.explained, one.alone) == (90, 90, ())


def test_errors_of_datagrams_count_once() -> None:
    one = look(told("SOCKET_RCVBUFF", 60), told("SOCKET_FILTER", 30, place="udp_queue_rcv_one_skb"),
               udp_errors=90, udp_rcvbuf_errors=60)  # fmt: skip
    assert (one.counted, one.explained) == (90, 90)
