"""The words for drop reasons and failed calls: complete, short, and one entry for each."""

import inspect
import re
import tomllib
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from live.wordless import BTF, told, wordless

from nettop import config
from nettop.advice.judge import condition
from nettop.advice.judge.inline_facts import facts
from nettop.advice.judge.judge import Judge
from nettop.advice.language.moment import Moment
from nettop.advice.language.values import Read
from nettop.advice.rules.load import load
from nettop.collect import drop_reasons, failed_calls, snmp
from nettop.config import rules_folder
from nettop.facts import accounting, call_ends, call_reasons, drop_causes, used_ports
from nettop.facts.kinds.host import HostFact
from nettop.facts.kinds.nic import Counters
from nettop.host.bpf import names

_TITLE = 70  # characters
_SENTENCE = 300
_WORDS = {"means", "kind", "cause", "advice", "rests"}
_FILES = {
    "drop-reasons.toml": (
        "reason",
        {"name"},
        {"rule", "seen", "place", "to", "places", "counter", "raises", "way", "answered"},
        ("loss", "refused", "turned away", "normal", "unknown"),
    ),
    "failed-calls.toml": (
        "call",
        {"calls", "errno"},
        {"rule", "seen", "family", "argument", "counters"},
        ("fault", "refused", "aborted", "returned", "normal"),
    ),
}


def _entries(file: str) -> list[dict[str, Any]]:
    table = tomllib.loads((config.rules_folder() / file).read_text("utf-8"))
    assert table.keys() == {_FILES[file][0]}
    entries: list[dict[str, Any]] = table[_FILES[file][0]]
    return entries


def _keys(entry: dict[str, Any]) -> list[str]:
    more = f"{entry['errno']} {entry.get('family', '')} {entry.get('argument', '')}"
    return [f"{call} {more}" for call in entry["calls"]]


def test_each_reason_of_each_kept_kernel_has_words() -> None:
    kernels = tomllib.loads(Path(__file__).with_name("kernels.toml").read_text("utf-8"))
    assert {kernel: wordless(names.split()) for kernel, names in kernels.items()} == {
        kernel: [] for kernel in kernels
    }


@pytest.mark.skipif(not BTF.exists(), reason="this kernel does not publish its types")
def test_each_reason_of_the_running_kernel_has_words() -> None:
    assert told() == "0 drop reasons of the running kernel have no words"
    assert wordless(["NO_SOCKET", "OF_TOMORROW"]) == ["OF_TOMORROW"]


def test_no_reason_and_no_failed_call_is_described_twice() -> None:
    names = [
        f"{e['name']} {e.get('place', '')} {e.get('to', '')}" for e in _entries("drop-reasons.toml")
    ]
    names += [key for entry in _entries("failed-calls.toml") for key in _keys(entry)]
    assert [name for name, count in Counter(names).items() if count > 1] == []


@pytest.mark.parametrize("file", _FILES)
def test_each_entry_is_complete_and_short(file: str) -> None:
    _, names, optional, kinds = _FILES[file]
    for entry in _entries(file):
        assert entry.keys() - optional == names | _WORDS, entry
        assert entry["kind"] in kinds, entry
        assert len(entry["means"]) <= _TITLE, entry
        assert not entry["means"].endswith("."), entry
        assert all(entry[key] for key in _WORDS), entry
        assert entry["cause"].endswith("."), entry
        assert entry["advice"].endswith("."), entry
        for sentence in re.split(r"(?<=\.) ", f"{entry['cause']} {entry['advice']}"):
            assert len(sentence) <= _SENTENCE, sentence


def test_each_counter_that_a_failed_call_raises_is_known() -> None:
    named = (config.rules_folder() / "counters.toml").read_text("utf-8")
    for entry in _entries("failed-calls.toml"):
        for name in entry.get("counters", "").split():
            assert name in HostFact.__dataclass_fields__ or f".{name}" in named, name


def test_each_advice_on_a_lost_or_refused_packet_names_a_command() -> None:
    for entry in _entries("drop-reasons.toml"):
        if entry["kind"] in {"loss", "refused"}:
            assert re.search(r"`[a-z]", entry["advice"]), entry


def test_each_case_of_a_drop_is_looked_for_and_has_words() -> None:
    table = tomllib.loads((rules_folder() / "drop-cases.toml").read_text("utf-8"))["case"]
    looked_for = {case for cases in drop_causes.CAUSES.values() for case in cases}
    plain = {"filters"}  # fields of the drop alone
    assert {one["name"] for one in table} == looked_for - plain
    rules = {rule.id for rule in load([rules_folder()])}
    assert {one.get("rule", "") for one in table} <= rules | {""}
    assert all(one.keys() <= {"name", "rule", *_WORDS} for one in table)


def test_each_case_of_a_failed_call_is_looked_for_and_has_words() -> None:
    table = tomllib.loads((rules_folder() / "call-cases.toml").read_text("utf-8"))["case"]
    code = "".join(map(inspect.getsource, (call_ends, call_reasons, used_ports)))
    assert [one["name"] for one in table if f'"{one["name"]}"' not in code] == []
    assert all(one.keys() <= {"name", *_WORDS} for one in table)
    names = {one["name"] for one in table}
    assert {*re.findall(r'case\((?:one\.)?said, "([a-z-]+)"', code)} <= names


