"""Boundaries of rules: where each rule and each of its fixes begins and ends to hold.

    python tests/rule_boundaries.py [rules/surface/problem.toml …]

A rule's own tests say what it is for; they seldom lie near its limits. From each test that finds,
`search` varies one value at a time (numbers by bisection to neighbouring floats, switches, texts,
values left out, profiles) and finds what lies on both sides of every place where the rule's answer
changes. tests/golden/rules has one file for each folder of rules: of each rule the few points that
notice a change which its own tests do not (a limit doubled or halved, `hold`, `profiles` or a fix's
`if` dropped, `>` for `>=`); `pytest --update` writes them anew. Run as a program it prints what
neither a point nor a test of the rule notices.
"""

import ast
import copy
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from nettop.advice.judge import inline_facts as inline
from nettop.advice.judge.judge import Judge
from nettop.advice.judge.rule_tests import moments, verdict
from nettop.advice.language.expression import Expression
from nettop.advice.language.functions.history import EARLIER
from nettop.advice.language.syntax import path_of
from nettop.advice.rules.load import files, read
from nettop.advice.rules.load import tests as own_tests
from nettop.advice.rules.rule import Rule
from nettop.commands.rules import recorded
from nettop.facts import PROFILES

PACK = Path(__file__).parents[1] / "rules"
GOLDEN = Path(__file__).parent / "golden/rules"
BASES = 3  # tests of a rule that the search starts from
Keys = tuple[str | int, ...]
ABSENT = "absent"


def answer(rule: Rule, table: Mapping[str, Any]) -> str:
    """What the rule says of these facts: nothing, or what its fixes would set."""
    try:
        judge = _judge(rule)
        found = [judge.judge(facts).findings for facts in moments(rule, table, None)][-1]
    except (
        inline.InlineError,
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ):
        return "not possible"
    if not found:
        return "silent"
    wanted = [f"{one.setting}={one.value}" for one in found[0].wanted]
    return " ".join(["finds", *wanted, f"advice:{len(found[0].advice)}"])


_JUDGES: dict[int, tuple[Rule, Judge]] = {}


def _judge(rule: Rule) -> Judge:
    """A judge of this rule only; made anew where it remembers earlier moments."""
    if rule.keep or any(True for name in EARLIER for _ in rule.when.calls(name)):
        return Judge((rule,), window=0.0)
    if id(rule) not in _JUDGES:
        _JUDGES.clear()
        _JUDGES[id(rule)] = (rule, Judge((rule,), window=0.0))  # with the rule: ids are used again
    return _JUDGES[id(rule)][1]


def shape(said: str) -> str:
    """The answer without its values: these may change with every step of a search."""
    return re.sub(r"=\S+", "", said)


def bases(rule: Rule) -> dict[str, Mapping[str, Any]]:
    """The tests that find on inline facts, by name."""
    found = [table for table in own_tests(rule) if table["finds"] and "recorded" not in table]
    return {str(table["name"]): table for table in found[:BASES]}


def expressions(rule: Rule) -> list[Expression]:
    """Every condition and value of the rule."""
    fixes = rule.words.fixes
    found = [rule.when, *(one.when for one in rule.unless), *(f.when for f in fixes if f.when)]
    return [*found, *(to for fix in fixes for to in fix.to.values())]


def constants(rule: Rule) -> set[Any]:
    """The numbers and texts that the rule names, limits too."""
    trees = [one.tree for one in expressions(rule)]
    found = {n.value for t in trees for n in ast.walk(t) if isinstance(n, ast.Constant)}
    for value in rule.limits.values():
        found |= set(value) if isinstance(value, tuple) else {value}
    return found


