"""Whole hosts, mis-tuned and healthy, and what nettop must say of them: tests/cases/*.toml.

The cases were written before the rules, so that they are not the rules again. A case is

    name     what is wrong with the host
    like     a host of cases/hosts.toml it starts from; the case says only what differs
             ("unknown" takes a field away)
    profile  what the host is for
    first    findings that must stand first, in this order, as rule@target
    expect   findings that must be there, anywhere
    may      rules that may be critical or warning besides those; every other must not be
    never    rules that must not find anything, of whatever severity
    healthy  true: nothing at all may be critical or warning
    before   what differed half a minute ago: facts as below
    host, nics, queues, cores, flows, processes, captures, paths, sysctls
             facts as in a rule's test; [[case.nic]] is one more of nics
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from folded import folded

from nettop.advice.judge import inline_facts as inline
from nettop.advice.judge.judge import Judge
from nettop.advice.rules.load import load
from nettop.advice.rules.rule import Finding, Rule
from nettop.facts import PROFILES, Facts

CASES = Path(__file__).parents[1] / "cases"
RULES = Path(__file__).parents[2] / "rules"
LABELS = {"nics": ("name",), "queues": ("nic", "name"), "cores": ("cpu",), "processes": ("pid",),
          "flows": ("id",), "captures": ("inode",), "paths": ("nic", "direction")}  # fmt: skip
WORDS = ("name", "like", "profile", "first", "expect", "may", "never", "healthy", "before")
LOUD = ("critical", "warning")


@cache
def rules() -> tuple[Rule, ...]:
    return load([RULES])


@cache
def hosts() -> Mapping[str, Any]:
    return tomllib.loads((CASES / "hosts.toml").read_text())


def families() -> list[Path]:
    return sorted(path for path in CASES.glob("*.toml") if path.name != "hosts.toml")


@cache
def cases() -> Mapping[str, Mapping[str, Any]]:
    """Every case by its family and name."""
    return {
        f"{path.stem}: {case['name']}": case
        for path in families()
        for case in tomllib.loads(path.read_text())["case"]
    }


def told(case: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a case, rows of one kind under one key."""
    facts = {key: value for key, value in case.items() if key not in WORDS}
    for one, many in inline.PLURALS.items():
        if one in facts:
            facts[many] = [*facts.get(many, []), *facts.pop(one)]
    return facts


def over(base: Any, given: Any, label: tuple[str, ...] = ()) -> Any:
    """`given` laid over `base`: tables by key, rows by their label, "unknown" takes away."""
    if isinstance(base, Mapping) and isinstance(given, Mapping):
        merged = {
            key: over(base.get(key), value, LABELS.get(key, ())) for key, value in given.items()
        }
        both = {**base, **merged}
        return {key: value for key, value in both.items() if value != "unknown"}
    if label and isinstance(given, list) and all(isinstance(row, Mapping) for row in given):
        rows = {tuple(row.get(key) for key in label): row for row in base or []}
        for row in given:
            key = tuple(row.get(name) for name in label)
            rows[key] = over(rows.get(key, {}), row)
        return list(rows.values())
    return given


def moments(case: Mapping[str, Any]) -> list[Facts]:
    """The facts of a case, after those of half a minute ago if it has them."""
    table = over(hosts()[case["like"]] if "like" in case else {}, told(case))
    tables = {1000.0: table}
    if "before" in case:
        tables = {970.0: over(table, told(case["before"])), **tables}
    for key in {key for one in tables.values() for key in one}:
        assert key in inline.FACT_KEYS, f"{key} is neither a word of a case nor a kind of fact"
    return [inline.facts(one, case["profile"], at) for at, one in tables.items()]


def judged(moments: Sequence[Facts], known: Sequence[Rule] = ()) -> list[Finding]:
    """The findings of the last moment."""
    judge, found = Judge(known or rules(), window=0.0), list[Finding]()
    for facts in moments:
        found = list(judge.judge(facts).findings)
    return found


@cache
def judged_case(name: str) -> tuple[Finding, ...]:
    """The findings of a case, computed once for all tests."""
    return tuple(judged(moments(cases()[name])))


def findings(table: Mapping[str, Any], profile: str) -> list[Finding]:
    return judged([inline.facts(table, profile, 1000.0)])


def loud(found: list[Finding]) -> list[str]:
    return [one.id for one in found if one.severity in LOUD]


@folded("name", cases())
def test_a_host_is_judged_rightly(name: str) -> None:
    case, found = cases()[name], list(judged_case(name))
    ids = [one.id for one in found]
    first = case.get("first", [])
    assert ids[: len(first)] == first, ids
    for wanted in case.get("expect", ()):
        assert wanted in ids, ids
    expected = {*first, *case.get("expect", ())}
    if case.get("healthy"):
        assert loud(found) == []
    assert [one for one in loud(found) if one not in expected
            and one.partition("@")[0] not in case.get("may", ())] == []  # fmt: skip
    assert [one for one in ids if one.partition("@")[0] in case.get("never", ())] == []


def test_a_case_names_rules_that_exist() -> None:
    known = {rule.id for rule in rules()}
    named = set()
    for path in families():
        for case in tomllib.loads(path.read_text())["case"]:
            for key in ("first", "expect", "may", "never"):
                named |= {word.partition("@")[0] for word in case.get(key, ())}
    assert named - known == set()


@folded("path", families(), ids=lambda path: path.stem)
def test_a_family_has_mistuned_and_healthy_hosts(path: Path) -> None:
    given = tomllib.loads(path.read_text())["case"]
    assert len(given) >= 10
    assert any(case.get("first") or case.get("expect") for case in given)
    assert any(not case.get("first") and not case.get("expect") for case in given)


def test_every_rule_that_yields_does_so_in_some_case() -> None:
    """Without a case a `yields` could be wrong, or right and never of use."""
    yielding = [replace(rule, yields=()) for rule in rules() if rule.yields]
    others = {name for rule in rules() for name in rule.yields}
    unyielding = (*(rule for rule in rules() if rule.id in others and not rule.yields), *yielding)
    met = set()
    for name, case in cases().items():
        alone = {one.id for one in judged(moments(case), unyielding)}
        whole = {one.id for one in judged_case(name)}
        met |= {one.partition("@")[0] for one in alone - whole}
    assert {rule.id for rule in yielding} - met == set()


@folded("profile", PROFILES)
@folded("name", hosts())
def test_a_healthy_host_gives_no_alarm(name: str, profile: str) -> None:
    found = findings(hosts()[name], profile)
    assert loud(found) == []


@folded("profile", PROFILES)
@folded("name", hosts())
def test_an_idle_host_gives_no_alarm(name: str, profile: str) -> None:
    found = findings(idle(hosts()[name]), profile)
    assert loud(found) == []


def idle(table: Any) -> Any:
    """The same host with nothing to do: rates and loads are zero, cores idle."""
    nics = [{**nic, "rx_load": 0.0, "tx_load": 0.0, "queues_active": 0, "flows": 0,
             "per_s": dict.fromkeys(nic["per_s"], 0.0)} for nic in table["nics"]]  # fmt: skip
    busy = ("user", "system", "irq", "softirq", "ksoftirqd", "deep_idle")
    cores = [
        {**core, **{name: 0.0 for name in busy if name in core}, "idle": 100.0}
        for core in table["cores"]
    ]
    quiet = {"bulk_flows": 0, "tcp_flows": 0, "tcp_out": 0.0, "idle": 100.0}
    host = {**table["host"], **quiet}
    return {**table, "nics": nics, "cores": cores, "host": host, "processes": []}
