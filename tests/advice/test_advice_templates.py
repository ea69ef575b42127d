"""Templates, evidence and unknowns in the words of a person."""

import re
from dataclasses import fields
from pathlib import Path

import pytest
from expression_host import NIC, scope
from folded import folded

from nettop.advice.judge.inline_facts import facts
from nettop.advice.language.evaluate import evaluate
from nettop.advice.language.expression import parse
from nettop.advice.language.moment import Moment, Past, Scope
from nettop.advice.language.native import value_of
from nettop.advice.language.syntax import ExpressionError
from nettop.advice.language.template import template
from nettop.advice.rules.load import load
from nettop.advice.rules.rule import Rule
from nettop.facts import Facts
from nettop.facts.kinds import kinds


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
    assert shown == "eth0: ring 256 descriptors, unknown, {x}, 1,204 packets/s"
    assert template("ring.rx@{nic}", "nic").name(scope("nic")) == "ring.rx@eth0"
    assert template("ring.rx@{nic.fec}", "nic").name(scope("nic")) is None


@folded(("took", "told"), [(1.0, "7 segments/s"), (4.0, "6.5 segments/s over 4 s")])
def test_a_mean_of_more_than_the_last_interval_says_of_which_time_it_is(
    took: float, told: str
) -> None:
    past, at = Past(), facts({"host": {"tcp_resets": 7.0}}, "server")
    for second, rate in ((10.0 - took + 1, 5.0), (10.0, 7.0))[took <= 1 :]:
        past.count(("host: host.tcp_resets",), second, {"": (rate,)})
    moment = Moment(at, past)
    made = template("{mean(host.tcp_resets)}", "host")
    assert made.prose(Scope(moment.scope("host", at.host), moment, {})) == told


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
    """[packets dropped, receive ring full] is none."""
    made = template("A ring of {nic.ring.rx} loses {nic.per_s.ring_drops}.", "nic")
    assert made.general({}) == "A ring of N descriptors loses N packets/s."
    made = template("{flow.loss_ratio} lost, {min(flow.rtt, 1)} on; by its {flow.limit}", "flow")
    assert made.general({}) == "N % lost, N on; by its [limit]"
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


# A command in backticks has the values that the fact of its rule has: it can be typed.


RULES = load([Path(__file__).parents[2] / "rules"])
# fields of a fact, by the word that stands for their value
VALUES = {"IF": "nic", "ADDRESS": "address", "PORT": "port", "PID": "pid"}


@folded("rule", RULES, ids=lambda rule: rule.id)
def test_a_command_has_no_gap_where_the_fact_has_the_value(rule: Rule) -> None:
    known = {one.name for one in fields(kinds()[rule.over].type)}
    advice = [one.advice.form() for one in rule.words.fixes if one.advice]
    texts = " ".join(advice)
    for command in re.findall(r"`([^`]*)`", texts):
        for word, name in VALUES.items():
            gap = name in known and re.search(rf"\b{word}\b", command)
            assert not gap, f"`{command}`: the fact has {name}"
        assert "=…" not in command, f"`{command}` cannot be typed"
