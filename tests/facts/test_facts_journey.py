"""Where packets wait: the stage that is named, what is said, and who lost what is sent again."""

from nettop.collect import drop_reasons
from nettop.collect.journeys import Row
from nettop.facts import journey
from nettop.facts.journey import LONG, Lost, Target

SHORT, LATE, LATER = 40, 96, 104  # buckets: 2 µs, 34 ms, 134 ms
NICS = {"2": "eth0"}


def row(stage: str, bucket: int, packets: int = 1, **values: object) -> Row:
    known = {"where": "here", "port": "443", "number": "2", "pid": 7, "name": "nginx", **values}
    return Row(stage, bucket, packets=packets, **known)  # type: ignore[arg-type]


def foremost(*rows: Row) -> str | None:
    first = journey.foremost(journey.stages(rows, NICS))
    return first.stage if first else None


def test_the_stage_of_the_longest_waits_is_named() -> None:
    assert foremost() is None
    assert foremost(*(row(stage, SHORT, 9) for stage in LONG)) is None
    for stage in LONG:
        assert foremost(row("queue", SHORT), row(stage, LATE)) == stage
    assert foremost(row("socket", LATE), row("queue", LATER)) == "queue"


def test_a_rare_long_wait_names_no_stage_but_is_told() -> None:
    rows = [row("socket", SHORT, 200), row("socket", LATE)]
    assert foremost(*rows) is None
    assert journey.sentences(journey.stages(rows, NICS), []) == [
        "1 packet waited > 10 ms for the reader nginx[7]; the longest 37.7 ms"
    ]


def test_a_queue_that_stands_is_told_where_no_packet_waits_long() -> None:
    """Half of the packets wait 5 ms: nothing is longer than 10 ms, and yet they wait."""
    rows = [row("queue", 85, 200), row("softirq-tx", SHORT, 200)]
    known = journey.stages(rows, NICS)
    assert foremost(*rows) is None
    told = journey.queued(known)
    assert "in the queue of eth0: it stands, though few wait > 10 ms" in told
    assert told.startswith("half of the packets wait 5")
    assert journey.queued(journey.stages([row("queue", SHORT, 200)], NICS)) == ""
    assert journey.queued(()) == ""


def test_a_reader_without_a_core_is_named_before_the_socket_where_its_packets_lie() -> None:
    assert foremost(row("socket", LATE, 50), row("woken", LATE)) == "woken"
    assert foremost(row("socket", LATER, 50), row("woken", LATE)) == "socket"  # it sleeps too


def test_each_core_reader_and_interface_has_its_sentence() -> None:
    rows = [
        row("softirq-rx", LATE, 2, number="3", where="host"), row("softirq-tx", LATE, number="3"),
        row("woken", LATE, 3), row("queue", LATE, 4), row("queue", LATE, number="9"),
        row("queue", LATE, number=""),
    ]  # fmt: skip
    assert journey.sentences(journey.stages(rows, NICS), []) == [
        "core 3: 2 receive softirqs ran > 2 ms after they were raised; the longest 37.7 ms",
        "the reader nginx[7] was woken and waited > 10 ms for a core: 3 times; the longest 37.7 ms",
        "4 packets waited > 10 ms in the queue of eth0; the longest 37.7 ms",
        "1 packet waited > 10 ms in the queue of interface 9; the longest 37.7 ms",
        "core 3: 1 transmit softirq ran > 2 ms after it was raised; the longest 37.7 ms",
    ]


def test_a_target_has_its_packets_its_readers_and_the_softirqs_of_the_host() -> None:
    softirq = row("softirq-rx", SHORT, where="host", port="", pid=0)
    mine, other = row("socket", SHORT), row("socket", SHORT, port="80", number="3", pid=8)
    woken, slept = row("woken", SHORT, port="", number=""), row("woken", SHORT, port="", pid=8)
    again = row("again", 0, number="")
    away = row("socket", SHORT, where="elsewhere", port="")
    every = [softirq, mine, other, woken, slept, again, away]
    assert journey.chosen(every, Target()) == every[:-1]
    of_nginx = [softirq, mine, woken, again]
    assert journey.chosen(every, Target(frozenset({"443", "40000"}))) == of_nginx
    assert journey.chosen(every, Target(number="2")) == of_nginx
    assert journey.chosen(every, Target(number="5")) == [softirq, again]


def drop(reason: str, packets: int, **values: str) -> drop_reasons.Row:
    known = {"where": "here", "protocol": "tcp", "port": "443", **values}
    return drop_reasons.Row(reason, "tbf_enqueue", interface="2", packets=packets, **known)  # type: ignore[arg-type]


def test_what_is_sent_again_was_lost_here_as_far_as_this_host_dropped_it() -> None:
    rows = [row("again", 0, 9), row("socket", SHORT)]
    lost = Lost("443", 9, 4, "QDISC_DROP", "tbf_enqueue")
    others = [
        drop("QDISC_DROP", 8, port="80"), drop("QDISC_DROP", 8, protocol="udp"),
        drop("QDISC_DROP", 8, where="elsewhere"), drop("TCP_OLD_DATA", 8),
    ]  # fmt: skip
    assert journey.losses(rows, [drop("QDISC_DROP", 4), *others]) == [lost]
    assert journey.losses(rows, [drop("QDISC_DROP", 40)]) == [lost._replace(here=9)]
    assert journey.losses(rows, others) == [Lost("443", 9, 0)]
    assert journey.losses(rows, None) == [Lost("443", 9, None)]
    part, *parts = journey.sentences([], [lost, lost._replace(here=9), Lost("", 1, None)])
    here, _, there = part.partition(", ")
    assert here.endswith(": this host lost 4 (QDISC_DROP in tbf_enqueue)")
    assert there == "the network or the other end 5"
    assert parts == [
        "9 segments sent again by port 443: this host lost them (QDISC_DROP in tbf_enqueue)",
        "1 segment sent again by port ?: whether this host dropped them was not counted",
    ]
