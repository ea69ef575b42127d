"""Observe the host for some seconds and report what is wrong, why, and how to fix it.

Each finding shows the figures of this host, the published measurement behind the advice and the
exact change. `nettop explain RULE TARGET` gives details; `nettop apply RULE@TARGET` makes the
change.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import (
    duration_argument,
    emit,
    interface_argument,
    json_argument,
    open_source,
    profile_argument,
    say,
    source_arguments,
)

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding, Silent
    from ..host.source import Source
    from ..views.observer import Observation

GROUP = "look"
HELP = "report what is wrong on this host, why, and the exact change"
SEVERITIES = ("critical", "warning", "advice", "info")
ALIKE = 3  # findings of one rule in full; forty flows of one process repeat the same text
MARKS = {"critical": "✗", "warning": "!", "advice": "·", "info": "i"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    json_argument(parser)
    duration_argument(parser, "--seconds", "how long to observe the host (2)", 2.0)
    profile_argument(parser)
    interface_argument(parser, "report findings of this interface only")
    parser.add_argument(
        "--all", action="store_true", help="also list the rules that found nothing, and why"
    )
    parser.add_argument(
        "--fail-on",
        choices=(*SEVERITIES, "never"),
        default="critical",
        help="exit with 1 if a finding is at or above this severity (critical)",
    )
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the findings. Exit code 1: one is at or above --fail-on."""
    source = open_source(args)
    last = look(source, args)
    findings = last.judgement.findings
    if args.json:
        emit(document(source, last, args.seconds, everything=args.all))
    else:
        _print(source, last, args)
    level = SEVERITIES.index(args.fail_on) if args.fail_on in SEVERITIES else -1
    return int(any(SEVERITIES.index(found.severity) <= level for found in findings))


def look(source: Source, args: argparse.Namespace) -> Observation:
    """Observe for `args.seconds`; the last observation, its interface checked."""
    from ..config import ConfigError
    from ..terms.errors import Refused
    from ..views.observer import Observer, watch
    from . import known_interface, tell_faults

    try:
        observer = Observer(
            source,
            profile=getattr(args, "profile", None),
            interface=getattr(args, "interface", None),
            window=args.seconds,
        )
    except (ConfigError, ValueError) as error:
        raise Refused(str(error), 2) from None
    tell_faults(observer.faults)
    last = None
    for last in watch(observer, args.seconds):
        known_interface(last.frame, getattr(args, "interface", None))
    if last is None or not last.frame.tables:
        raise Refused("no data of this host can be read", 3)
    return last


def document(
    source: Source, last: Observation, window: float, *, everything: bool = False
) -> dict[str, Any]:
    """The --json document: findings with evidence, sources and changes, and unreadable tables."""
    profile = last.facts.profile
    found = {
        "host": source.host,
        "profile": {"name": profile.name, "why": profile.why},
        "seconds": window,
        "findings": [finding_json(source, found) for found in last.judgement.findings],
        "missing": dict(last.frame.missing),
    }
    if everything:
        found["silent"] = [
            {"rule": silent.rule, "target": silent.target, "because": silent.because}
            for silent in last.judgement.silent()
        ]
    return found


def finding_json(source: Source, found: Finding) -> dict[str, Any]:
    """One finding as data, with its changes on this host."""
    return {
        "id": found.id,
        "rule": found.rule,
        "target": found.target,
        "severity": found.severity,
        "title": found.title,
        "why": found.why,
        "held": round(found.held, 3),
        "evidence": list(found.evidence),
        "sources": list(found.sources),
        "competing": list(found.competing),
        "encodes": list(found.encodes),
        "changes": changes_of(source, found),
        "advice": list(found.advice),
        "expected": found.expected,
    }


def changes_of(source: Source, found: Finding) -> list[dict[str, Any]]:
    """The changes of the finding: setting, before, after, equivalent command, risk."""
    from ..changes.plan import describe

    return [describe(wanted.setting, wanted.value, source) for wanted in found.wanted]


def _print(source: Source, last: Observation, args: argparse.Namespace) -> None:
    from ..collect import collector
    from ..facts.limits import words

    facts = last.facts
    profile = facts.profile
    say(f"{source.host} · Linux {facts.host.release} · {profile.name} ({profile.why})")
    limit = words.busiest(facts.limits)
    if limit is not None:
        say(words.line(limit))
    findings = last.judgement.findings
    if not findings:
        print("No problem found.")
    alike, told = Counter(found.rule for found in findings), Counter[str]()
    for found in findings:
        told[found.rule] += 1
        if told[found.rule] <= ALIKE:
            _tell(source, found)
        elif told[found.rule] == ALIKE + 1:
            say("", _others(found, alike[found.rule] - ALIKE))
    if args.all:
        say("", "Rules without a finding:", *_silences(last.judgement.silent()))
    for name, why in sorted(last.frame.missing.items()):
        if not getattr(collector(name), "OPTIONAL", False):
            say(f"not read: {name}: {why}")


def _tell(source: Source, found: Finding) -> None:
    """Print one finding in full."""
    from textwrap import wrap

    from ..advice.rules.explain import figures
    from ..changes import text

    say("", f"{MARKS[found.severity]} {found.id}  {found.title}")
    for seen in figures(found):
        say(f"    {seen}")
    for change in changes_of(source, found):
        risk = "" if change["risk"] == "none" else f"   (risk: {change['risk']})"
        before, after = ("?" if v is None else text(v) for v in (change["before"], change["after"]))
        say(f"    {change['setting']}: {before} → {after}{risk}")
        say(f"      {change['shell']}")
    for words in found.advice:
        say(*wrap(words, 78, initial_indent="    → ", subsequent_indent="      "))
    for where in found.sources:
        say(*wrap(cite(where), 78, initial_indent="    source: ", subsequent_indent="      "))


def _others(found: Finding, more: int) -> str:
    """Print one line for the further findings of a rule."""
    targets = "target" if more == 1 else "targets"
    return f"{MARKS[found.severity]} {found.rule}: {more:,} {targets} more (--json has them all)"


def _silences(silent: Sequence[Silent]) -> Iterator[str]:
    """Print each rule without a finding on its target, and the number that do not apply."""
    for one in silent:
        if one.applies:
            yield f"  {one.rule}@{one.target}: {one.because}"
    aside = sum(not one.applies for one in silent)
    if aside:
        yield f"  … and {aside:,} that do not apply to this interface type or profile"


def cite(where: Mapping[str, Any]) -> str:
    """One source as one line of text."""
    name = where.get("paper") or where.get("doc") or where.get("url") or "?"
    parts = [name, where.get("place"), where.get("figure")]
    return ", ".join(str(part) for part in parts if part)
