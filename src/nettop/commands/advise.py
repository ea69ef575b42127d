"""Observe the host for some seconds and report what is wrong, why, and how to fix it.

nettop advise                              observe this host for five seconds, then report
nettop advise --seconds 60 --all           look longer; list the rules that found nothing too
nettop advise --json --fail-on warning     for scripts: exit code 1 for a warning or worse
nettop advise --host "ssh web1"            another host, where nothing is installed

Each finding shows the figures of this host, the published measurement behind the advice and the
exact change. `nettop explain RULE TARGET` gives details; `nettop apply RULE@TARGET` makes the
change.

With --peer the other end of the flows is judged too: its findings are listed with the name of its
host, and so are those about settings that differ between both hosts. The commands of such a finding
are for that host; nothing is changed there.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..advice.rules.severity import MARKS, SEVERITIES
from . import (
    duration_argument,
    emit,
    interface_argument,
    json_argument,
    open_peer,
    open_source,
    peer_argument,
    print_lines,
    profile_argument,
    source_arguments,
)

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding, Silent
    from ..facts import Facts
    from ..facts.pair.model import Sides
    from ..host.source import Source
    from ..views.observer import Observation, Observer

GROUP = "look"
HELP = "report what is wrong on this host, why, and the exact change"
ALIKE = 3  # findings of one rule in full; forty flows of one process repeat the same text


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    json_argument(parser)
    duration_argument(parser, "--seconds", "how long to observe the host (5)", 5.0)
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
    peer_argument(parser)
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the findings. Exit code 1: one is at or above --fail-on; 3: not enough to judge by."""
    from ..sampling.ahead import prepare
    from ..views.enough import shortfall

    source = open_source(args)
    peer = open_peer(args, source)
    if peer is not None:
        return _both(source, peer, args)
    last = observe(source, args)
    findings = last.judgement.findings
    prepare(source, lambda: [changes_of(source, finding) for finding in findings])
    if args.json:
        emit(document(source, last, args.seconds, everything=args.all))
    else:
        _print(source, last, args)
    if _severe(findings, args):
        return 1
    return 0 if shortfall(last.frame, live=source.live) is None else 3


def _severe(findings: Sequence[Finding], args: argparse.Namespace) -> bool:
    """Whether a finding is at or above --fail-on."""
    level = SEVERITIES.index(args.fail_on) if args.fail_on in SEVERITIES else -1
    return any(SEVERITIES.index(finding.severity) <= level for finding in findings)


def _both(here: Source, there: Source, args: argparse.Namespace) -> int:
    """Print the findings of both hosts, those of one severity together. Exit codes as `run`."""
    from ..sampling.ahead import prepare
    from ..views import both
    from ..views.enough import shortfall

    observers = _observer(here, args), _observer(there, args, other=True)
    view = both.Observers(here, there, observers)
    for frames, sides in view.watch(args.seconds, observers[0].tables()):
        judged = (
            observers[0].judged(frames.here, sides.here),
            observers[1].judged(frames.there, sides.there),
        )
    prepare(there, lambda: [changes_of(there, one) for one in judged[1].judgement.findings])
    findings = [
        (finding, source, host)
        for last, source, host in zip(judged, (here, there), view.hosts, strict=True)
        for finding in last.judgement.findings
    ]
    findings.sort(key=lambda one: SEVERITIES.index(one[0].severity))
    if args.json:
        values = document(here, judged[0], args.seconds, everything=args.all)
        values["findings"] = [
            {**finding_json(source, finding), "host": host} for finding, source, host in findings
        ]
        emit({**values, "peer": both.document(sides, there.host, frames.there)})
    else:
        _print_both(findings, sides, view.hosts)
    if _severe([finding for finding, _, _ in findings], args):
        return 1
    enough = (shortfall(last.frame, live=True) is None for last in judged)
    return 0 if all(enough) else 3


def _print_both(
    findings: Sequence[tuple[Finding, Source, str]], sides: Sides, hosts: tuple[str, str]
) -> None:
    from ..views import both

    print_lines(f"{hosts[0]} and {hosts[1]}", *both.headline(sides, hosts))
    if not findings:
        print("No problem found.")
    totals, printed = Counter((one.rule, host) for one, _, host in findings), Counter[object]()
    for finding, source, host in findings:
        key = finding.rule, host
        printed[key] += 1
        if printed[key] <= ALIKE:
            _print_finding(source, finding, host)
        elif printed[key] == ALIKE + 1:
            print_lines("", f"{_summary(finding, totals[key] - ALIKE)} at {host}")


def _observer(source: Source, args: argparse.Namespace, *, other: bool = False) -> Observer:
    """The observer of a host; the interface of the command line is one of this host."""
    from ..config import ConfigError
    from ..terms.errors import Refused
    from ..views.observer import Observer
    from . import report_faults

    try:
        observer = Observer(
            source,
            profile=getattr(args, "profile", None),
            interface=None if other else getattr(args, "interface", None),
            window=args.seconds,
        )
    except (ConfigError, ValueError) as error:
        raise Refused(str(error), 2) from None
    report_faults(observer.faults)
    return observer


def observe(source: Source, args: argparse.Namespace) -> Observation:
    """Observe for `args.seconds`; the last observation, its interface checked."""
    from ..terms.errors import Refused
    from ..views.observer import watch
    from . import known_interface

    observer = _observer(source, args)
    last = None
    for last in watch(observer, args.seconds):
        known_interface(last.frame, getattr(args, "interface", None))
    if last is None or not last.frame.tables:
        raise Refused("no data of this host can be read", 3)
    return last


