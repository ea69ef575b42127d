"""What the rules find of the targets of `nettop why`, beside their limits or without any."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ..host.source import Source
from ..terms.errors import Refused

if TYPE_CHECKING:
    from ..advice.judge.judge import Judge
    from ..advice.rules.rule import Finding
    from ..facts import Facts
    from ..facts.limits import Limit

PROBLEMS: Final = ("critical", "warning")
# what is listed with the drops, the calls and the ways
FLOW: Final = "tcp:"  # the target of a finding about one flow, whose limit says it
SHOWN: Final = ("calls-fail", "destination-out-of-reach", "packets-dropped-by-reason")


def answer(source: Source, args: argparse.Namespace, refused: Refused, brief: str) -> int:
    """Say what is known of a target without a limit: findings, or connections that soon end.

    Refused where nothing is.
    """
    from textwrap import wrap

    from . import emit, print_lines

    if told(source, args, brief or str(refused)):
        return 0
    if not brief:
        raise Refused(f"{refused}{tries(args.target)}", 2) from None
    if args.json:
        emit({"host": source.host, "seconds": args.seconds, "limits": [], "brief": brief})
    else:
        print_lines(f"{source.host} · {args.seconds:g} s", "", *wrap(brief, 78))
    return 0


def told(source: Source, args: argparse.Namespace, why: str) -> bool:
    """Print the findings that name the port, its programs, or the address; whether there are any.

    `why`: the sentence that says that it moves no data.
    """
    from . import emit, open_source, print_lines
    from .advise import document, finding_json, observe, print_finding

    target = args.target or ""
    address, _, port = target.rpartition(":")
    if not port.isdecimal() or target == port:
        return False
    alone = rf"(?<![\w.:]){re.escape(address.strip('[]'))}(?![\w.:])"
    source = source if source.live else open_source(args)
    last = observe(source, args)
    words = [_port(port), *([alone] if address else ()), *_listeners(last.facts, int(port))]
    findings = _about(last.judgement.findings, words)
    if args.json and findings:
        values = [finding_json(source, one) for one in findings]
        emit({**document(source, last, args.seconds), "limits": [], "findings": values})
    elif findings:
        print_lines(
            f"{source.host} · {why}; what is found of {'it' if address else f'port {port}'}:"
        )
        for one in findings:
            print_finding(source, one)
    return bool(findings)


def _listeners(facts: Facts, port: int) -> Iterator[str]:
    """The programs that listen at a port, as findings name them."""
    for one in facts.more.get("listener", ()):
        if one.port == port and one.pid:
            yield rf"(?<!\w){re.escape(f'{one.process}[{one.pid}]')}"


def tries(target: str) -> str:
    """What walks the way of packets to ADDRESS:PORT or :PORT, of which nothing is found."""
    address, _, port = target.rpartition(":")
    if address:
        return (
            f"; `nettop why --to {target}` walks the way of packets of this host, and `nettop why "
            f"--to {target} --from CLIENT` of those of another host"
        )
    if port != target:
        return (
            f"; `nettop why --to ADDRESS:{port} --from CLIENT` walks the way of packets of another "
            "host"
        )
    return ""


def judge(source: Source, args: argparse.Namespace) -> Judge:
    """What judges each moment that the limits are found in."""
    from ..views.observer import Observer
    from . import report_faults

    observer = Observer(source, window=args.seconds)
    report_faults(observer.faults)
    return observer.judge


def beside(
    found: Sequence[Finding], limits: Sequence[Limit], target: str | None
) -> list[Finding]:  # fmt: skip
    """The problems that name the target, or a program of its flows, and what explains them.

    Those that the limits of flows, the drops, the failed calls and the ways tell are left out.
    """
    problems = [one for one in found if one.severity in PROBLEMS]
    if target is not None:
        names = {f"{one.process}[{one.pid}]" for one in limits if one.pid is not None}
        words = [rf"(?<!\w){re.escape(name)}" for name in names]
        port = target.rpartition(":")[2]
        if port.isdecimal() and port != target:
            words.append(_port(port))
        elif not target.isdecimal():
            words.append(rf"(?<![\w.-]){re.escape(target)}(?![\w.-])")
        problems = _about(problems, words)
    return [one for one in problems if one.rule not in SHOWN and not one.target.startswith(FLOW)]


def lines(findings: Sequence[Finding]) -> list[str]:
    """The same as text, one sentence each."""
    from textwrap import wrap

    from ..advice.rules.severity import MARKS
    from ..terms.text import safe

    rows = [
        row for one in findings
        for row in wrap(safe(f"{one.id}: {one.title}"), 78, subsequent_indent="    ",
                        initial_indent=f"  {MARKS[one.severity]} ")
    ]  # fmt: skip
    return ["", "found meanwhile; `nettop advise` says what helps", *rows] if rows else []


def _about(found: Sequence[Finding], words: Sequence[str]) -> list[Finding]:
    """The findings in which one of these expressions is found, with their causes."""
    named = re.compile("|".join(words) or "(?!)")
    causes = {one.id: one.cause for one in found}
    kept = {one.id for one in found if named.search("\n".join(_texts(one)))}
    while more := {causes[name] for name in kept} & {*causes} - kept:
        kept |= more
    return [one for one in found if one.id in kept]


def _port(port: str) -> str:
    """`port 80`, `10.0.0.1:80`, and `80 at 10.0.0.1@eth0` of a list of ports and addresses."""
    return rf"(?:port |:){port}(?!\d)|(?<![\w.:-]){port} at "


def _texts(finding: Finding) -> Iterator[str]:
    """All that a finding says, without its figures."""
    yield from (finding.id, finding.title, finding.why, *finding.advice)
    for one in finding.evidence:
        yield from (value for value in one.values() if isinstance(value, str))
