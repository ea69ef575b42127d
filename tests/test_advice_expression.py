"""Expressions: what is allowed, what is refused, and that both ways of judging agree."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nettop.advice.judge.condition import Judged
from nettop.advice.judge.inline_facts import facts
from nettop.advice.judge.loop import code_of, true_on
from nettop.advice.language.evaluate import Scope, evaluate
from nettop.advice.language.expression import condition, parse
from nettop.advice.language.functions.cpus import cpu_list
from nettop.advice.language.functions.numbers import pow2
from nettop.advice.language.moment import Moment
from nettop.advice.language.native import compiled, value_of
from nettop.advice.language.syntax import ExpressionError
from nettop.advice.language.template import template
from nettop.advice.language.values import KEEP, setting
from nettop.advice.rules.rule import Rule, Words
from nettop.facts import Facts

NIC: dict[str, Any] = {
    "ring": {"rx": 256, "rx_max": 4096},
    "per_s": {"ring_drops": 1204.0},
    "features": {"rx-gro": False, "rx-lro": "fixed off"},
    "qdisc": "mq",
    "local_cpus": [0, 1, 2, 3],
}
CORES = [
    {"cpu": 0, "node": 0, "siblings": [2], "l2": [0, 2], "l3": [0, 1, 2, 3], "softirq": 90.0},
    {"cpu": 1, "node": 0, "siblings": [3], "l2": [1, 3], "l3": [0, 1, 2, 3], "idle": 50.0},
    {"cpu": 2, "node": 0, "siblings": [0], "l2": [0, 2], "l3": [0, 1, 2, 3], "idle": 99.0},
    {"cpu": 3, "node": 0, "siblings": [1], "l2": [1, 3], "l3": [0, 1, 2, 3], "idle": 99.0},
    {"cpu": 4, "node": 1, "siblings": [], "l2": [4], "l3": [4], "idle": 99.0},
]
HOST = facts(
    {
        "nic": NIC,
        "cores": CORES,
        "sysctls": {"net.ipv4.tcp_rmem": "4096 131072 6291456", "net.ipv4.tcp_sack": 0},
        "host": {"kernel": [6, 1], "cpus": 5},
    },
    "bulk-lan",
)


def value(text: str, over: str = "nic", at: Facts = HOST, *, to: bool = False) -> Any:
    """Its value, which both ways give."""
    made, here = parse(text, over, to=to), scope(over, at)
    found = evaluate(made, here).value
    assert value_of(made, here) == found
    return found


def scope(over: str, at: Facts = HOST, limits: dict[str, Any] | None = None) -> Scope:
    moment = Moment(at)
    fact = at.host if over == "host" else getattr(at, f"{over}s")[0]
    return Scope(moment.scope(over, fact), moment, limits or {})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("nic.ring.rx", 256),
        ("nic.ring.rx < nic.ring.rx_max", True),
        ("not nic.ring.rx < nic.ring.rx_max", False),
        ("nic.ring.tx < 5", None),
        ("nic.ring.tx < 5 and nic.ring.rx == 1", False),
        ("nic.ring.tx < 5 and nic.ring.rx == 256", None),
        ("nic.ring.tx < 5 or nic.ring.rx == 256", True),
        ("not (nic.ring.tx < 5 or nic.ring.rx == 256)", False),
        ("nic.ring.tx != 5", None),
        ("known(nic.ring.tx)", False),
        ("not known(nic.ring.tx)", True),
        ("on(nic, 'rx-gro')", False),
        ("fixed(nic, 'rx-lro')", True),
        ("on(nic, 'rx-nothing')", None),
        ("sysctl('net.ipv4.tcp_rmem')[2]", 6291456),
        ("sysctl('net.ipv4.tcp_rmem')[9]", None),
        ("sysctl('net.ipv4.tcp_sack') == 0", True),
        ("sysctl('net.ipv4.gone') == 0", None),
        ("nic.qdisc in ('mq', 'fq')", True),
        ("nic.leaf_qdisc not in ('mq', 'fq')", None),
        ("1 / 0 > 1", None),
        ("nic.ring.rx / (nic.ring.rx - 256) > 1 or nic.ring.rx == 256", True),
        ("host.kernel >= (5, 12)", True),
        ("host.kernel >= (6, 11)", False),
        ("min(nic.ring.rx * 2, nic.ring.rx_max)", 512),
        ("min(nic.ring.rx * 2, nic.ring.tx_max)", None),
        ("pow2(5e6)", 8388608),
        ("256 < nic.ring.rx_max <= 4096", True),
        ("256 < nic.ring.rx_max < nic.ring.tx", None),
        ("256 > nic.ring.rx_max > nic.ring.tx", False),
        ("any((nic.ring.tx == 1, nic.ring.rx == 256))", True),
        ("all((nic.ring.tx == 1, nic.ring.rx == 256))", None),
        ("all((nic.ring.tx == 1, nic.ring.rx == 1))", False),
        ("len(nic.local_cpus)", 4),
        ("nth(nic.local_cpus, 5)", 1),
        ("both(nic.local_cpus, (2, 3, 9))", (2, 3)),
        ("without(nic.local_cpus, 0, (1, 7))", (2, 3)),
        ("cpu_list((0, 1, 2, 8))", "0-2,8"),
        ("core(0).softirq > 80", True),
        ("core(9).softirq > 80", None),
        ("core(1).softirq > 80", None),
        ("beside(0)", 3),
        ("beside(4)", None),
        ("spread(nic.local_cpus, 0)", 0),
        ("spread(nic.local_cpus, 1)", 1),
        ("spread(nic.local_cpus, 2)", 2),
        ("own_cpus(1, 2)", (1, 3)),
        ("profile == 'bulk-lan'", True),
        ("5 if nic.ring.rx > 1 else 6", 5),
        ("5 if nic.ring.tx > 1 else 5", None),
        ("since_boot(nic.per_s.ring_drops)", None),
        ("worst(nic.per_s.ring_drops, 60)", 1204.0),
        ("-nic.ring.rx", -256),
        ("nic.driver == ''", True),
    ],
)
def test_values(text: str, wanted: Any) -> None:
    assert value(text) == wanted
    assert type(value(text)) is type(wanted)


def test_a_triple_keeps_what_is_there() -> None:
    assert value("triple(keep, keep, pow2(9))", to=True) == (KEEP, KEEP, 16)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("nic.ring.rxx > 1", "unknown field nic.ring.rxx; did you mean rx?"),
        ("nik.ring.rx > 1", "did you mean nic?"),
        ("nic.ring > 1", "is a fact"),
        ("nic == 1", "is a fact"),
        ("nic.speed", "a condition must be yes or no"),
        ("nic.speed and nic.up", "yes/no is wanted"),
        ("nic.speed == '10G'", "cannot be compared"),
        ("nic.driver < 'x'", "cannot be compared"),
        ("sysctl('net.ipv4.tcp_sack') and nic.up", "yes/no is wanted"),
        ("nic.mtu + nic.driver > 1", "number is wanted"),
        ("sysct('x') == 1", "did you mean sysctl?"),
        ("sysctl(nic.name) == 1", "constant text"),
        ("on(host, 'rx-gro')", "the first argument is nic"),
        ("known(1 / 0)", "known takes a field"),
        ("limits.drops > 1", "unknown limit"),
        ("min() > 1", "arguments"),
        ("keep == 1", "unknown name"),
        ("triple(1, 2, 3) == 1", "unknown function"),
        ("nic.mtu is 5", "not allowed"),
        ("nic.mtu > ", "invalid syntax"),
        ("nic.mtu > None", "not allowed"),
        ("nic.mtu ** 2 > 1", "not allowed"),
        ("nic.mtu @ 2 > 1", "not allowed"),
        ("nic.mtu << 2 > 1", "not allowed"),
        ("nic.local_cpus[nic.mtu] > 1", "constant index"),
        ("worst(1 + 1, 60) > 1", "is a field"),
        ("since_boot(nic.mtu) > 1", "nic.per_s"),
    ],
)
def test_mistakes_are_named(text: str, part: str) -> None:
    with pytest.raises(ExpressionError) as error:
        condition(text, "nic")
    assert part in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('id') == 0",
        "nic.__class__ == 1",
        "nic.ring.__init__ == 1",
        "().__class__.__bases__[0] == 1",
        "(lambda: 1)() == 1",
        "[x for x in (1, 2)] == 1",
        "(x := 1) == 1",
        "any(x for x in (1, 2))",
        "open('/etc/passwd') == 1",
        "f'{nic.name}' == ''",
        "min(*nic.local_cpus) == 1",
        "min(1, 2, key=3) == 1",
        "{1: 2} == 1",
        "nic.name.format(1) == ''",
        "sysctl('a'.join('b')) == 1",
        "eval('1') == 1",
        "core(0).__class__ == 1",
        "await nic.mtu == 1",
        "'a' * 1000000000 == ''",
        "b'x' == b'x'",
        "1j == 1",
        "... == 1",
        "(" * 500 + "1" + ")" * 500,
        "not " * 3000 + "True",
        "nic.mtu == 1\nimport os",
        "nic.mtu == 1; 2",
    ],
)
def test_nothing_but_the_whitelist_passes(text: str) -> None:
    with pytest.raises(ExpressionError):
        condition(text, "nic")


@given(st.text(alphabet="nicrg.ut_ ()[]'\"0129<>=!+-*/andorkw,:\n\\{}@", max_size=60))
def test_any_text_is_an_expression_or_one_error(text: str) -> None:
    said = ""
    try:
        parsed = condition(text, "nic").text
    except ExpressionError as error:
        parsed, said = "", str(error)
    assert bool(parsed) is not bool(said)


LEAVES = st.sampled_from(
    [
        "nic.ring.rx > 300", "nic.ring.tx < nic.ring.tx_max", "nic.per_s.ring_drops > 0",
        "nic.qdisc == 'mq'", "nic.leaf_qdisc != 'fq'", "nic.qdisc in ('fq', 'mq')",
        "nic.up", "nic.carrier", "nic.para", "on(nic, 'rx-gro')", "fixed(nic, 'rx-lro')",
        "known(nic.speed)", "known(nic.irq_top_cpu)",
        "sysctl('net.ipv4.tcp_rmem')[2] > 6000000", "sysctl('net.ipv4.gone') == 1",
        "core(nic.irq_top_cpu).softirq > 80", "core(nic.irq_top_cpu).idle < 5",
        "nic.mtu / nic.ring.rx > 5", "nic.mtu / (nic.ring.rx - nic.ring.rx) > 5",
        "host.kernel >= (6, 1)", "profile == 'latency'", "nic.irq_top_cpu in nic.local_cpus",
        "256 <= nic.ring.rx < nic.ring.rx_max", "worst(nic.per_s.ring_drops, 60) > 10",
        "min(nic.ring.rx, nic.mtu) > 300", "any((nic.up, nic.carrier))", "all((nic.up, nic.para))",
        "beside(nic.irq_top_cpu) == 3", "sysctl('net.ipv4.tcp_rmem') > 5", "True", "False",
        "(nic.up if nic.carrier else nic.para)",
        "nic.mtu > (nic.speed if nic.up else nic.ring.rx)",
        "nic.mtu > (1 if nic.mtu / nic.ring.rx > 1 else nic.ring.tx)",
    ]
)  # fmt: skip
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: f"({p[0]} and {p[1]})"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]} or {p[1]})"),
        inner.map(lambda one: f"(not {one})"),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} if {p[1]} else {p[2]})"),
        st.tuples(inner, inner).map(lambda p: f"any(({p[0]}, {p[1]}))"),
    ),
    max_leaves=6,
)
MAYBE = st.sampled_from([None, True, False])
NUMBERS = st.sampled_from([None, 0, 1, 256, 512])


@st.composite
def nics(draw: st.DrawFn) -> dict[str, Any]:
    nic: dict[str, Any] = {
        "up": draw(MAYBE),
        "carrier": draw(MAYBE),
        "mtu": draw(NUMBERS),
        "speed": draw(NUMBERS),
        "qdisc": draw(st.sampled_from([None, "mq", "fq"])),
        "irq_top_cpu": draw(st.sampled_from([None, 0, 1, 9])),
        "ring": {name: draw(NUMBERS) for name in ("rx", "rx_max", "tx", "tx_max")},
        "per_s": {"ring_drops": draw(NUMBERS)},
    }
    nic["ring"] = {k: v for k, v in nic["ring"].items() if v is not None}
    nic["per_s"] = {k: v for k, v in nic["per_s"].items() if v is not None}
    nic = {k: v for k, v in nic.items() if v is not None}
    if draw(st.booleans()):
        nic["features"] = {"rx-gro": draw(st.booleans()), "rx-lro": "fixed off"}
    return nic


@settings(max_examples=300, deadline=None)
@given(TREES, nics())
def test_the_fast_way_and_the_careful_way_agree(text: str, nic: dict[str, Any]) -> None:
    at = replace(HOST, nics=facts({"nic": nic}, "bulk-lan").nics)
    made = condition(text, "nic")
    here = scope("nic", at)
    careful = evaluate(made, here)
    judged = Judged.of(_rule(text))
    code = code_of("nic", [judged, judged])
    assert "careful(0" not in code
    loop = compiled(code)
    row = (at.nics[0],)

    def careful_too(_place: int, row: tuple[Any, ...]) -> bool:
        return judged.holds(row, here.moment, _name)

    found = true_on(loop, 2, [row], here.moment, _name, careful_too)
    assert found == ([(0, row), (1, row)] if careful.value is True else [])
    assert careful.value in (True, False, None)
    assert value_of(made, here) is careful.value
    if careful.value is None:
        assert careful.reads, "an unknown must name what is not known"


def _name(nic: Any) -> str:
    return str(nic.name)


def _rule(text: str) -> Rule:
    said = template("t", "nic")
    words = Words(said, said, said)
    return Rule("r", "s", "p", "info", "nic", condition(text, "nic"), lambda: words)


def test_an_unknown_names_only_what_is_unknown() -> None:
    result = evaluate(parse("nic.ring.rx < nic.ring.tx", "nic"), scope("nic"))
    assert [read.field for read in result.unknown()] == ["nic.ring.tx"]


def test_evidence_is_what_decided() -> None:
    text = "(nic.ring.rx == 1 or nic.qdisc == 'mq') and nic.ring.rx_max > 1"
    result = evaluate(parse(text, "nic"), scope("nic"))
    assert [read.field for read in result.reads] == ["nic.qdisc", "nic.ring.rx_max"]
    units = {read.field: read.unit for read in result.reads}
    assert units == {"nic.qdisc": "", "nic.ring.rx_max": "descriptors"}


def test_templates_show_values_with_units_and_names() -> None:
    made = template(
        "{nic}: ring {nic.ring.rx}, {nic.ring.tx}, {{x}}, {nic.per_s.ring_drops}", "nic"
    )
    shown = made.prose(scope("nic"))
    assert shown == "eth0: ring 256 descriptors, unknown, {x}, 1,204 packets"
    assert template("ring.rx@{nic}", "nic").name(scope("nic")) == "ring.rx@eth0"
    assert template("ring.rx@{nic.fec}", "nic").name(scope("nic")) is None


def test_templates_write_names_and_small_numbers_as_a_person_would() -> None:
    at = facts(
        {"process": {"name": "a", "pid": 12345, "udp": 1, "nic": "eth0"}, "nic": {"mtu": 1500}},
        "server",
    )
    made = template("{process}[{pid}]: {process.udp}, {nic.mtu}, {nic.local_cpus}", "process")
    assert made.prose(scope_of(at)) == "a[12345]: 1 socket, 1500 bytes, none"
    lines = template("{host.legacy}", "host")
    told = facts({"host": {"legacy": ["a:1 x = 0", "b:2 y = 1"]}}, "server")
    moment = Moment(told)
    assert lines.prose(Scope(moment.scope("host", told.host), moment, {})) == (
        "a:1 x = 0; b:2 y = 1"
    )


def test_a_command_without_a_target_can_be_typed() -> None:
    made = template("{nic} drops: ip link show {nic}, ethtool -A {nic} rx off", "nic")
    assert made.general({}) == "The interface drops: ip link show IF, ethtool -A IF rx off"


def test_a_text_without_a_target_is_a_sentence() -> None:
    """[lost because the receive ring was full] every second is none."""
    made = template("A ring of {nic.ring.rx} loses {nic.per_s.ring_drops} every second.", "nic")
    assert made.general({}) == "A ring of N descriptors loses N packets every second."
    made = template("{flow.loss_ratio} lost, {min(flow.rtt, 1)} on; by its {flow.limit}", "flow")
    assert made.general({}) == "N % lost, N on; by its [who limits it]"
    made = template("waits {nic.coalesce.rx_usecs} on {cpu_list(nic.local_cpus)}", "nic")
    assert made.general({}) == "waits N µs on [CPUs]"


@pytest.mark.parametrize("text", ["{nic", "nic}", "{pid}", "{nic.nothing}", "{}"])
def test_templates_that_cannot_be(text: str) -> None:
    with pytest.raises(ExpressionError):
        template(text, "nic")


def test_a_name_from_the_host_is_never_printed_raw() -> None:
    at = facts({"process": {"name": "a\x1b[31mb", "pid": 7, "nic": "eth0"}}, "server")
    shown = template("{process}", "process").prose(scope_of(at))
    assert "\x1b" not in shown


def scope_of(at: Facts) -> Scope:
    moment = Moment(at)
    return Scope(moment.scope("process", at.processes[0]), moment, {})


def test_a_value_asked_for_each_queue_knows_the_queue() -> None:
    at = facts({"nic": {**NIC, "rx_queues": 4}, "queues": [{"name": "rx-3"}, {}]}, "server")
    moment = Moment(at)
    for text, limits, wanted in (
        ("queue.name", {}, ("rx-3", "rx-0")),
        ("nth(nic.local_cpus, queue.number)", {}, (3, 0)),
        ("limits.whole // nic.rx_queues + queue.number", {"whole": 32}, (11, 8)),
        ("nic.rx_queues / queue.number", {}, (4 / 3, None)),
        ("queue.irq", {}, (None, None)),
        ("queue.direction == 'rx' and not queue.number == 3", {}, (False, True)),
    ):
        made = parse(text, "nic", limits, also=("queue",))
        found = [
            value_of(made, Scope({"nic": at.nics[0], "queue": one}, moment, limits))
            for one in at.queues
        ]
        assert found == list(wanted), text


def test_functions_of_numbers() -> None:
    assert [pow2(x) for x in (0, 1, 2, 3, 4, 5.5, 1023, 1024, 1025)] == [
        1, 1, 2, 4, 4, 8, 1024, 1024, 2048,
    ]  # fmt: skip
    assert cpu_list((3, 1, 2, 9)) == "1-3,9"
    assert cpu_list(4) == "4"
    assert setting("4096\t131072  6291456") == (4096, 131072, 6291456)
    assert setting("cubic") == "cubic"
    assert setting("-1") == -1


def test_every_field_of_every_fact_is_a_word_with_a_type() -> None:
    from nettop.advice.language.vocabulary import ANY, KINDS, words

    loose = [
        f"{kind.__name__}.{name}"
        for kind in KINDS.values()
        for name, word in words(kind).items()
        if word.type == ANY
    ]
    assert loose == []
    assert set(words(KINDS["nic"])) == {f.name for f in fields(KINDS["nic"])}