def document(
    source: Source, last: Observation, window: float, *, everything: bool = False
) -> dict[str, object]:
    """The --json document: system, limits, findings with evidence and changes, missing tables."""
    from ..facts.limits.document import document as limit_document
    from ..views.enough import shortfall
    from ..views.inventory import inventory

    profile = last.facts.profile
    values: dict[str, object] = {
        "host": source.host,
        "profile": {"name": profile.name, "why": profile.why},
        "seconds": window,
        "system": inventory(last.facts, last.frame.wall),
        "limits": [limit_document(limit) for limit in last.facts.limits],
        "findings": [finding_json(source, finding) for finding in last.judgement.findings],
        "missing": dict(last.frame.missing),
        "link_only": link_only(last.facts),
    }
    if (lacking := shortfall(last.frame, live=source.live)) is not None:
        values["shortfall"] = lacking
    if everything:
        values["silent"] = [
            {"rule": result.rule, "target": result.target, "because": result.because}
            for result in last.judgement.silent()
        ]
    return values


def finding_json(source: Source, finding: Finding) -> dict[str, object]:
    """One finding as data, with its changes on this host."""
    from ..facts.limits.document import predicted

    return {
        "id": finding.id,
        "rule": finding.rule,
        "target": finding.target,
        "severity": finding.severity,
        "title": finding.title,
        "why": finding.why,
        "held": round(finding.held, 3),
        "evidence": list(finding.evidence),
        "sources": list(finding.sources),
        "competing": list(finding.competing),
        "encodes": list(finding.encodes),
        "changes": changes_of(source, finding),
        "advice": list(finding.advice),
        "expected": finding.expected,
        "predicted": None if finding.predicted is None else predicted(finding.predicted),
        "cause": finding.cause or None,
    }


def changes_of(source: Source, finding: Finding) -> list[Mapping[str, object]]:
    """The changes of the finding: setting, before, after, equivalent command, risk."""
    from ..changes.plan import describe

    return [describe(wanted.setting, wanted.value, source) for wanted in finding.wanted]


def _print(source: Source, last: Observation, args: argparse.Namespace) -> None:
    from ..collect import collector
    from ..facts import elsewhere
    from ..facts.limits import words
    from ..views.enough import shortfall

    facts = last.facts
    profile = facts.profile
    print_lines(f"{source.host} · Linux {facts.host.release} · {profile.name} ({profile.why})")
    limit = words.busiest(facts.limits)
    if limit is not None:
        print_lines(words.line(limit))
    findings = last.judgement.findings
    lacking = shortfall(last.frame, live=source.live)
    if lacking is not None:
        print_lines(f"Not enough to judge this host: {lacking}.")
    elif not findings:
        print("No problem found.")
    totals, printed = Counter(finding.rule for finding in findings), Counter[str]()
    for finding in findings:
        printed[finding.rule] += 1
        if printed[finding.rule] <= ALIKE:
            _print_finding(source, finding)
        elif printed[finding.rule] == ALIKE + 1:
            print_lines("", _summary(finding, totals[finding.rule] - ALIKE))
    if args.all:
        print_lines("", "Rules without a finding:", *_without_finding(last.judgement.silent()))
    unread: dict[str, list[str]] = {}
    for name, why in sorted(last.frame.missing.items()):
        if not getattr(collector(name), "OPTIONAL", False):
            unread.setdefault(why, []).append(name)
    for why, names in unread.items():
        print_lines(f"not read: {', '.join(names)}: {why}")
    for text in (*_links_only(facts), *elsewhere.limited(last.frame, facts)):
        print_lines(text)


def link_only(facts: Facts) -> list[str]:
    """The interfaces with a link whose drops are not known by kind."""
    return [nic.name for nic in facts.nics if nic.link_only and nic.carrier]


def _links_only(facts: Facts) -> list[str]:
    """A line for each of them."""
    from ..facts.kinds.path import LINK_ONLY

    return [f"{name}: {LINK_ONLY}" for name in link_only(facts)]


def _print_finding(source: Source, finding: Finding, host: str = "") -> None:
    """Print one finding in full; `host` is named where it is one of two."""
    from textwrap import wrap

    from ..advice.rules.explain import figures, prediction
    from ..advice.rules.papers import citation
    from ..views.steps import step

    place = f" at {host}" if host else ""
    print_lines("", f"{MARKS[finding.severity]} {finding.id}{place}  {finding.title}")
    if finding.cause:
        print_lines(f"    explained by {finding.cause}: fix that first")
    for figure in figures(finding):
        print_lines(f"    {figure}")
    for wanted in finding.wanted:
        change = step(wanted.setting, wanted.value, source)
        risk = "" if change.risk == "none" else f"   (risk: {change.risk})"
        print_lines(f"    {change.setting}: {change.before} → {change.after}{risk}")
        print_lines(f"      {change.shell}")
    for text in finding.advice:
        print_lines(*wrap(text, 78, initial_indent="    → ", subsequent_indent="      "))
    if text := prediction(finding):
        print_lines(*wrap(text, 78, initial_indent="    predicted: ", subsequent_indent="      "))
    for cite in finding.sources:
        text = citation(cite)
        print_lines(*wrap(text, 78, initial_indent="    source: ", subsequent_indent="      "))


def _summary(finding: Finding, more: int) -> str:
    """One line for the further findings of a rule."""
    targets = "target" if more == 1 else "targets"
    return (
        f"{MARKS[finding.severity]} {finding.rule}: {more:,} {targets} more (--json has them all)"
    )


def _without_finding(silent: Sequence[Silent]) -> Iterator[str]:
    """A line for each rule without a finding on its target; the number that do not apply."""
    for result in silent:
        if result.applies:
            yield f"  {result.rule}@{result.target}: {result.because}"
    others = sum(not result.applies for result in silent)
    if others:
        yield f"  … and {others:,} that do not apply to this interface type or profile"
