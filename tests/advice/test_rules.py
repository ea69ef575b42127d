"""The rule pack: every rule does what its tests say, needs every condition, and is well sourced."""

import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
import rule_mutation
from encoded_ids import MOST, by_rules, coverage, entries, ids
from folded import folded
from golden_text import same
from sentences import no_fault

from nettop.advice.judge.judge import Judge
from nettop.advice.judge.rule_tests import moments, outcomes, verdict
from nettop.advice.rules import explain
from nettop.advice.rules import settings as address
from nettop.advice.rules.load import files, load
from nettop.advice.rules.load import tests as own_tests
from nettop.advice.rules.rule import PAPERS, Rule, cited, references
from nettop.advice.rules.written import RuleError, without_tests
from nettop.commands.rules import recorded

PACK = Path(__file__).parents[2] / "rules"
RULES = load([PACK])
SURFACES = {
    "placement", "interrupts", "rings", "coalescing", "flow-control", "offloads", "mtu", "tcp",
    "udp", "softnet", "queues", "capture", "bus", "power", "virtual", "test-method", "legacy",
    "ends",
}  # fmt: skip
# figures that the papers print and that are wrong or damaged (knowledge base, section 6)
WRONG = ("33%", "33 %", "1.007", "208760", "1,488,191", "never documented")

each = folded("rule", RULES, ids=lambda rule: rule.id)


@cache
def sources() -> dict[str, dict[str, object]]:
    """The table of the papers and documents that may be cited."""
    return tomllib.loads((PACK / PAPERS).read_text())


@each
def test_a_rule_does_what_its_tests_say(rule: Rule) -> None:
    try:
        found = outcomes(rule, recorded(Path(rule.path)))
    except RuleError as error:
        pytest.fail(str(error), pytrace=False)
    no_fault(f"{rule.id}: {one.name}: {one.why}" for one in found if not one.passed)


@each
def test_every_condition_of_a_rule_is_needed_by_its_tests(rule: Rule) -> None:
    no_fault(
        f"{changed}: all tests of the rule still pass; add a [[test]] that fails then"
        for changed in rule_mutation.survivors(rule)
    )


@each
def test_a_rule_is_fit_for_the_pack(rule: Rule) -> None:
    address.check(rule)
    text = Path(rule.path).read_text()
    assert [figure for figure in WRONG if figure in text] == []
    no_fault(f"{rule.id}: {sentence}" for sentence in lacking(rule))


def lacking(rule: Rule) -> Iterator[str]:
    """What a rule of the pack must have, besides a valid form."""
    words = rule.words
    if rule.surface not in SURFACES:
        yield f"move it to a folder of rules/: {', '.join(sorted(SURFACES))}"
    if len(words.why.general(rule.limits)) <= 150:
        yield "why: more than 150 characters: what happens, what it costs, what could go wrong"
    if not words.fixes:
        yield "add a [[fix]] that says what to do, if only with `advice`"
    if not words.sources:
        yield "add a [[source]] without `because`: one that agrees"
    if not all(source.get("figure") for source in words.sources):
        yield 'add a figure to each [[source]], or "no figure"'
    if not all(table.get("name") for table in own_tests(rule)):
        yield "add a name to each [[test]]: what it shows"


@each
def test_a_rule_is_readable_prose(rule: Rule) -> None:
    lines = explain.page(rule, 80)
    assert max(map(len, lines)) <= 80
    assert not re.search(r"\bTODO\b|\bXXX\b", "\n".join(lines))


@each
def test_a_rule_cites_by_the_one_name_each_source_has(rule: Rule) -> None:
    known = sources()
    words = rule.words
    for cite in (*words.sources, *words.competing):
        kind = "paper" if "paper" in cite else "doc"
        name = cite[kind]
        no_fault([f"{rule.id}: add {name!r} to rules/{PAPERS}"] * (name not in known[kind]))
        no_fault([f"{rule.id}: say in which place of {name!r}"] * (not cite.get("place")))


@folded("path", sorted(PACK.glob("studies/*.toml")), ids=lambda path: path.stem)
def test_a_study_cites_by_the_same_names(path: Path) -> None:
    known = sources()["paper"]
    cited = set(re.findall(r'\bpaper *= *"([^"]*)"', path.read_text()))
    assert cited - set(known) == set()


def test_every_cited_name_is_cited_and_has_a_whole_reference() -> None:
    known = references(PACK)
    named = {name for rule in RULES for name in cited(rule)}
    assert named == set(known)
    ring = next(rule for rule in RULES if rule.id == "rx-ring-overrun")
    page = " ".join(" ".join(explain.page(ring, 80, known)).split())
    assert "Hisdal, CERN openlab 2003: Glenn Hisdal, 10Gb Ethernet Back-To-Back tests" in page
    assert references(PACK / "no such folder") == {}


