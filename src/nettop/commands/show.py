"""Print a pane of the screen as text, for pipes, logs and screen readers.

nettop show overview --once                       print it once
nettop show flows --filter limit:cwnd             flows that the congestion window limits
nettop show nic --interface eth0 --once           settings and counters of eth0
nettop show options                               options in effect, and their defaults

Without --once the pane is printed every interval until interrupted. Colours are used only on a
terminal, and not if NO_COLOR is set.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from ..host.source import Source
from ..terms.errors import Refused, nearest, sentence
from . import (
    drop_reasons_argument,
    duration_argument,
    interface_argument,
    known_interface,
    open_source,
    print_lines,
    profile_argument,
    report_faults,
    source_arguments,
)
from ._argument import whole

if TYPE_CHECKING:
    from ..facts import Facts
    from ..frame.rates import Frame
    from ..panes.declared import Printed
    from ..terms.text import Line
    from ..views.scene import JournalEntry, Pending

GROUP = "look"
HELP = "print a pane of the screen as text"
SGR = {
    "good": "32", "warn": "33", "bad": "1;31", "dim": "90", "faint": "90", "title": "1;36",
    "head": "1", "strong": "1", "key": "33", "accent": "36", "select": "1", "select-good": "1;32",
    "select-warn": "1;33", "select-bad": "1;31", "softirq": "35", "irq": "33", "system": "34",
    "user": "32", "steal": "95", "idle": "90", "brand": "1;36", "alarm": "1;31",
}  # fmt: skip


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("pane", metavar="PANE", help="overview, cores, nic, flows, advisor …")
    parser.add_argument(
        "--once", action="store_true", help="print once and exit; a recording: its last moment"
    )
    parser.add_argument(
        "--width",
        type=whole(10, 2000),
        metavar="N",
        help="width in columns (the terminal's, or 100)",
    )
    parser.add_argument(
        "--height", type=whole(1, 2000), metavar="N", help="height in lines (as many as needed)"
    )
    duration_argument(parser, "--interval", "time between samples (1)")
    interface_argument(parser, "show this interface")
    profile_argument(parser)
    parser.add_argument("--filter", metavar="TEXT", help="show only rows that contain TEXT")
    drop_reasons_argument(parser)
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the pane. Exit code 2: unknown pane."""
    from .. import panes

    known = panes.names()
    by_key = {panes.pane(name).KEY: name for name in known}
    name = by_key.get(args.pane, args.pane)
    if name not in known:
        raise Refused(
            f"no pane {args.pane!r}{nearest(args.pane, known)}; panes: {', '.join(known)}"
        )
    width = args.width or (
        shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100
    )
    if (printed := panes.pane(name).printed) is not None:
        return settled(args.interval, printed, width)
    source = open_source(args)
    args.interval = args.interval or 1.0
    tall = args.height or (60 if args.once or not sys.stdout.isatty() else 24)
    return show(args, name, source, width, tall)


def settled(interval: float | None, printed: Printed, width: int) -> int:
    """Print a pane that does not depend on the host, once."""
    from ..config import Config, load
    from ..panes import chosen_columns
    from ..tui.app import options_of
    from ..views.view import View

    settings = load()
    columns, faults = chosen_columns(settings.get("columns", {}))
    report_faults((*settings.faults, *faults))
    options = options_of(settings, interval)
    view = View(columns=columns, options=options)
    put(printed(view, View(options=options_of(Config())), settings.values, width), options.ascii)
    return 0


def show(args: argparse.Namespace, name: str, host: Source, width: int, height: int) -> int:
    """Sample, draw and print until the end of the source or an interrupt."""
    from ..config import load
    from ..facts.accounting import accounted
    from ..panes import chosen_columns, pane
    from ..terms.text import ascii_only
    from ..terms.units import Units
    from ..views.build import Plans, scene_of
    from ..views.kept import stored, studies
    from ..views.observer import Observer
    from ..views.past import History
    from ..views.scene import origin_of
    from ..views.view import Spot, View

    settings = load()
    columns, faults = chosen_columns(settings.get("columns", {}))
    whole = inf if args.once and host.ends else None  # its rules hold within its length
    observer = Observer(host, profile=args.profile, interface=args.interface, window=whole)
    report_faults((*observer.faults, *faults))
    if args.drop_reasons:
        observer.deep = True
    units = Units(settings.get("units", "bits") != "bytes", settings.get("prefix", "si") == "iec")
    view = View(
        pane=name, nic=args.interface or "", spots={name: Spot(filter=args.filter or "")},
        columns=columns,
    )  # fmt: skip
    module = pane(name)
    past, plans = History(), Plans(host)
    begun: tuple[Frame, Facts] | None = None
    first = host.opening or not host.ends  # the only sample of a recording is shown without rates
    while True:
        observation = observer.step({*module.NEEDS, "links"})
        now = observation.frame, observation.facts
        begun = begun or now
        if observer.deep and args.interface is None:
            observation = replace(observation, facts=accounted(begun, now))
        if not past.fine:  # only checked once: the interface may go and come back later
            known_interface(observation.frame, args.interface)
            uncounted = observation.frame.missing.get("drop_reasons")
            if uncounted:  # most panes do not show this message
                partly = "drop_reasons" in observation.frame.tables
                said = "drop reasons" if partly else "cannot count drop reasons"
                print_lines(f"nettop: {said}: {uncounted}", to=sys.stderr)
        past = past.add(observation.facts, observation.frame.wall)
        if args.once and host.ends and host.wait(args.interval):
            first = False
            continue  # a recording is judged as a whole, as by `why` and `advise`
        if not first:
            changes, pending = _journal() if host.live else ((), ())
            scene = replace(
                scene_of(observation, past, plans, module.LAZY), units=units,
                interval=args.interval, journal=changes, pending=pending, results=stored(),
                origin=origin_of(host), studies=studies() if "studies" in module.LAZY else (),
            )  # fmt: skip
            put(module.lines(scene, view, width, height), ascii_only(settings.get("ascii", None)))
            if args.once:
                return 0
        first = False
        if not host.ends:
            time.sleep(args.interval)
        elif not host.wait(args.interval):
            return 0


def _journal() -> tuple[tuple[JournalEntry, ...], tuple[Pending, ...]]:
    """The journal entries; one message if the journal cannot be read."""
    from ..settings import Host
    from ..views.kept import journal

    try:
        return journal(Host.at())
    except OSError as error:
        print_lines(f"nettop: cannot read the journal: {sentence(error)}", to=sys.stderr)
        return (), ()


def put(rows: Sequence[Line], ascii_only: bool) -> None:
    """Print lines without trailing empty lines; coloured on a terminal."""
    from ..files.streams import control
    from ..terms.text import fit_line, plain, text_of

    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    lines = []
    for row in rows:
        whole = fit_line(row, sum(len(text) for text, _ in row))
        shown = plain(whole) if ascii_only else whole
        if colour:
            lines.append("".join(f"\033[{SGR[r]}m{t}\033[0m" if r in SGR else t for t, r in shown))
        else:
            lines.append(text_of(shown).rstrip())
    while lines and not lines[-1].strip():
        lines.pop()
    control("\n".join(lines) + "\n", sys.stdout)
