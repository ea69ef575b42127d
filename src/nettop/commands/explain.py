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
            raise Refused(
                f"{name} has no target {target!r} on this host (targets: {here}{more}){close}", 2
            )
        verdicts = {target: verdicts[target]}
    if args.json:
        emit(_document(source, rule, verdicts))
    else:
        _print(rule, verdicts, one=bool(target))
    return 0


def _verdicts(last: Observation, rule: Rule) -> dict[str, Finding | Silent]:
    """Result by target: findings first, targets that the rule does not apply to last."""
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
    """The results on this host: findings with figures, some targets without, the number of others.

    A rule can have one target per queue of a large host.
    """
    from ..advice.rules.explain import figures
    from ..advice.rules.rule import Silent

    if not verdicts:
        yield f"Here: not applicable, this host has no {rule.over}."
    silent = [said for said in verdicts.values() if isinstance(said, Silent)]
    for said in verdicts.values():
        if not isinstance(said, Silent):
            yield from (f"Here: {said.id}: {said.title}", *(f"  {one}" for one in figures(said)))
    judged = [said for said in silent if said.applies]
    for said in judged[:MANY]:
        yield from _silence(said, "Here: ")
    if len(judged) > MANY:
        yield f"Here: no finding on {len(judged) - MANY:,} more targets."
    other = [said for said in silent if not said.applies]
    if len(other) == 1 or (other and not judged):
        yield from _silence(other[0], "Here: ")
        other = other[1:]
    if other:
        yield f"Here: not applicable to {len(other):,} targets."


def _silence(said: Silent, begin: str = "") -> list[str]:
    from ..terms.text import safe, wrap

    return wrap(safe(f"{begin}no finding {said.rule}@{said.target}: {said.because}"), 80)
