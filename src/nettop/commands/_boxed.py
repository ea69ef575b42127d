"""The black box of `nettop watch`: its options, its lines, and the journal."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..files import interrupt, own
from ..host import systemd
from ..host.source import Source
from ..terms.errors import Refused, sentence
from . import _argument, duration_argument, emit, print_lines, report_faults

if TYPE_CHECKING:
    from ..advice.rules.rule import Rule
    from ..box.blackbox import BlackBox, Trigger
    from ..box.incident import Incident

DEFAULT: Final = True  # --box without a folder
_SIZE: Final = 200 << 20
_BEFORE, _AFTER = 300.0, 120.0  # seconds
_PRIORITY: Final = {"critical": "3", "warning": "4", "advice": "5", "info": "6"}  # syslog(3)


def arguments(parser: argparse.ArgumentParser) -> None:
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
    from ..files import unit

    options = [
        word
        for name, value in (("before", args.before), ("after", args.after), ("size", args.size))
        if value is not None
        for word in (f"--{name}", f"{value:.15g}")
    ]
    options += [word for text in args.on or () for word in ("--on", text)]
    _trigger(args, _rules(args))
    try:
        print(unit.box_unit(own.command(), options), end="")
    except ValueError as error:
        raise Refused(str(error), 2) from None
    if place := unit.hidden(own.command()):
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