def test_no_rule_is_wider_than_a_hundred_columns() -> None:
    heads = {path.stem: without_tests(path, path.read_text()) for path in files(PACK)}
    no_fault(
        f"{name}: a line has {len(line)} columns, at most 100 are allowed: {line}"
        for name, head in heads.items()
        for line in head.splitlines()
        if len(line) > 100 and "6d:5a" not in line
    )


def test_the_facts_before_are_those_of_the_second_before_or_of_so_many_seconds_ago() -> None:
    (rule,) = [rule for rule in RULES if rule.id == "rx-ring-overrun"]
    for ago, seconds in (({}, 1.0), ({"ago": 4}, 4.0)):
        before, now = moments(rule, {"before": {}, **ago}, None)
        assert now.at - before.at == seconds


def test_a_rule_yields_to_others_and_never_in_a_circle() -> None:
    to = {rule.id: set(rule.yields) for rule in RULES}
    while to:
        last = {name for name, others in to.items() if not others & to.keys()}
        assert last, f"a circle among {sorted(to)}"
        to = {name: others for name, others in to.items() if name not in last}


def test_everything_known_is_encoded_or_left_out_with_a_reason() -> None:
    found = coverage(PACK, by_rules())
    assert found.nowhere == ()
    assert found.invented == ()
    assert len(found.left_out) <= MOST
    assert all(len(because) > 20 for because in found.left_out.values())
    assert not set(found.left_out) & set(found.where), "left out, and encoded all the same"


def test_the_ids_are_those_of_the_knowledge_base() -> None:
    known = ids(PACK)
    assert len(known) == len(set(known))
    papers = [one for one in known if one[:2] in ("v-", "n-", "c-", "m-", "t-")]
    assert len(papers) == 125
    assert sum(one.startswith("p-") for one in known) == 65
    assert sum(one.startswith("s-") for one in known) == 18
    assert len(known) == 125 + 65 + 18 + 7


def test_coverage_sees_what_is_nowhere_and_what_is_invented() -> None:
    few = coverage(PACK, {"p-ring-groww": ["rx-ring-overrun"]})
    assert "p-ring-grow" in few.nowhere
    assert few.invented == ("p-ring-groww",)


def test_each_rule_that_encodes_something_exists() -> None:
    named = {name for names in by_rules().values() for name in names}
    assert named - {rule.id for rule in RULES} == set()


def test_formulas_are_where_they_say() -> None:
    for entry in entries(PACK / "formulas.toml", "formula"):
        module, _, name = entry["where"].partition(":")
        place: object = import_module(module)
        for part in filter(None, name.split(".")):
            place = getattr(place, part)
        assert entry["why"]


def test_the_page_of_all_rules_is_current(update: bool) -> None:
    made = explain.index(RULES)
    same(PACK / "README.md", made, update)


def test_no_rule_falls_back_to_the_careful_way_where_it_would_be_slow() -> None:
    from nettop.advice.judge.condition import Judged
    from nettop.advice.judge.loop import code_of, parts_of

    slow = [
        rule.id
        for rule in RULES
        if rule.over in ("queue", "core", "flow")
        and "walk(0" in code_of(rule.over, parts_of([Judged.of(rule)]))
    ]
    assert slow == []


@folded(("where", "names"), by_rules(Path(__file__).with_name("judged.txt")).items())
def test_a_rule_that_is_judged_on_a_recorded_host_finds_nothing(
    where: str, names: list[str]
) -> None:
    host, profile, reason = where.split()
    facts = recorded(PACK / "here.toml")(f"hosts/{host}.host", None if profile == "-" else profile)
    expected = {"finds": False} | ({"silent": reason} if reason != "silent" else {})
    said = {rule.id: verdict(rule, expected, facts) for rule in RULES if rule.id in names}
    assert said.keys() == set(names)
    no_fault(f"{name}: {why}" for name, why in said.items() if why)


@pytest.mark.parametrize("host", ["guest-idle", "guest-transfer", "netns-send"])
def test_healthy_hosts_hear_nothing_loud(host: str) -> None:
    judge = Judge(RULES, window=2.0)
    loud = [
        finding.id
        for facts in recorded(PACK / "here.toml")(f"hosts/{host}.host", None)
        for finding in judge.judge(facts).findings
        if finding.severity in ("critical", "warning")
    ]
    assert loud == []


def test_the_mutation_script_finds_a_condition_that_no_test_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (PACK / "rings/rx-ring-overruns.toml").read_text()
    weak = text.replace('when     = "', "when     = \"nic.kind != 'veth' and ", 1)
    path = tmp_path / "weak-rule.toml"
    path.write_text(weak)
    (tmp_path / "hosts").symlink_to(Path(__file__).parents[1] / "hosts")
    monkeypatch.setattr(sys, "argv", ["rule_mutation.py", str(path)])
    assert rule_mutation.main() == 1
    out = capsys.readouterr().out
    assert "rx-ring-overrun: without `nic.kind != 'veth'`" in out
    assert "2 survivors" in out  # both cases with this condition
