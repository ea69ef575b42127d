"""Explain a rule and its result on this host.

nettop explain rx-ring-overrun           the rule, and its result for every target on this host
nettop explain rx-ring-overrun eth0      the result for one target: figures, sources, and contrary
                                         sources with the reason why they do not apply
nettop explain rx-ring-overrun@eth0      the same
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from ..host.source import Source
from ..terms.errors import Refused, nearest
from . import (
    duration_argument,
    emit,
    json_argument,
    open_source,
    print_lines,
    profile_argument,
    source_arguments,
)
from ._argument import target as rule_and_target

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding, Rule, Silent
    from ..views.observer import Observation

    Result = Finding | Silent

MANY = 8  # targets that an error message lists
GROUP = "look"
HELP = "explain why a rule reports a finding or does not"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("rule", type=rule_and_target, metavar="RULE")
    parser.add_argument("target", nargs="?", metavar="TARGET")
    json_argument(parser)
    duration_argument(parser, "--seconds", "how long to observe the host (2)", 2.0)
    profile_argument(parser)
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the explanation; exit code 0 with or without a finding."""
    from .advise import observe
    from .rules import rule_named

    name, _, target = args.rule.partition("@")
    target = args.target or target
    rule = rule_named(name)
    source = open_source(args)
    last = observe(source, args)
    results = _results(last, rule)
    if target:
        if target not in results:
            targets = ", ".join(islice(results, MANY)) or "none"
            more = f" and {len(results) - MANY:,} more" if len(results) > MANY else ""
            near = nearest(target, results) or _unread(rule, last)
            raise Refused(
                f"{name} has no target {target!r} on this host (targets: {targets}{more}){near}", 2
            )
        results = {target: results[target]}
    if args.json:
        emit(_document(source, rule, results))
    elif target:
        _print_result(rule, results[target])
    else:
        _print_rule(rule, results)
    return 0


def _results(last: Observation, rule: Rule) -> dict[str, Result]:
    """Result by target: findings first, targets that the rule does not apply to last."""
    every: tuple[Result, ...] = (*last.judgement.findings, *last.judgement.silent())
    return {result.target: result for result in every if result.rule == rule.id}


def _unread(rule: Rule, last: Observation) -> str:
    """The tables that could not be read and without which the rule has no targets, with reasons."""
    from ..facts.kinds import kinds

    missing = last.frame.missing
    return "".join(
        f"; not read: {table}: {missing[table]}"
        for table in kinds()[rule.over].needs
        if table in missing
    )


def _document(source: Source, rule: Rule, results: Mapping[str, Result]) -> dict[str, object]:
    from ..advice.rules.explain import data
    from ..advice.rules.rule import Silent
    from .advise import finding_json

    targets = [
        {"target": target, "because": result.because}
        if isinstance(result, Silent)
        else {"target": target, "finding": finding_json(source, result)}
        for target, result in results.items()
    ]
    return {"rule": data(rule), "targets": targets}


def _print_result(rule: Rule, result: Result) -> None:
    """Print the result for one target."""
    from ..advice.rules.explain import verdict
    from ..advice.rules.rule import Silent, references
    from ..config import rules_folder

    if isinstance(result, Silent):
        print_lines(*_no_finding(result))
    else:
        print_lines(*verdict(result, rule, known=references(rules_folder())))


def _print_rule(rule: Rule, results: Mapping[str, Result]) -> None:
    """Print the results on this host, then the rule."""
    from ..advice.rules.explain import page
    from ..advice.rules.rule import references
    from ..config import rules_folder

    print_lines(*_here(rule, results), "", *page(rule, known=references(rules_folder())))


def _here(rule: Rule, results: Mapping[str, Result]) -> Iterator[str]:
    """The results on this host: findings with figures, some targets without, the number of others.

    A rule can have one target per queue of a large host.
    """
    from ..advice.rules.explain import figures, prediction
    from ..advice.rules.rule import Silent
    from ..terms.text import safe, wrap

    if not results:
        yield f"Here: not applicable, this host has no {rule.over}."
    silent = [result for result in results.values() if isinstance(result, Silent)]
    for result in results.values():
        if not isinstance(result, Silent):
            yield f"Here: {result.id}: {result.title}"
            yield from (f"  {figure}" for figure in figures(result))
            if text := prediction(result):
                yield from (f"  {line}" for line in wrap(safe(f"predicted: {text}"), 78))
    applying = [result for result in silent if result.applies]
    for result in applying[:MANY]:
        yield from _no_finding(result, "Here: ")
    if len(applying) > MANY:
        yield f"Here: no finding on {len(applying) - MANY:,} more targets."
    others = [result for result in silent if not result.applies]
    if len(others) == 1 or (others and not applying):
        yield from _no_finding(others[0], "Here: ")
        others = others[1:]
    if others:
        yield f"Here: not applicable to {len(others):,} targets."


def _no_finding(result: Silent, begin: str = "") -> list[str]:
    from ..terms.text import safe, wrap

    return wrap(safe(f"{begin}no finding {result.rule}@{result.target}: {result.because}"), 80)
