"""Print one line each time a finding begins or ends, for logs and cron.

--json prints one JSON object per line. The command ends after --for, at the end of a recording, or
with Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

from ..advice.rules.severity import MARKS, SEVERITIES
from . import (
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

GROUP = "look"
HELP = "print a line when a finding begins or ends"


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
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the events. Exit code 1: a finding was at or above --fail-on."""
    from ..views.observer import Observer

    source = open_source(args)
    observer = Observer(source, profile=args.profile, interface=args.interface)
    report_faults(observer.faults)
    before: dict[str, tuple[str, str]] = {}
    worst = len(SEVERITIES)
    first = True
    began = due = source.now()
    while True:
        observation = observer.step()
        if first:  # only checked once: the interface may go and come back later
            known_interface(observation.frame, args.interface)
            first = False
        now = {one.id: (one.severity, one.title) for one in observation.judgement.findings}
        for name, (severity, title) in now.items():
            worst = min(worst, SEVERITIES.index(severity))
            if name not in before:
                _line(args, observation.frame.wall, "begins", name, severity, title)
        for name, (severity, title) in before.items():
            if name not in now:
                _line(args, observation.frame.wall, "ends", name, severity, title)
        before = now
        due += args.interval
        if args.duration is not None and due - began > args.duration:
            break
        if not source.wait(due - source.now()):
            break
    level = SEVERITIES.index(args.fail_on) if args.fail_on in SEVERITIES else -1
    return int(worst <= level)


def _line(
    args: argparse.Namespace, wall: float, event: str, name: str, severity: str, title: str
) -> None:
    when = time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(wall))
    if args.json:
        line = {"schema": 1, "at": when, "event": event, "id": name}
        print(json.dumps({**line, "severity": severity, "title": title}))
    else:
        mark = MARKS[severity] if event == "begins" else "✓"
        print_lines(f"{when} {mark} {event} {name}: {title}")
    sys.stdout.flush()
