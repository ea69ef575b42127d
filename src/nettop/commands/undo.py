"""Revert changes that nettop made: by journal number, or all of them.

nettop undo 3            revert change 3 of the journal
nettop undo --all        revert all changes that are still in place
nettop undo 3 --forget   keep the value, close the entry

If the value was changed by something else since, undo reports a conflict and writes nothing.
`--force` writes the old value anyway; `--forget` keeps the new value and closes the entry.

An undo that may interrupt the link must be confirmed like a change: with Enter, or with `nettop
confirm`. Otherwise the undone value returns. A change that is still pending is reverted at once.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from ..terms.errors import Refused, sentence
from . import json_argument, must_be_live, open_source, source_arguments
from ._argument import whole
from .set import carriers, confirm_argument, finish, ssh_argument

if TYPE_CHECKING:
    from ..changes import Result
    from ..changes.journal import Journal
    from ..host.source import Source

GROUP = "change"
HELP = "revert changes that nettop made"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "id", nargs="*", type=whole(1), metavar="ID", help="numbers from `nettop journal`"
    )
    parser.add_argument(
        "--all", action="store_true", help="revert all changes that are still in place"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="write the old value even if something else changed the setting since",
    )
    parser.add_argument(
        "--forget", action="store_true", help="keep the current value and close the journal entry"
    )
    confirm_argument(parser)
    ssh_argument(parser)
    json_argument(parser)
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Undo. Exit code 2: no such number, 4: conflict."""
    from ..changes import privilege
    from ..changes.journal import Journal

    source = open_source(args)
    must_be_live(source, "nettop undo")
    if not args.id and not args.all:
        raise Refused("no change given: nettop undo ID…, or nettop undo --all", 2)
    journal = Journal()
    try:
        journal.make_room()
        known = {entry.id for entry in journal.entries()}
        unknown = [number for number in args.id if number not in known]
        if privilege.rooted(journal) and (unknown or args.all):
            raise Refused(privilege.become(sys.argv[1:]), 4)
        if unknown:
            raise Refused(f"the journal has no change {unknown[0]}; see nettop journal", 2)
        results = _undo(journal, source, args)
    except OSError as error:
        raise Refused(sentence(error), 4) from None
    if not results and not args.json:
        print("Nothing to undo.")
    return finish(results, (), as_json=args.json)


def _undo(journal: Journal, source: Source, args: argparse.Namespace) -> tuple[Result, ...]:
    from ..changes import report
    from ..changes.apply import Terms
    from ..changes.retract import retract
    from ..changes.undo import forget
    from ..settings import Host

    host = Host(source=source)
    if args.forget:
        return forget(journal, args.id, everything=args.all, host=host)
    terms = Terms(confirm=args.confirm, carries=carriers(args, source))
    results = retract(journal, host, args.id, terms=terms, everything=args.all, force=args.force)
    return results if args.json else report.await_enter(journal, results)
