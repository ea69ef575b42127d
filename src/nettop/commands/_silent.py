"""What the rules find of the targets of `nettop why`, beside their limits or without any."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ..host.source import Source
from ..terms.errors import Refused

if TYPE_CHECKING:
    from ..advice.judge.judge import Judge
    from ..advice.rules.rule import Finding
    from ..facts import Facts
    from ..facts.limits import Limit
    from ..frame.rates import Frame
    from ..views.observer import Observation

PROBLEMS: Final = ("critical", "warning")
# what is listed with the drops, the calls and the ways
HOST: Final = "host"  # the target of a finding about settings of all flows
FLOW: Final = "tcp:"  # the target of a finding about one flow, whose limit says it
SHOWN: Final = ("calls-fail", "destination-out-of-reach", "packets-dropped-by-reason")
MOST: Final = 3  # findings that do not name the target


def answer(
    source: Source, args: argparse.Namespace, refused: Refused, brief: str, seen: Observation
) -> int:
    """Say what is known of a target without a limit: findings, or connections that soon end.

    Else who has sockets at the port. Refused where nobody has, with the ports that are near; what
    is found of the host, and does not name it, is listed.
    """
    from textwrap import wrap

    from ..facts import doors
    from ..terms.text import few
    from . import emit, print_lines

    if told(source, args, (brief or str(refused)).partition(". ")[0], seen):
        return 0
    others = few((one.id for one in seen.judgement.findings), MOST)
    rest = f". No finding names it; of this host: {others} (`nettop advise`)" if others else ""
    port = (args.target or "").rpartition(":")[2]
    at = int(port) if port.isdecimal() and port != args.target else None
    if at is not None and not brief and (held := doors.held(seen.frame, at)):
        brief = f"{refused}: {held}{tries(args.target)}"
    if not brief:
        near = f"; {doors.near(seen.frame, at)}" if at is not None else ""
        raise Refused(f"{refused}{near}{tries(args.target)}{rest}", 2) from None
    if args.json:
        emit({"host": source.host, "seconds": args.seconds, "limits": [], "brief": brief + rest})
    else:
        print_lines(f"{source.host} · {args.seconds:g} s", "", *wrap(brief + rest, 78))
    return 0


def meant(frame: Frame, facts: Facts, target: str | None) -> str | None:
    """The target; of a bare number that no process with sockets has, and a socket has, the port.

    Which was taken is told on stderr where both may be meant, or the port was.
    """
    from ..facts import doors

    if target is None or not target.isdecimal() or not doors.held(frame, int(target)):
        return target
    rows = (*frame.rows("socket_owners"), *facts.limits, *facts.processes)
    if any(row.pid == int(target) for row in rows):
        print(f"nettop: {target} is taken as a process; :{target} is the port", file=sys.stderr)
        return target
    print(f"nettop: {target} is taken as port :{target}: no process with a socket has this number",
          file=sys.stderr)  # fmt: skip
    return f":{target}"


def told(source: Source, args: argparse.Namespace, why: str, seen: Observation) -> bool:
    """Print the findings that name the port, its programs, or the address; whether there are any.

    `why`: the sentence that says that it moves no data.
    """
    from . import emit, print_lines
    from .advise import document, finding_json, print_finding

    target = args.target or ""
    address, _, port = target.rpartition(":")
    if not port.isdecimal() or target == port:
        return False
    alone = rf"(?<![\w.:]){re.escape(address.strip('[]'))}(?![\w.:])"
    words = [*([alone] if address else ()), *_of_port(seen.frame, int(port))]
    findings = _about(seen.judgement.findings, words)
    if args.json and findings:
        values = [finding_json(source, one) for one in findings]
        emit({**document(source, seen, args.seconds), "limits": [], "findings": values})
    elif findings:
        print_lines(
            f"{source.host} · {why}; what is found of {'it' if address else f'port {port}'}:"
        )
        for one in findings:
            print_finding(source, one)
    return bool(findings)


def _of_port(frame: Frame, port: int) -> Iterator[str]:
    """A port as findings name it; the programs with a socket there, and where these connect to.

    A finding about an address of this host is one about each port of it at which one listens.
    """
    from ..facts.flow_words import EVERYWHERE, end

    yield _port(str(port))
    rows = [*frame.rows("sockets_tcp"), *frame.rows("sockets_udp")]
    own = {row.inode for row in rows if port in (row.local_port, row.remote_port)}
    owners = [row for row in frame.rows("socket_owners") if row.pid]
    pids = {row.pid for row in owners if row.inode in own}
    yield from (rf"\[{pid}\]" for pid in pids)
    doors = {row.local for row in rows if row.local_port == port and not row.remote_port}
    held = {row.inode for row in owners if row.pid in pids} if doors else ()
    ends = {end(row.remote, row.remote_port) for row in rows
            if row.inode in held and row.remote_port and row.local_port != port}  # fmt: skip
    yield from (rf"(?<![\w.:]){re.escape(one)}(?!\d)" for one in ends)
    if doors & {*EVERYWHERE}:
        doors |= {row.address for row in frame.rows("addresses")}
    yield from (rf"(?m:@{re.escape(one)}$)" for one in doors)


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
    seen: Observation, limits: Sequence[Limit], target: str | None
) -> list[Finding]:  # fmt: skip
    """The problems that name the target, or a program of its flows, and what explains them.

    Those that the limits of flows, the drops, the failed calls and the ways tell are left out, but
    for what relieves the limit of a flow of the target, at that flow or as a setting of the host.
    """
    stages = {
        f"{FLOW}{one.target.replace('>', '-')}@{one.namespace or ''}".rstrip("@"): one.stage.stage
        for one in limits if target is not None and one.over == "flow"
    }  # fmt: skip
    relief = [
        one for one in seen.judgement.findings
        if stages.get(one.target, "none") in one.relieves
        or (one.target == HOST and one.severity in PROBLEMS
            and not {*stages.values()}.isdisjoint(one.relieves))
    ]  # fmt: skip
    problems = [one for one in seen.judgement.findings if one.severity in PROBLEMS]
    if target is not None:
        words = [rf"\[{one.pid}\]" for one in limits if one.pid is not None]
        port = target.rpartition(":")[2]
        if port.isdecimal() and port != target:
            words += _of_port(seen.frame, int(port))
        elif not target.isdecimal():
            words.append(rf"(?<![\w.-]){re.escape(target)}(?![\w.-])")
        problems = _about(problems, words)
    told = (one for one in problems if one.rule not in SHOWN and not one.target.startswith(FLOW)
            and one not in relief)  # fmt: skip
    return [*relief, *told]


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
    """All that a finding says, and what its fact is about, without its figures."""
    yield from (finding.id, finding.title, finding.why, *finding.advice, *finding.about)
