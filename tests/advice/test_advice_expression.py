"""Expressions: what is allowed, what is refused, what they give."""

from dataclasses import fields
from typing import Any

import pytest
from expression_host import HOST, scope
from folded import folded
from hypothesis import given
from hypothesis import strategies as st

from nettop.advice.language.evaluate import evaluate
from nettop.advice.language.expression import condition, parse
from nettop.advice.language.functions.cpus import cpu_list
from nettop.advice.language.functions.numbers import pow2
from nettop.advice.language.native import value_of
from nettop.advice.language.syntax import ExpressionError
from nettop.advice.language.values import KEEP, setting
from nettop.facts import Facts


def value(text: str, over: str = "nic", at: Facts = HOST, *, to: bool = False) -> Any:
    """Its value, which both ways give."""
    made, here = parse(text, over, to=to), scope(over, at)
    found = evaluate(made, here).value
    assert value_of(made, here) == found
    return found


@folded(
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
        ("increase(nic.per_s.ring_drops, 60)", 0.0),
        ("increase(nic.per_s.rx_bytes, 60)", None),
        ("-nic.ring.rx", -256),
        ("nic.driver == ''", True),
        ("nic.ring.rx > " + "0" * 1986, True),
    ],
)
def test_values(text: str, wanted: Any) -> None:
    assert value(text) == wanted
    assert type(value(text)) is type(wanted)


def test_a_triple_keeps_what_is_there() -> None:
    assert value("triple(keep, keep, pow2(9))", to=True) == (KEEP, KEEP, 16)


@folded(
    ("text", "part"),
    [
        ("nic.ring.rxx > 1", "unknown field nic.ring.rxx (did you mean rx?)"),
        ("nik.ring.rx > 1", "did you mean nic?"),
        ("nic.ring > 1", "is a fact"),
        ("nic == 1", "is a fact"),
        ("nic.speed", "a condition must be true or false"),
        ("nic.speed and nic.up", "yes/no is required"),
        ("nic.speed == '10G'", "cannot be compared"),
        ("nic.driver < 'x'", "cannot be compared"),
        ("nic.carrier == 0", "write `not nic.carrier` for no"),
        ("sysctl('net.ipv4.tcp_sack') and nic.up", "yes/no is required"),
        ("nic.mtu + nic.driver > 1", "number is required"),
        ("sysct('x') == 1", "did you mean sysctl?"),
        ("sysctl(nic.name) == 1", "constant text"),
        ("on(host, 'rx-gro')", "the first argument is nic"),
        ("known(1 / 0)", "known takes a field"),
        ("limits.drops > 1", "unknown limit"),
        ("min() > 1", "arguments"),
        ("nic.mtu > " + "0" * 1991, "longer than 2000 characters"),
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
        ("increase(nic.mtu, nic.mtu) > 1", "seconds are a constant"),
        ("since_boot(nic.mtu) > 1", "nic.per_s"),
        ("host.backlog_drops > 1", "it is host.socket_backlog_drops now"),
        ("host.backlog_dropped > 1", "it is host.cpu_backlog_drops now"),
    ],
)
def test_mistakes_are_named(text: str, part: str) -> None:
    with pytest.raises(ExpressionError) as error:
        condition(text, "nic")
    assert part in str(error.value)


@pytest.mark.parametrize(
    ("over", "text", "part"),
    [
        (
            "path",
            "path.worst == 'socket'",
            "path.worst is never 'socket': it is 'rcvbuf' on receive",
        ),
        ("path", "path.worst in ('ring', 'process')", "it is 'thread' now"),
        ("flow", "'sndbuff' == flow.limit", "flow.limit is never 'sndbuff' (did you mean sndbuf?)"),
    ],
)
def test_a_stage_that_does_not_exist_is_named(over: str, text: str, part: str) -> None:
    with pytest.raises(ExpressionError) as error:
        condition(text, over)
    assert part in str(error.value)
    known = text.replace("socket", "rcvbuf").replace("process", "thread").replace("buff", "buf")
    condition(known, over)


@folded(
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
