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
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..advice.rules.severity import MARKS, SEVERITIES
from ..files import interrupt, own
from ..host import systemd
from ..host.source import HostLostError, Source
from ..terms.errors import Refused, sentence
from . import (
    _argument,
    duration_argument,
    emit,
    interface_argument,
    json_argument,
    known_interface,
    open_source,
    print_lines,
    profile_argument,
    report_faults,
    source_arguments,
)

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding, Rule
    from ..box.blackbox import BlackBox, Trigger
    from ..box.incident import Incident
    from ..facts.limits.ladder import Headline
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
    box_arguments(parser)
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the events. Exit code 1: a finding was at or above --fail-on; 3: nothing was judged."""
    from ..views.observer import Observer

    check(args)
    if args.unit:
        return print_unit(args)
    source = open_source(args)
    if args.box is None:
        observer = Observer(source, profile=args.profile, interface=args.interface)
        report_faults(observer.faults)
        return _watch(args, observer, observer.step)
    with blackbox(args, source) as box:
        return _watch(args, box.observer, box.step)


def _watch(args: argparse.Namespace, observer: Observer, step: Callable[[], Observation]) -> int:
    """Print the events of each observation that `step` makes; the exit code."""
    from ..facts.limits.ladder import Headline
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


DEFAULT: Final = True  # --box without a folder
_SIZE: Final = 200 << 20
_BEFORE, _AFTER = 300.0, 120.0  # seconds
_PRIORITY: Final = {"critical": "3", "warning": "4", "advice": "5", "info": "6"}  # syslog(3)


def box_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the box."""
    from ..box.folder import LEAST

    parser.add_argument(
        "--box", metavar="DIR", nargs="?", const=DEFAULT, type=_argument.word,
        help="keep the last minutes and incidents in DIR (/var/lib/nettop/box)",
    )  # fmt: skip
    duration_argument(parser, "--before", "time before a finding in its incident (5m)")
    duration_argument(parser, "--after", "time after a finding is reported (2m)")
    parser.add_argument(
        "--size", type=_argument.size(LEAST), metavar="SIZE",
        help="most disk that the box takes, incidents included (200M)",
    )  # fmt: skip
    parser.add_argument(
        "--on", action="append", metavar="LEVEL|RULE|EXPRESSION", type=_argument.word,
        help="which findings make an incident: a severity and those above it, a rule, or a "
        "condition such as 'nic.per_s.ring_drops > 100'; can be given repeatedly (critical)",
    )  # fmt: skip
    parser.add_argument(
        "--unit", action="store_true", help="print a systemd service that keeps a box, and exit"
    )


def check(args: argparse.Namespace) -> None:
    """Refuse options of the box without a box."""
    options = [name for name in ("before", "after", "size", "on") if getattr(args, name)]
    if options and args.box is None and not args.unit:
        raise Refused(f"--{options[0]} needs --box", 2)
    if args.unit and args.box is not None:
        raise Refused("--unit has its own folder, /var/lib/nettop/box: leave out --box", 2)


def print_unit(args: argparse.Namespace) -> int:
    """Print the service."""
    from ..host import systemd

    options = [
        word
        for name, value in (("before", args.before), ("after", args.after), ("size", args.size))
        if value is not None
        for word in (f"--{name}", f"{value:.15g}")
    ]
    options += [word for text in args.on or () for word in ("--on", text)]
    _trigger(args, _rules(args))
    try:
        print(systemd.box_unit(own.command(), options), end="")
    except ValueError as error:
        raise Refused(str(error), 2) from None
    if place := systemd.hidden(own.command()):
        notice = "the service's user cannot run it there: install nettop in /usr or /opt"
        print_lines(f"nettop: {place}: {notice}", to=sys.stderr)
    return 0


def _rules(args: argparse.Namespace) -> tuple[Rule, ...]:
    """The rules of nettop and of the user, and those of the expressions of --on."""
    from .. import config
    from ..advice.rules.load import load

    settings = config.load()
    return _extra(args) + load(config.rule_folders(), limits=settings.limits, tell=lambda _: None)


def _extra(args: argparse.Namespace) -> tuple[Rule, ...]:
    from ..box.blackbox import expressions

    try:
        return expressions(args.on or ())
    except ValueError as error:
        raise Refused(str(error), 2) from None


def _trigger(args: argparse.Namespace, rules: Iterable[Rule]) -> Trigger:
    from ..box.blackbox import Trigger

    try:
        return Trigger(args.on or ("critical",), rules)
    except ValueError as error:
        raise Refused(str(error), 2) from None


@contextmanager
def blackbox(args: argparse.Namespace, source: Source) -> Iterator[BlackBox]:
    """The box of the arguments, open; at the end it is complete, also after a signal."""
    from ..box import blackbox as module
    from ..box.folder import Folder, default
    from ..host.recording import Record
    from ..views.observer import Observer

    # moments count from the boot, so that segments of several runs follow each other
    record = Record(source, comment=module.COMMENT, began=0.0)
    observer = Observer(record, profile=args.profile, interface=args.interface, extra=_extra(args))
    observer.look_shortly(short=0.0)
    report_faults(observer.faults)
    trigger = _trigger(args, observer.judge.rules)
    folder = Folder(default() if args.box is DEFAULT else Path(args.box), args.size or _SIZE)
    try:
        folder.open()
        box = module.BlackBox(
            folder, observer, record, trigger, args.before or _BEFORE, args.after or _AFTER,
            _Report(args, source),
        )  # fmt: skip
    except OSError as error:
        raise Refused(f"cannot use {folder.path}: {sentence(error)}", 4) from None
    signal.signal(signal.SIGTERM, interrupt.handler)
    try:
        yield box
    finally:
        systemd.notify("STOPPING=1")
        box.end()


class _Report:
    """Prints what the box reports."""

    def __init__(self, args: argparse.Namespace, source: Source) -> None:
        self._args, self._source = args, source

    def incident(self, incident: Incident, name: str) -> None:
        """A line for the incident."""
        text = f"■ incident {name}: {incident.title}"
        values = {
            "event": "incident", "id": incident.id, "severity": incident.severity,
            "title": incident.title, "incident": name,
        }  # fmt: skip
        line(self._args, self._source.wall(), text, values)

    def trouble(self, message: str) -> None:
        """A line on stderr."""
        print_lines(f"nettop: {message}", to=sys.stderr)


def line(args: argparse.Namespace, wall: float, text: str, values: Mapping[str, object]) -> None:
    """Print one event; if the journal reads stdout, it gets the event with its fields."""
    if not args.json and systemd.to_journal(1):
        fields = {
            f"NETTOP_{name.upper()}": str(value)
            for name, value in values.items()
            if isinstance(value, str)
        }
        rule, _, target = str(values.get("id", "")).partition("@")
        fields |= {"NETTOP_RULE": rule, "NETTOP_TARGET": target} if rule else {}
        fields |= {"MESSAGE": text, "SYSLOG_IDENTIFIER": "nettop"}
        fields["PRIORITY"] = _PRIORITY.get(str(values.get("severity")), "6")
        if values["event"] == "ends":
            fields["PRIORITY"] = _PRIORITY["info"]
        if systemd.journal(fields):
            return
    when = time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(wall))
    if args.json:
        emit({"at": when, **values})
    else:
        print_lines(f"{when} {text}")
    sys.stdout.flush()
