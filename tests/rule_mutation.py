"""Mutation of rules: every change of what a rule asks must make one of the rule's own tests fail.

    python tests/rule_mutation.py [rules/surface/problem.toml …]

The changes: each condition of `when` and each `if` of a fix dropped and negated; each exception,
`hold` and `profiles` dropped. Prints the survivors: parts that the tests do not need, nor the looks
at its shares (`rule_shares`). Zero is the target.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import rule_shares

from nettop.advice.judge.rule_tests import moments, verdict
from nettop.advice.language.expression import Expression
from nettop.advice.rules.load import files, read
from nettop.advice.rules.load import tests as own_tests
from nettop.advice.rules.rule import Rule
from nettop.commands.rules import recorded

PACK = Path(__file__).parents[1] / "rules"


@dataclass(frozen=True)
class Mutant:
    """A rule with one part changed, and what was changed."""

    rule: Rule
    change: str


def mutants(rule: Rule) -> Iterator[Mutant]:
    """Every condition dropped and negated; every exception, `hold` and `profiles` dropped."""
    tree = rule.when.tree
    for leaf, neutral in leaves(tree):
        text = ast.unparse(leaf)
        whole = neutral is None  # the only condition: without it there is no rule to drop from
        if not whole:
            mutant = _changed(rule, _with(tree, leaf, ast.Constant(neutral)))
            yield Mutant(mutant, f"without `{text}`")
        negated = _with(tree, leaf, ast.UnaryOp(ast.Not(), leaf))
        yield Mutant(_changed(rule, negated), f"with not `{text}`")
    for index, exempt in enumerate(rule.unless):
        rest = rule.unless[:index] + rule.unless[index + 1 :]
        yield Mutant(replace(rule, unless=rest), f"without unless `{exempt.when.text}`")
    if rule.hold:
        yield Mutant(replace(rule, hold=0.0), "without hold")
    if rule.profiles is not None:
        yield Mutant(replace(rule, profiles=None), "without profiles")
    yield from _of_fixes(rule)


def _of_fixes(rule: Rule) -> Iterator[Mutant]:
    """Every `if` of a fix dropped and negated."""
    for index, fix in enumerate(rule.words.fixes):
        if fix.when is None:
            continue
        negated = replace(fix.when, text=f"not ({fix.when.text})")
        for change, condition in (("without if", None), ("with if not", negated)):
            fixes = list(rule.words.fixes)
            fixes[index] = replace(fix, when=condition)
            words = replace(rule.words, fixes=tuple(fixes))
            mutant = replace(rule, later=partial(replace, words))
            yield Mutant(mutant, f"fix[{index}] {change} `{fix.when.text}`")


def leaves(tree: ast.expr, neutral: bool | None = None) -> Iterator[tuple[ast.expr, bool | None]]:
    """The conditions joined by `and` and `or`, each with what means nothing in its place."""
    if isinstance(tree, ast.BoolOp):
        for value in tree.values:
            yield from leaves(value, isinstance(tree.op, ast.And))
    elif (
        isinstance(tree, ast.UnaryOp)
        and isinstance(tree.op, ast.Not)
        and isinstance(tree.operand, ast.BoolOp)
    ):
        for value in tree.operand.values:
            yield from leaves(value, isinstance(tree.operand.op, ast.And))
    else:
        yield tree, neutral


def _changed(rule: Rule, when: ast.expr) -> Rule:
    return replace(rule, when=Expression(ast.unparse(when), rule.over, rule.when.type))


def _with(tree: ast.expr, old: ast.expr, new: ast.expr) -> ast.expr:
    if tree is old:
        return new
    if isinstance(tree, ast.BoolOp):
        return ast.BoolOp(tree.op, [_with(value, old, new) for value in tree.values])
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.operand, ast.BoolOp):
        return ast.UnaryOp(tree.op, _with(tree.operand, old, new))
    return tree


def survivors(rule: Rule) -> list[str]:
    """The changes that no test of the rule notices."""
    hosts = recorded(Path(rule.path).resolve())
    tests = [(table, moments(rule, table, hosts)) for table in own_tests(rule)]
    looks = list(rule_shares.looks(rule))
    said = [bool(rule_shares.severity(rule, look)) for look in looks]
    return [
        f"{rule.id}: {mutant.change}"
        for mutant in mutants(rule)
        if not any(verdict(mutant.rule, table, facts) for table, facts in tests)
        and [bool(rule_shares.severity(mutant.rule, look)) for look in looks] == said
    ]


def main() -> int:
    """Print the survivors of the files named, or of the whole pack."""
    paths = [Path(name) for name in sys.argv[1:]] or files(PACK)
    rules = [rule for path in paths for rule in read(path)]
    changes = sum(len(list(mutants(rule))) for rule in rules)
    alive = [line for rule in rules for line in survivors(rule)]
    print("\n".join(alive))
    print(f"{len(rules)} rules, {changes} mutants, {len(alive)} survivors")
    return int(bool(alive))


if __name__ == "__main__":
    sys.exit(main())
