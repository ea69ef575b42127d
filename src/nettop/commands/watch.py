"""Print one line each time a finding begins or ends or the limit changes, for logs and cron.

nettop watch                                  until Ctrl-C
nettop watch --for 1h --fail-on never         for an hour
nettop watch --json                           one JSON object per line
nettop watch --box                            keep a black box on disk

The limit is the one that the headline of `nettop advise` names; other figures of the same limit are
no change, and another limit has to last three seconds. If too little can be read to judge the host,
one line says so, and the exit code is 3 if the host could never be judged.

--json prints one JSON object per line. The command ends after --for, at the end of a recording, or
with Ctrl-C.

--box keeps the last minutes on disk, as raw recordings in a folder that only its owner can read. A
finding that begins makes an incident: a recording of the time before and after. The folder never
takes more disk than --size; the oldest data go first. The same finding makes an incident once an
hour. `nettop incidents` lists them, `nettop replay` opens one. --unit prints a systemd service that
does this at each boot.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..advice.rules.severity import MARKS, SEVERITIES
from ..host.source import HostLostError
from . import (
    _boxed,
    duration_argument,
    interface_argument,
    json_argument,
    known_interface,
    open_source,
    print_lines,
    profile_argument,
    report_faults,
    source_arguments,
)
from ._boxed import line

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding
    from ..facts.limits.steady import Headline
    from ..views.observer import Observation, Observer

GROUP = "look"
RETRY = 1.0  # seconds between attempts to reach another host again
HELP = "print a line when a finding begins or ends, or the limit changes"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    json_argument(parser)
    duration_argument(parser, "--for", "stop after this time (never)", dest="duration")
    duration_argument(parser, "--interval", "time between samples (1)", 1.0)
    profile_argument(parser)
    interface_argument(parser, "report findings of this interface only")
    parser.add_argument(
        "--fail-on",
        choices=(*SEVERITIES, "never"),
        default="critical",
        help="exit with 1 if a finding was at or above this severity (critical)",
    )
    _boxed.arguments(parser)
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the events. Exit code 1: a finding was at or above --fail-on; 3: nothing was judged."""
    from ..views.observer import Observer

    _boxed.check(args)
    if args.unit:
        return _boxed.print_unit(args)
    source = open_source(args)
    if args.box is None:
        observer = Observer(source, profile=args.profile, interface=args.interface)
        report_faults(observer.faults)
        return _watch(args, observer, observer.step)
    with _boxed.blackbox(args, source) as box:
        return _watch(args, box.observer, box.step)


def _watch(args: argparse.Namespace, observer: Observer, step: Callable[[], Observation]) -> int:
    """Print the events of each observation that `step` makes; the exit code."""
    from ..facts.limits.steady import Headline
    from ..views.enough import shortfall

    source = observer.source
    before: dict[str, Finding] = {}
    headline = Headline()
    worst = len(SEVERITIES)
    samples = 0
    judged, reported, lacking = False, "", ""
    began = due = seen = source.now()
    while True:
        observation = _sample(
            observer, step, until=None if args.duration is None else began + args.duration
        )
        if observation is None:
            break
        due = max(due, source.now() - args.interval)  # the host was lost for some time
        wall = observation.frame.wall
        if not samples:  # only checked once: the interface may go and come back later
            known_interface(observation.frame, args.interface)
        samples += 1
        now = {one.id: one for one in observation.judgement.findings}
        _findings(args, wall, before, now)
        before = now
        worst = min([worst, *(SEVERITIES.index(one.severity) for one in now.values())])
        lacking = shortfall(observation.frame, live=source.live) or ""
        judged |= not lacking
        if not lacking:
            _limit(args, wall, headline, observation)
        elif samples > 1 and lacking != reported:  # the first sample never has rates
            reported = lacking
            _shortfall(args, wall, lacking)
        now_there = source.now()
        if now_there < seen:  # the other host was started again, and so was its clock
            began, due = began - due + now_there, now_there
        seen = now_there
        due += args.interval
        if args.duration is not None and due - began > args.duration:
            break
        if not source.wait(due - source.now()):
            break
    if not judged and lacking != reported:
        _shortfall(args, wall, lacking)
    level = SEVERITIES.index(args.fail_on) if args.fail_on in SEVERITIES else -1
    if worst <= level:
        return 1
    return 0 if judged else 3


def _sample(
    observer: Observer, step: Callable[[], Observation], *, until: float | None
) -> Observation | None:
    """The next observation; a host that is lost is tried again, None where it stays so.

    HostLostError if it was never read.
    """
    lost = ""
    while True:
        try:
            observation = step()
        except HostLostError as error:
            if observer.sampler.last is None:
                raise
            if str(error) != lost:
                lost = str(error)
                print_lines(f"nettop: {lost}; trying again", to=sys.stderr)
            if until is not None and observer.source.now() >= until:
                return None
            observer.source.wait(RETRY)
            continue
        if lost:
            print_lines("nettop: connected again", to=sys.stderr)
        return observation


def _findings(
    args: argparse.Namespace, wall: float, before: Mapping[str, Finding], now: Mapping[str, Finding]
) -> None:
    """Print the findings that begin and those that end."""
    begun = [("begins", one) for name, one in now.items() if name not in before]
    ended = [("ends", one) for name, one in before.items() if name not in now]
    for event, one in begun + ended:
        mark = MARKS[one.severity] if event == "begins" else "✓"
        values = {"event": event, "id": one.id, "severity": one.severity, "title": one.title}
        line(args, wall, f"{mark} {event} {one.id}: {one.title}", values)


def _limit(
    args: argparse.Namespace, wall: float, headline: Headline, observation: Observation
) -> None:
    """Print the limit of the headline if it has changed."""
    from ..facts.limits import words
    from ..facts.limits.words import document

    before, facts = headline.limit, observation.facts
    if not headline.changes(facts.limits, observation.frame.at):
        return
    now = headline.limit
    if now is not None:
        title, data = words.line(now), document(now)
    elif before is not None:
        title, data = words.ended(before), None
    else:
        return
    line(args, wall, f"· {title}", {"event": "limit", "title": title, "limit": data})


def _shortfall(args: argparse.Namespace, wall: float, lacking: str) -> None:
    from ..views.enough import unjudged

    title = unjudged(lacking)
    values = {"event": "shortfall", "title": title, "shortfall": lacking}
    line(args, wall, f"? {title}", values)
