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

nettop advise --json > before.json             keep what is known
nettop advise --baseline before.json           only what is new since then, and what has gone
nettop advise --format nagios                  a plugin for Nagios, Icinga, Naemon or Sensu

--baseline exits with 1 if anything is new, and with 0 if not; --fail-on limits it to a severity. A
finding of the same rule on the same target is not new, unless its severity has risen. --format
nagios prints one line with performance data, then a line for each finding. Its exit code is the
state: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN; findings below a warning do not raise it, unless
--fail-on says so. A wrong option or a misspelt `nagios` is UNKNOWN too. --baseline and --format
can be combined.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .. import __version__
from ..advice.rules.severity import MARKS, SEVERITIES
from ..files import own
from ..host.source import Source
from ..terms.dataclass import picked
from ..terms.errors import Refused
from . import (
    _witness,
    duration_argument,
    emit,
    interface_argument,
    json_argument,
    known_interface,
    open_peer,
    open_source,
    peer_argument,
    print_lines,
    profile_argument,
    report_faults,
    source_arguments,
)

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding, Silent
    from ..facts.pair.model import Sides
    from ..frame.rates import Frame
    from ..views.observer import Observation, Observer
    from ._baseline import Since

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
    _witness.deep_argument(parser)
    parser.add_argument(
        "--fail-on",
        choices=(*SEVERITIES, "never"),
        help="exit with 1 if a finding is at or above this severity (critical; with --baseline "
        "info, with nagios warning)",
    )
    parser.add_argument(
        "--baseline", metavar="FILE", help="report only what is new since this `advise --json`"
    )
    parser.add_argument(
        "--format", choices=("nagios",), help="print the line of a monitoring plugin, and its state"
    )
    peer_argument(parser)
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the findings. Exit code 1: one is at or above --fail-on; 3: not enough to judge by."""
    if args.fail_on is None:
        args.fail_on = "critical"
        if args.baseline or args.format:
            args.fail_on = "info" if args.baseline and not args.format else "warning"
    from ..sampling.ahead import prepare
    from ..views.enough import shortfall
    from . import _baseline

    if args.json and args.format:
        raise Refused("--json and --format are two formats: choose one", 2)
    if args.peer and (args.baseline or args.format):
        raise Refused("--baseline and --format judge one host: leave out --peer", 2)
    baseline = _baseline.read(args.baseline) if args.baseline else None
    source = open_source(args)
    peer = None if args.baseline or args.format else open_peer(args, source)
    if peer is not None:
        return _both(source, peer, args)
    last = observe(source, args)
    lacking = shortfall(last.frame, live=source.live)
    findings, since = last.judgement.findings, None
    if baseline is not None:
        since = _baseline.since(
            baseline, source.host, last.judgement, rules=_baseline.rules_in_force(),
            interface=args.interface or "", judged=lacking is None,
        )  # fmt: skip
        findings = since.new
    if args.format:
        from . import _nagios

        return _nagios.report(findings, _level(args), last.frame, lacking, args.seconds, since)
    prepare(source, lambda: [changes_of(source, finding) for finding in findings])
    if args.json:
        values = document(source, last, args.seconds, everything=args.all)
        if since is not None:
            values["findings"] = [finding_json(source, finding) for finding in findings]
            values["baseline"] = _baseline.document(since)
        emit(values)
    else:
        _print(source, last, args, findings, since)
    if _severe(findings, args):
        return 1
    return 0 if lacking is None else 3


def _level(args: argparse.Namespace) -> int:
    return SEVERITIES.index(args.fail_on) if args.fail_on in SEVERITIES else -1


def _severe(findings: Sequence[Finding], args: argparse.Namespace) -> bool:
    """Whether a finding is at or above --fail-on."""
    return any(SEVERITIES.index(finding.severity) <= _level(args) for finding in findings)


def _both(here: Source, there: Source, args: argparse.Namespace) -> int:
    """Print the findings of both hosts, those of one severity together. Exit codes as `run`."""
    from ..sampling.ahead import prepare
    from ..views import both
    from ..views.enough import shortfall

    observers = _observer(here, args), _observer(there, args, other=True)
    for observer in observers:
        report_faults(observer.faults)
    view = both.Observers(here, there, observers)
    for last in view.judged(args.seconds):
        frames, sides, judged = last
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
        _print_both(findings, sides, view.hosts, [last.frame for last in judged])
    if _severe([finding for finding, _, _ in findings], args):
        return 1
    enough = (shortfall(last.frame, live=True) is None for last in judged)
    return 0 if all(enough) else 3


def _print_both(
    findings: Sequence[tuple[Finding, Source, str]], sides: Sides, hosts: tuple[str, str],
    frames: Sequence[Frame],
) -> None:  # fmt: skip
    from ..facts.pair import words
    from ..views.enough import all_clear

    print_lines(f"{hosts[0]} and {hosts[1]}", *words.headline(sides, hosts))
    if not findings:
        print_lines(all_clear(*frames))
    totals, printed = Counter((one.rule, host) for one, _, host in findings), Counter[object]()
    for finding, source, host in findings:
        key = finding.rule, host
        printed[key] += 1
        if printed[key] <= ALIKE:
            print_finding(source, finding, host)
        elif printed[key] == ALIKE + 1:
            print_lines("", f"{_summary(finding, totals[key] - ALIKE)} at {host}")


def _observer(source: Source, args: argparse.Namespace, *, other: bool = False) -> Observer:
    """The observer of a host; the interface of the command line is one of this host."""
    from ..views.observer import Observer

    observer = Observer(
        source,
        profile=getattr(args, "profile", None),
        interface=None if other else getattr(args, "interface", None),
        window=args.seconds,
    )
    if not getattr(args, "no_deep", False):
        observer.look_deep()
    return observer


def observe(source: Source, args: argparse.Namespace) -> Observation:
    """Observe for `args.seconds`; the last observation, its interface checked."""
    from ..facts.accounting import accounted
    from ..views.counted import BURSTS, rhythms
    from ..views.observer import watch

    observer = _observer(source, args)
    first = last = None
    for last in watch(observer, args.seconds):
        report_faults(observer.faults)  # the rules are loaded after the first sample
        known_interface(last.frame, getattr(args, "interface", None))
        first = first or last
    if first is None or last is None or not last.frame.tables:
        raise Refused("no data of this host can be read", 3)
    if observer.interface is not None:  # losses are those of the host
        return last
    facts = accounted((first.frame, first.facts), (last.frame, last.facts))
    bursts = rhythms(source, *BURSTS) if observer.deep else ()
    return replace(last, facts=replace(facts, rhythms=bursts))


def document(
    source: Source, last: Observation, window: float, *, everything: bool = False
) -> dict[str, object]:
    """The --json document: system, limits, findings with evidence and changes, missing tables."""
    from ..collect import title
    from ..facts.limits.words import document as limit_document
    from ..views import enough
    from ..views.inventory import inventory
    from ._baseline import rules_in_force

    profile = last.facts.profile
    values: dict[str, object] = {
        "host": source.host,
        "version": __version__,
        "rules": rules_in_force(),
        "profile": {"name": profile.name, "why": profile.why},
        "seconds": window,
        "system": inventory(last.facts, last.frame.wall),
        "limits": [limit_document(limit) for limit in last.facts.limits],
        "findings": [finding_json(source, finding) for finding in last.judgement.findings],
        "missing": dict(last.frame.missing),
        "unread": {name: title(name) for name in enough.unread(last.frame)},
        "link_only": enough.link_only(last.facts),
        **_witness.losses(last.facts),
    }
    if (lacking := enough.shortfall(last.frame, live=source.live)) is not None:
        values["shortfall"] = lacking
    if everything:
        values["silent"] = [
            picked(result, "rule target because") for result in last.judgement.silent()
        ]
    return values


def finding_json(source: Source, finding: Finding) -> dict[str, object]:
    """One finding as data, with its changes on this host."""
    from ..facts.limits.words import prediction_data as predicted

    return {
        **picked(finding, "id rule target severity title why"),
        "held": round(finding.held, 3),
        **picked(finding, "evidence sources competing"),
        "changes": changes_of(source, finding),
        **picked(finding, "advice expected"),
        "predicted": None if finding.predicted is None else predicted(finding.predicted),
        "cause": finding.cause or None,
        "also": list(finding.also),
    }


def changes_of(source: Source, finding: Finding) -> list[Mapping[str, object]]:
    """The changes of the finding: setting, before, after, command, risk, and how it is set."""
    from ..changes.plan import describe

    return [
        describe(wanted.setting, wanted.value, source, experiment=wanted.experiment)
        for wanted in finding.wanted
    ]


def _print(
    source: Source, last: Observation, args: argparse.Namespace, findings: Sequence[Finding],
    since: Since | None,
) -> None:  # fmt: skip
    from ..facts.limits import words
    from ..views.enough import all_clear, not_read, shortfall

    facts = last.facts
    profile = facts.profile
    print_lines(f"{source.host} · Linux {facts.host.release} · {profile.name} ({profile.why})")
    limit = words.busiest(facts.limits)
    if limit is not None:
        told = f"{words.line(limit)}{words.together(limit, facts.limits)}"
        print_lines(f"{told} ({facts.means.window}; findings: {facts.means.last})")
    for text in _witness.accounting(facts):
        print_lines(text)
    lacking = shortfall(last.frame, live=source.live)
    if lacking is not None:
        print_lines(f"Not enough to judge this host: {lacking}.")
    elif since is not None:
        count = f"{len(findings)}" if findings else "Nothing"
        print_lines(f"{count} new since {since.baseline.when}, {len(since.gone)} gone.")
    elif not findings:
        print_lines(all_clear(last.frame, limits=facts.limits, losses=facts.losses))
    totals, printed = Counter(finding.rule for finding in findings), Counter[str]()
    for finding in findings:
        printed[finding.rule] += 1
        if printed[finding.rule] <= ALIKE:
            print_finding(source, finding)
        elif printed[finding.rule] == ALIKE + 1:
            print_lines("", _summary(finding, totals[finding.rule] - ALIKE))
    if since is not None and (since.gone or since.remarks):
        print_lines("", *(f"✓ gone: {one.id}  {one.title}" for one in since.gone), *since.remarks)
    if args.all:
        print_lines("", "Rules without a finding:", *_without_finding(last.judgement.silent()))
    for text in not_read(last):
        print_lines(text)


def print_finding(source: Source, finding: Finding, host: str = "") -> None:
    """Print one finding in full; `host` is named where it is one of two."""
    from textwrap import wrap

    from ..advice.rules.explain import figures, prediction
    from ..advice.rules.rule import citation
    from ..terms.text import safe
    from ..views.steps import step

    place = f" at {host}" if host else ""
    print_lines("", f"{MARKS[finding.severity]} {finding.id}{place}  {finding.title}")
    if finding.cause:
        print_lines(f"    explained by {finding.cause}: fix that first")
    for figure in figures(finding):
        print_lines(f"    {figure}")
    for wanted in finding.wanted:
        change = step(wanted.setting, wanted.value, source)
        how = f"not by nettop: {change.because}" if change.because else ""
        if wanted.experiment and not how:
            proof = f'{own.called()} prove {finding.id} --to ADDRESS --peer "ssh HOST"'
            how = f"only a test shows whether it helps: {proof}"
        risk = "" if change.risk == "none" else f"   (risk: {change.risk})"
        print_lines(f"    {change.setting}: {change.before} → {change.after}{risk}")
        print_lines(*(f"      {text}" for text in (change.shell, how) if text))
    for text in finding.advice:
        print_lines(*wrap(safe(text), 78, initial_indent="    → ", subsequent_indent="      "))
    if text := prediction(finding):
        print_lines(
            *wrap(safe(text), 78, initial_indent="    predicted: ", subsequent_indent="      ")
        )
    for cite in finding.sources:
        text = citation(cite)
        print_lines(
            *wrap(safe(text), 78, initial_indent="    source: ", subsequent_indent="      ")
        )


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
