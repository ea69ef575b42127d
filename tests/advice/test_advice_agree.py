"""Both ways of evaluation, native and careful, agree."""

from dataclasses import replace
from typing import Any

from expression_host import HOST, scope
from hypothesis import given
from hypothesis import strategies as st

from nettop.advice.judge.condition import Judged
from nettop.advice.judge.inline_facts import facts
from nettop.advice.judge.loop import code_of, loop_of, parts_of, true_on
from nettop.advice.language.evaluate import evaluate
from nettop.advice.language.expression import condition
from nettop.advice.language.native import value_of
from nettop.advice.language.template import template
from nettop.advice.rules.rule import Rule, Words

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
        "increase(nic.mtu, 60) < 1",
        "min(nic.ring.rx, nic.mtu) > 300", "any((nic.up, nic.carrier))", "all((nic.up, nic.para))",
        "beside(nic.irq_top_cpu) == 3", "sysctl('net.ipv4.tcp_rmem') > 5", "True", "False",
        "(nic.up if nic.carrier else nic.para)",
        "nic.mtu > (nic.speed if nic.up else nic.ring.rx)",
        "nic.mtu > (1 if nic.mtu / nic.ring.rx > 1 else nic.ring.tx)",
        "since_boot(nic.per_s.ring_drops) > 300",
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
        "total": {"ring_drops": draw(NUMBERS)},
    }
    nic["ring"] = {k: v for k, v in nic["ring"].items() if v is not None}
    nic["per_s"] = {k: v for k, v in nic["per_s"].items() if v is not None}
    nic["total"] = {k: v for k, v in nic["total"].items() if v is not None}
    nic = {k: v for k, v in nic.items() if v is not None}
    if draw(st.booleans()):
        nic["features"] = {"rx-gro": draw(st.booleans()), "rx-lro": "fixed off"}
    return nic


@given(TREES, nics())
def test_the_fast_way_and_the_careful_way_agree(text: str, nic: dict[str, Any]) -> None:
    at = replace(HOST, nics=facts({"nic": nic}, "bulk-lan").nics)
    made = condition(text, "nic")
    here = scope("nic", at)
    careful = evaluate(made, here)
    judged = Judged.of(_rule(text))
    code = code_of("nic", parts_of([judged, judged]))
    assert "walk(0" not in code
    loop = loop_of("nic", [judged, judged])
    row = (at.nics[0],)

    def careful_too(_place: int, row: tuple[Any, ...]) -> bool:
        return judged.holds(row, here.moment, _name)

    found = true_on(loop, 2, [row], here.moment, _name, careful_too)
    assert found == ([(0, row), (1, row)] if careful.value is True else [])
    assert careful.value in (True, False, None)
    assert value_of(made, here) is careful.value
    if careful.value is None:
        assert careful.reads, "an unknown must name what is not known"


def test_judges_of_the_same_rules_share_the_compiled_loop() -> None:
    text = "nic.mtu > limits.most"
    one, same, other = (
        replace(_rule("nic.up"), when=condition(text, "nic", limits), limits=limits)
        for limits in ({"most": 1.0}, {"most": 1.0}, {"most": 2.0})
    )
    loops = [loop_of("nic", [Judged.of(rule)]) for rule in (one, same, other)]
    assert loops[0] is loops[1]
    assert loops[0] is not loops[2]
    assert loop_of("nic", [Judged.of(replace(one, profiles=frozenset({"latency"})))]) not in loops


def _name(nic: Any) -> str:
    return str(nic.name)


def _rule(text: str) -> Rule:
    said = template("t", "nic")
    words = Words(said, said, said)
    return Rule("r", "s", "p", "info", "nic", condition(text, "nic"), lambda: words)
