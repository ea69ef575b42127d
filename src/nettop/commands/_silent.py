"""What is found of a port on which no data moves, for `nettop why :PORT`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding
    from ..host.source import Source


def told(source: Source, args: argparse.Namespace, why: str) -> bool:
    """Print the findings that name the port of the target; whether there are any.

    `why`: the sentence that says that it moves no data.
    """
    from . import emit, open_source, print_lines
    from .advise import document, finding_json, observe, print_finding

    target = args.target or ""
    port = target.rpartition(":")[2]
    if not port.isdecimal() or target == port:
        return False
    source = source if source.live else open_source(args)
    last = observe(source, args)
    named = re.compile(rf"(?:port |:){port}(?!\d)")
    found = last.judgement.findings
    ours = {one.id: one.cause for one in found if named.search("\n".join(_texts(one)))}
    findings = [one for one in found if one.id in {*ours, *ours.values()}]
    if args.json and findings:
        values = [finding_json(source, one) for one in findings]
        emit({**document(source, last, args.seconds), "limits": [], "findings": values})
    elif findings:
        print_lines(f"{source.host} · {why}; what is found of port {port}:")
        for one in findings:
            print_finding(source, one)
    return bool(findings)


def _texts(finding: Finding) -> Iterator[str]:
    """All that a finding says, without its figures."""
    yield from (finding.id, finding.title, finding.why, *finding.advice)
    for one in finding.evidence:
        yield from (value for value in one.values() if isinstance(value, str))