def leaves(table: Any, keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """The values in a table of facts, each with the keys that lead to it."""
    if isinstance(table, Mapping):
        for key, value in table.items():
            if keys or key in inline.FACT_KEYS or key == "before":
                yield from leaves(value, (*keys, key))
    elif isinstance(table, list) and any(isinstance(row, Mapping) for row in table):
        for index, row in enumerate(table):
            yield from leaves(row, (*keys, index))
    else:
        yield keys, table


def read_by(rule: Rule, table: Mapping[str, Any]) -> Iterator[Keys]:
    """The fields that the rule reads and the table does not have."""
    known = {keys for keys, _ in leaves(table)}
    for node in (n for one in expressions(rule) for n in ast.walk(one.tree)):
        keys: Keys = ()
        if isinstance(node, ast.Attribute):
            keys = path_of(node) or ()
        elif isinstance(node, ast.Call) and isinstance(node.args[-1], ast.Constant):
            name = node.args[-1].value
            folder = {"on": ("nic", "features"), "sysctl": ("sysctls",)}
            keys = (*folder.get(node.func.id, ()), name) if isinstance(name, str) else ()  # type: ignore[attr-defined]
        if len(keys) > 1 and keys[0] in inline.FACT_KEYS and keys not in known:
            yield keys


def used(rule: Rule) -> Iterator[Keys]:
    """What the values of fixes are made of: they follow it step by step."""
    for node in (n for f in rule.words.fixes for to in f.to.values() for n in ast.walk(to.tree)):
        if isinstance(node, ast.Attribute):
            yield path_of(node) or ()
        elif isinstance(node, ast.Constant):
            yield ("sysctls", str(node.value))


def changed(table: Mapping[str, Any], keys: Keys, value: Any) -> dict[str, Any]:
    """A copy with one value changed, added or left out."""
    new: Any = copy.deepcopy(dict(table))
    place = new
    for key in keys[:-1]:
        place = place.setdefault(key, {}) if isinstance(place, dict) else place[key]
    if value == ABSENT:
        del place[keys[-1]]
    else:
        place[keys[-1]] = value
    return dict(new)


def choices(rule: Rule, keys: Keys, value: Any) -> list[Any]:
    """What may stand in place of a value that is no number."""
    words = sorted(one for one in constants(rule) if isinstance(one, str))[:12]
    if value is None:
        numbers = [0.0, 1.0, 1e9]
        return [True, False, *numbers, *words]
    if isinstance(value, bool):
        return [not value, ABSENT]
    return [*words, ABSENT]


def steps(rule: Rule, value: float) -> list[float]:
    """Where a search looks first: far and near, and beside the rule's own numbers."""
    own = {float(n) for n in constants(rule) if isinstance(n, int | float)}
    found = {0.0, value, *own, *(abs(value or 1.0) * 16.0**k for k in range(-5, 6))}
    found |= {value * one for one in own} | {value / one for one in own if one}
    return sorted(one for one in found if abs(one) < 1e15)


def edges(rule: Rule, table: Mapping[str, Any], keys: Keys, value: float) -> Iterator[Any]:
    """Neighbouring values, floats or a sysctl's integers, between which the answer changes."""
    words = str(table.get("sysctls", {}).get(keys[-1], int(value))).split()
    moves = keys in set(used(rule))
    for place in range(len(words) if keys[0] == "sysctls" else 1):

        def made(number: float, place: int = place) -> Any:
            if keys[0] != "sysctls":
                return number
            return " ".join([*words[:place], str(int(number)), *words[place + 1 :]])

        def at(number: float, made: Any = made) -> str:
            said = answer(rule, changed(table, keys, made(number)))
            return shape(said) if moves else said

        def after(number: float, to: float) -> float:
            if keys[0] != "sysctls":
                return math.nextafter(number, to)
            return int(number) + math.copysign(1, to - number)

        start = float(words[place]) if keys[0] == "sysctls" else value
        grid = [(one, at(one)) for one in steps(rule, start)]
        for (low, here), (high, there) in pairwise(grid):
            if here == there:
                continue
            a, b = low, high
            if at(after(low, high)) == there:  # mostly it is one of the rule's own numbers
                b = after(low, high)
            elif at(after(high, low)) == here:
                a = after(high, low)
            while after(a, b) < b and a < (middle := (a + b) / 2) < b:
                a, b = (middle, b) if at(middle) == here else (a, middle)
            yield from (made(a), made(b))


def numeric(keys: Keys, value: Any) -> bool:
    """Whether a value is a number, or a sysctl's numbers, and no name of the target."""
    if keys[0] == "sysctls":
        return all(word.isdigit() for word in str(value).split())
    named = keys[-1] in ("pid", "id", "inode", "name")
    return isinstance(value, int | float) and not isinstance(value, bool) and not named


def search(rule: Rule) -> list[str]:
    """The points of a rule as lines: test, change, answer."""
    out: dict[str, None] = {}
    seen: set[tuple[Keys, str, str]] = set()  # by an earlier test
    for name, table in bases(rule).items():
        base = answer(rule, table)
        found: list[tuple[Keys, Any]] = [(("profile",), profile) for profile in PROFILES]
        numbers: list[tuple[Keys, Any]] = []
        for keys, value in leaves(table):
            if numeric(keys, value):
                start = 1.0 if keys[0] == "sysctls" else float(value)
                numbers += [(keys, one) for one in edges(rule, table, keys, start)]
            else:
                found += [(keys, one) for one in choices(rule, keys, value)]
        for keys in read_by(rule, table):
            found += [(keys, one) for one in choices(rule, keys, None)]
            numbers += [(keys, one) for one in edges(rule, table, keys, 1.0)]
        said = [(keys, one, answer(rule, changed(table, keys, one))) for keys, one in found]
        said = [point for point in said if point[2] not in (base, "not possible")]
        said += [(keys, one, answer(rule, changed(table, keys, one))) for keys, one in numbers]
        for keys, one, heard in said:
            if (keys, json.dumps(one), heard) not in seen:
                seen.add((keys, json.dumps(one), heard))
                out[" | ".join((name, json.dumps(keys), json.dumps(one), heard))] = None
    return list(out)


def differences(rule: Rule, lines: list[str]) -> dict[str, str]:
    """The lines that are no longer so, each with the answer of now."""
    tables, out = bases(rule), {}
    for line in lines:
        name, keys, value, was = line.rsplit(" | ", 3)
        table = tables.get(name)
        if table is not None:
            table = changed(table, tuple(json.loads(keys)), json.loads(value))
        said = "no such test" if table is None else answer(rule, table)
        if said != was:
            out[line] = said
    return out


def needed(rule: Rule) -> list[str]:
    """The fewest points that notice what the rule's own tests do not."""
    points = search(rule)
    changes = [one for _, _, one in mutants(rule) if not fails(one)]
    left = [noticed for one in changes if (noticed := differences(one, points))]
    chosen: list[str] = []
    while left:
        count = Counter(point for noticed in left for point in noticed)
        chosen.append(min(count, key=lambda point: (-count[point], len(point), point)))
        left = [noticed for noticed in left if chosen[-1] not in noticed]
    return sorted(chosen)


def golden(rule: Rule) -> Path:
    """The file that has the points of the rules in its folder."""
    return GOLDEN / f"{rule.surface}.txt"


def kept(file: Path) -> dict[str, list[str]]:
    """Rule → its points."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    parts = (part.splitlines() for part in re.split(r"^(?=\S)", text, flags=re.MULTILINE) if part)
    return {name: [line.strip() for line in lines] for name, *lines in parts}


def keep(file: Path, rules: Mapping[str, list[str]]) -> None:
    """Write the points of these rules."""
    lines = [line for name in sorted(rules) for line in (name, *(f"    {p}" for p in rules[name]))]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def mutants(rule: Rule) -> Iterator[tuple[str, str, Rule]]:
    """Kind of change, what is changed, the changed rule."""
    for name, value in rule.limits.items():
        if isinstance(value, int | float) and value:
            for kind, new in (("limit x2", value * 2), ("limit /2", value / 2)):
                yield kind, name, replace(rule, limits={**rule.limits, name: new})
    if rule.hold:
        yield "hold", f"{rule.hold:g}", replace(rule, hold=0.0)
    if rule.profiles is not None:
        yield "profiles", " ".join(rule.profiles), replace(rule, profiles=None)
    for index, fix in enumerate(rule.words.fixes):
        if fix.when is not None:
            fixes = list(rule.words.fixes)
            fixes[index] = replace(fix, when=None)
            words = replace(rule.words, fixes=tuple(fixes))
            yield "if", fix.when.text, replace(rule, later=partial(replace, words))
    swap: dict[type, ast.cmpop] = {ast.Gt: ast.GtE(), ast.GtE: ast.Gt(), ast.Lt: ast.LtE(),
                                   ast.LtE: ast.Lt()}  # fmt: skip
    count = sum(isinstance(n, ast.Compare) for n in ast.walk(rule.when.tree))
    for number in range(count):
        tree = copy.deepcopy(rule.when.tree)
        node = [n for n in ast.walk(tree) if isinstance(n, ast.Compare)][number]
        if type(node.ops[0]) in swap:
            before = ast.unparse(node)
            node.ops[0] = swap[type(node.ops[0])]
            when = Expression(ast.unparse(tree), rule.over, rule.when.type)
            yield "> or >=", before, replace(rule, when=when)


def fails(rule: Rule) -> bool:
    """Whether a test of the rule itself notices that the rule was changed."""
    hosts = recorded(Path(rule.path).resolve())
    return any(verdict(rule, table, moments(rule, table, hosts)) for table in own_tests(rule))


def main() -> int:
    """Print what points and tests do not notice, and the number that they do."""
    paths = [Path(name) for name in sys.argv[1:]] or files(PACK)
    noticed: Counter[str] = Counter()
    all_: Counter[str] = Counter()
    for rule in (rule for path in paths for rule in read(path)):
        lines = kept(golden(rule))[rule.id]
        for kind, what, mutant in mutants(rule):
            all_[kind] += 1
            if differences(mutant, lines) or fails(mutant):
                noticed[kind] += 1
            else:
                print(f"{rule.id}: {kind}: {what}")
    for kind, count in all_.items():
        print(f"{kind:10} {noticed[kind]:>4} of {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