def test_each_rule_that_explains_a_reason_better_exists() -> None:
    rules = {rule.id for rule in load([config.rules_folder()])}
    assert not {e["rule"] for e in _entries("drop-reasons.toml") if "rule" in e} - rules


def test_each_counter_of_a_reason_is_one_that_the_accounting_reads() -> None:
    nics, protocols = {f.name for f in fields(Counters)}, {f.name for f in fields(snmp.Row)}
    assert (
        not drop_reasons.counters()
        - nics
        - protocols
        - {accounting.FILTERS, accounting.COPIES, accounting.BACKLOG}
    )
    assert drop_reasons.counted_by("PROTO_MEM", "", "tcp") == "rcvq_drops"
    assert not drop_reasons.counted_by("PROTO_MEM", "", "icmp")
    assert drop_reasons.counted_by("QDISC_DROP", "anywhere", "tcp") == "qdisc_drops"
    assert not drop_reasons.counted_by("OF_ANOTHER_KERNEL", "", "tcp")


def test_each_error_is_one_of_the_system() -> None:
    entries = _entries("failed-calls.toml")
    assert {entry["errno"] for entry in entries} <= {*names.ERRORS.values()}
    assert {call for entry in entries for call in entry["calls"]} <= {*names.CALLS}


def test_a_place_and_a_family_have_words_of_their_own() -> None:
    assert drop_reasons.words("NOT_SPECIFIED").kind == "unknown"
    assert drop_reasons.words("NOT_SPECIFIED", "ip6_mc_input").kind == "normal"
    assert failed_calls.words("connect", "ENETUNREACH", "192.0.2.1").kind == "fault"
    assert failed_calls.words("connect", "ENETUNREACH", "2001:db8::1").kind == "normal"


# A counter of the host, and the way of the packets that it counts.


RULES = load([rules_folder()])


@pytest.mark.parametrize("explains", [True, False])
def test_a_counter_is_explained_by_the_way_of_its_packets_alone(explains: bool) -> None:
    named = ("IP_RPFILTER/f", "reverse-path-filter-drops") if explains else ()
    way = {"id": "10.0.0.1:80", "what": "packets", "stops": True, "decider": "no route back",
           "change": "x", "asks": "y", "packets": 900, "per_s": 180.0,
           "explains": named}  # fmt: skip
    drop = {"id": "IP_RPFILTER/f", "reason": "IP_RPFILTER", "kind": "refused", "means": "refused",
            "advice": "look", "packets": 900, "per_s": 180.0, "nics": "feed0", "nic": "feed0",
            "rule": "reverse-path-filter-drops", "whose": "udp port 80",
            "of": "a to b"}  # fmt: skip
    host = {"reverse_path_drops": 180, "ip_in": 200}
    table = facts({"host": host, "drops": [drop], "ways": [way]}, "server", 1000.0)
    told = {one.rule: one for one in Judge(RULES, window=0.0).judge(table).findings}
    counted = told["reverse-path-filter-drops"]
    assert counted.cause == ("destination-out-of-reach@10.0.0.1:80" if explains else "")
    assert {row["field"]: row["value"] for row in counted.evidence}["drop.of"] == "a to b"
    assert "net.ipv4.conf.feed0.rp_filter=2" in " ".join(counted.advice)


# Why a value is unknown, by the name of the field: one table for all kinds of names.


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("nic.ring.rx_max", "receive ring maximum unknown (not reported by the driver)"),
        ("nic.per_s.ring_drops", "(not counted by the driver, or first sample)"),
        ("feature.gro", "(not reported by the driver)"),
        ("sysctl.net.core.somaxconn", "(no such setting in this kernel, or not readable)"),
        ("host.memory", "unknown"),
        ("limits.most", "unknown"),
    ],
)
def test_an_unknown_value_has_its_reason(field: str, text: str) -> None:
    said = condition.unknowns([Read(field, None)], Moment(facts({}, "server", 0.0)))
    assert said.startswith("not evaluated: ")
    assert said.endswith(text)
    assert "None" not in said


def test_each_unknown_value_is_said_once() -> None:
    reads = [Read("host.memory", None), Read("sysctl.net.a", None), Read("host.memory", None)]
    said = condition.unknowns(reads, Moment(facts({}, "server", 0.0)))
    assert said.count("unknown") == 2
    assert said.count("; ") == 1


@pytest.mark.parametrize("field", ["feature.gro", "flow.rtt", "nic.ring.rx_max"])
def test_a_table_that_could_not_be_read_is_the_reason(field: str) -> None:
    unread = dict.fromkeys(condition._TABLES.values(), "no such tool")
    there = replace(facts({}, "server", 0.0), missing=unread)
    said = condition.unknowns([Read(field, None)], Moment(there))
    assert said.endswith(" unknown (no such tool)")
