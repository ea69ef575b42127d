"""Apply the changes that findings advise.

nettop apply rx-ring-overrun@eth0 --dry-run        show the changes, write nothing
nettop apply rx-ring-overrun@eth0 --confirm 60     apply; revert unless confirmed in a minute
nettop apply rx-ring-overrun@eth0 --keep           apply, also after the next boot

Each change is written to the journal first, read back afterwards, and can be reverted with `nettop
undo`. A finding is `RULE@TARGET`, as `nettop advise` prints it. This command does not apply a
finding that is only worth a test: use `nettop prove`.
"""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from ..files import own
from ..host.source import Source
from ..terms.errors import Refused, nearest
from . import (
    duration_argument,
    json_argument,
    must_be_live,
    open_source,
    profile_argument,
    source_arguments,
)
from ._argument import target

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..advice.rules.rule import Finding

# protocol, and address and port of both ends
_CONNECTION = re.compile(r"(\w+):([^-]+):(\d+)-([^-]+):(\d+)", re.ASCII)
GROUP = "change"
HELP = "apply the changes that a finding advises"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    from .set import change_arguments

    parser.add_argument("finding", nargs="+", type=target, metavar="RULE@TARGET")
    change_arguments(parser)
    duration_argument(parser, "--seconds", "how long to observe the host (2)", 2.0)
    profile_argument(parser)
    json_argument(parser)
    source_arguments(parser, writes="--dry-run")


def run(args: argparse.Namespace) -> int:
    """Apply the findings. Exit code 2: no such finding, 4: not done, 5: reverted."""
    from .set import change

    source = open_source(args)
    if not args.dry_run:
        must_be_live(source, "nettop apply")
    chosen = findings(args.finding, source, args)
    wanted: list[tuple[str, str]] = []
    for finding in chosen:
        sure = [(w.setting, w.value) for w in finding.wanted if not w.experiment]
        if not sure and finding.wanted:
            raise Refused(f"{finding.id} needs a test first: {own.called()} prove {finding.id}", 4)
        if not sure and finding.cause:
            raise Refused(f"{finding.id} has no setting of its own: {finding.cause} explains it "
                          "and comes first", 4)  # fmt: skip
        if not sure:
            advice = " ".join(finding.advice) or "nothing to set"
            raise Refused(f"{finding.id} has no setting to change: {advice}", 4)
        wanted += sure
    args.finding = " ".join(finding.id for finding in chosen)
    return change(wanted, args, source)


def findings(names: list[str], source: Source, args: argparse.Namespace) -> list[Finding]:
    """The current findings with these names; Refused names one that is absent, and why."""
    from .advise import observe
    from .rules import rule_named

    for name in names:
        if "@" not in name:
            raise Refused(f"{name!r} is not RULE@TARGET, as nettop advise prints it", 2)
        rule_named(name.partition("@")[0])
    last = observe(source, args)
    current = {finding.id: finding for finding in last.judgement.findings}
    reasons = {f"{s.rule}@{s.target}": s.because for s in last.judgement.silent()}
    for name in names:
        if name not in current and (same := _again(name, current.values())) is not None:
            current[name] = same
        if name in current:
            continue
        if name in reasons:
            raise Refused(f"{name} does not hold here: {reasons[name]}", 4)
        near = nearest(name, [*current, *reasons])
        raise Refused(f"no finding {name!r} on this host{near}", 2)
    return [current[name] for name in names]


def _again(name: str, known: Iterable[Finding]) -> Finding | None:
    """The finding of the same rule about another connection between the same two hosts.

    A client's port changes with each connection: that of the finding may be gone, or be listed with
    the others of its program. The address and port of the service are the same.
    """
    rule, _, target = name.partition("@")
    for one in known:
        for other in (one.target, *one.also):
            if one.rule == rule and _alike(target, other):
                return one
    return None


def _alike(one: str, other: str) -> bool:
    """Whether two targets are connections between the same addresses, with one port in common."""
    both = [_CONNECTION.fullmatch(text) for text in (one, other)]
    if both[0] is None or both[1] is None:
        return False
    first, second = (found.groups() for found in both if found is not None)
    same = [a == b for a, b in zip(first, second, strict=True)]
    return same[0] and same[1] and same[3] and (same[2] or same[4])
