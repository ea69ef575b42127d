"""Repeat a published table on this pair of hosts and print published and measured values.

  nettop study list                                  list the studies
  nettop study show nasa-2                           show the runs of a study and their requirements
  nettop study run nasa-2 --to 10.0.0.2 --peer "ssh host2" --format markdown

Runs that this pair cannot do (MTU, path, cores, settings) are listed and skipped. Settings that a
run needs are changed for that run only, through the journal.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..terms.errors import Refused, nearest
from . import emit, enter_netns_of, netns_argument
from ._argument import whole
from ._report import format_argument, format_of, print_report
from .test import options_of, show_progress, stopper, trial_arguments, trial_errors

if TYPE_CHECKING:
    from ..trials.study import Study

GROUP = "prove"
HELP = "repeat a published measurement on this pair of hosts"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "action", metavar="list|show|run|ID", help="a study ID alone runs that study"
    )
    parser.add_argument("id", nargs="?", metavar="ID", help="name of a study, from `list`")
    trial_arguments(parser, need=False)
    parser.add_argument(
        "--only", metavar="TEXT", help="run only the points whose name contains this"
    )
    parser.add_argument(
        "--repeats", type=whole(1), default=1, metavar="N",
        help="run all points N times in turn; print medians and ranges (1)",
    )  # fmt: skip
    format_argument(parser, "markdown")
    netns_argument(parser)


def run(args: argparse.Namespace) -> int:
    """List, show or run. Exit code 1: no part of the study could run."""
    if args.action not in ("list", "show", "run"):
        args.action, args.id = "run", args.action
    form = format_of(args)
    as_json = form == "json"
    if args.action != "run" and form not in ("text", "json"):
        raise Refused(f"study {args.action} is text or JSON; study run has reports", 2)
    if args.action == "list":
        return _list(as_json=as_json)
    study = _named(args.id)
    if args.action == "show":
        return _show(study, as_json=as_json)
    enter_netns_of(args)
    return _run(study, args, form)


def _named(name: str | None) -> Study:
    from ..trials import study

    if not name:
        raise Refused("no study given; `nettop study list` prints all", 2)
    try:
        return study.load(name)
    except KeyError:
        raise Refused(f"no study {name!r}{nearest(name, study.names())}", 2) from None
    except study.StudyError as error:
        raise Refused(str(error), 3) from None


def _list(*, as_json: bool) -> int:
    from ..trials import study

    studies = [_named(name) for name in study.names()]
    if as_json:
        keys = ("id", "title", "paper", "place", "tool")
        emit({"studies": [{key: getattr(s, key) for key in keys} for s in studies]})
        return 0
    for one in studies:
        print(f"{one.id:<20} {one.title} ({one.paper}, {one.place})")
    return 0


def _show(study: Study, *, as_json: bool) -> int:
    from ..trials.report import condition, named, published, sentences

    if as_json:
        emit({"study": study})
        return 0
    print(f"{study.id}: {study.title}\n{study.paper}, {study.place}; tool {study.tool}")
    for sentence in sentences(study.requires, study.notes):
        print(f"  {sentence}")
    for key, value in study.conditions.items():
        print(f"  {named(key)}: {condition(value)}")
    for point in study.points:
        needs = [f"MTU {point.mtu}"] if point.mtu else []
        needs += [f"a path of {point.rtt_ms:g} ms"] if point.rtt_ms else []
        needs += [f"the trial of {point.of}"] if point.of else []
        needs += [f"{name} = {value}" for name, value in point.settings.items()]
        needs += ["a NIC whose interrupts have a core"] if point.interrupts else []
        needs += [f"never run: {point.skip}"] if point.skip else []
        needs += [f"not compared: {point.incomparable}"] if point.incomparable else []
        needs += [f"in a namespace only: {point.harmful}"] if point.harmful else []
        remark = f"  ({', '.join(needs)})" if needs else ""
        print(f"  {point.name}: {published(point.published)} {point.unit or study.unit}{remark}")
    return 0


def _run(study: Study, args: argparse.Namespace, form: str) -> int:
    from ..trials import repeat, report

    with trial_errors():
        document = repeat.run(
            study, options_of(args), most=args.seconds, only=args.only or "",
            repeats=args.repeats, watch=show_progress, cancel=stopper(),
        )  # fmt: skip
    if form == "markdown":
        print(report.markdown(document), end="")
    else:
        print_report("study", document, form, report.text)
    return 0 if any("measured" in row for row in document["rows"]) else 1
