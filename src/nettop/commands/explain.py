"""Why a rule speaks or keeps silent: on this host, or in general.

nettop explain rx-ring-overrun           the rule, and its verdict on every target here
nettop explain rx-ring-overrun eth0      on one target: the figures seen, who says so, who says
                                         otherwise and why that does not count here
nettop explain rx-ring-overrun@eth0      the same
"""

from __future__ import annotations

import argparse
from itertools import islice
from typing import TYPE_CHECKING, Any

from . import (
    Refused,
    duration_argument,
    emit,
    json_argument,
    nearest,
    open_source,
    profile_argument,
    say,
    source_arguments,
)

if TYPE_CHECKING:
    from ..advice.rule import Rule
    from ..observe import Observation
    from ..source import Source

MANY = 8  # targets that are named when another was meant
HELP = "why a rule speaks or keeps silent"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("rule", metavar="RULE")
    parser.add_argument("target", nargs="?", metavar="TARGET")
    json_argument(parser)
    duration_argument(parser, "--seconds", "how long to look (2)", 2.0)
    profile_argument(parser)
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Explain; 0, also when the rule is silent."""
    from .advise import look
    from .rules import rule_named

    name, _, target = args.rule.partition("@")
    target = args.target or target
    rule = rule_named(name)
    source = open_source(args)
    last = look(source, args)
    verdicts = _verdicts(last, rule)
    if target:
        if target not in verdicts:
            here = ", ".join(islice(verdicts, MANY)) or "none"
            more = f" and {len(verdicts) - MANY:,} more" if len(verdicts) > MANY else ""
            close = nearest(target, verdicts)
            raise Refused(f"{name} has no target {target!r} here (it has: {here}{more}){close}", 2)
        verdicts = {target: verdicts[target]}
    if args.json:
        emit(_document(source, rule, verdicts))
    else:
        _print(rule, verdicts, one=bool(target))
    return 0


def _verdicts(last: Observation, rule: Rule) -> dict[str, Any]:
    """Target → the finding, or the reason for silence."""
    found: dict[str, Any] = {f.target: f for f in last.judgement.findings if f.rule == rule.id}
    for silent in last.judgement.silent():
        if silent.rule == rule.id:
            found[silent.target] = silent.because
    return found


def _document(source: Source, rule: Rule, verdicts: dict[str, Any]) -> dict[str, Any]:
    from ..advice.explain import data
    from .advise import finding_json

    targets = [
        {"target": target, "because": verdict}
        if isinstance(verdict, str)
        else {"target": target, "finding": finding_json(source, verdict)}
        for target, verdict in verdicts.items()
    ]
    return {"rule": data(rule), "targets": targets}


def _print(rule: Rule, verdicts: dict[str, Any], *, one: bool) -> None:
    from ..advice.explain import page, verdict
    from ..advice.papers import references
    from ..config import rules_folder
    from ..text import safe, wrap

    known = references(rules_folder())
    if not one:
        print("\n".join(page(rule, known=known)))
        if not verdicts:
            print(f"Here: nothing to judge, this host shows no {rule.over}.")
    for target, said in verdicts.items():
        if not isinstance(said, str):
            say(*verdict(said, rule, known=known) if one else [f"Here: {said.id}: {said.title}"])
        else:
            text = f"{rule.id}@{safe(target)} is silent: {said}"
            print("\n".join(wrap(safe(text) if one else f"Here: {safe(text)}", 80)))
