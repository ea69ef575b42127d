"""Why a rule speaks or keeps silent: on this host, or in general.

nettop explain rx-ring-overrun           its verdict on every target here, and the rule
nettop explain rx-ring-overrun eth0      on one target: the figures seen, who says so, who says
                                         otherwise and why that does not count here
nettop explain rx-ring-overrun@eth0      the same
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..terms.errors import Refused, nearest
from . import (
    duration_argument,
    emit,
    json_argument,
    open_source,
    profile_argument,
    say,
    source_arguments,
)
from ._argument import target as rule_and_target

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding, Rule, Silent
    from ..host.source import Source
    from ..views.observer import Observation

MANY = 8  # targets that are named when another was meant
HELP = "why a rule speaks or keeps silent"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("rule", type=rule_and_target, metavar="RULE")
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


def _verdicts(last: Observation, rule: Rule) -> dict[str, Finding | Silent]:
    """Target → the finding, or the silence; findings first, targets it does not judge last."""
    said: tuple[Finding | Silent, ...] = (*last.judgement.findings, *last.judgement.silent())
    return {one.target: one for one in said if one.rule == rule.id}


def _document(source: Source, rule: Rule, verdicts: Mapping[str, Finding | Silent]) -> Any:
    from ..advice.rules.explain import data
    from ..advice.rules.rule import Silent
    from .advise import finding_json

    targets = [
        {"target": target, "because": said.because}
        if isinstance(said, Silent)
        else {"target": target, "finding": finding_json(source, said)}
        for target, said in verdicts.items()
    ]
    return {"rule": data(rule), "targets": targets}


def _print(rule: Rule, verdicts: Mapping[str, Finding | Silent], *, one: bool) -> None:
    from ..advice.rules.explain import page, verdict
    from ..advice.rules.papers import references
    from ..advice.rules.rule import Silent
    from ..config import rules_folder

    known = references(rules_folder())
    if not one:
        say(*_here(rule, verdicts), "", *page(rule, known=known))
    for said in verdicts.values() if one else ():
        say(*(_silence(said) if isinstance(said, Silent) else verdict(said, rule, known=known)))


def _here(rule: Rule, verdicts: Mapping[str, Finding | Silent]) -> Iterator[str]:
    """The verdicts on this host: findings with their figures, some silences, the number of others.

    A rule may have a target for every queue of a large host.
    """
    from ..advice.rules.explain import figures
    from ..advice.rules.rule import Silent

    if not verdicts:
        yield f"Here: nothing to judge, this host shows no {rule.over}."
    silent = [said for said in verdicts.values() if isinstance(said, Silent)]
    for said in verdicts.values():
        if not isinstance(said, Silent):
            yield from (f"Here: {said.id}: {said.title}", *(f"  {one}" for one in figures(said)))
    judged = [said for said in silent if said.applies]
    for said in judged[:MANY]:
        yield from _silence(said, "Here: ")
    if len(judged) > MANY:
        yield f"Here: silent on {len(judged) - MANY:,} targets more."
    other = [said for said in silent if not said.applies]
    if len(other) == 1 or (other and not judged):
        yield from _silence(other[0], "Here: ")
        other = other[1:]
    if other:
        yield f"Here: {len(other):,} targets that it does not judge."


def _silence(said: Silent, begin: str = "") -> list[str]:
    from ..terms.text import safe, wrap

    return wrap(safe(f"{begin}{said.rule}@{said.target} is silent: {said.because}"), 80)
