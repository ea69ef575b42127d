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
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..files import own
from ..host.source import Source
from ..terms.errors import Refused, sentence
from . import json_argument, netns_argument, open_source, print_lines
from ._argument import whole
from .set import carriers, confirm_argument, finish, ssh_argument

if TYPE_CHECKING:
    from ..changes import Result
    from ..changes.entry import JournaledChange
    from ..changes.journal import Journal

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
    netns_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Undo. Exit code 2: no such number, 4: conflict."""
    from ..changes import privilege
    from ..changes.journal import Journal

    source = open_source(args)
    journal, given = Journal(), args.id or args.all
    try:
        journal.make_room()
        entries = {entry.id: entry for entry in journal.entries()}
        unknown = [number for number in args.id if number not in entries]
        if privilege.rooted(journal) and (unknown or args.all):
            raise Refused(privilege.become(sys.argv[1:]), 4)
        if not given:
            _list(entry for entry in entries.values() if entry.open)
            command = f"{own.called()} undo"
            raise Refused(f"no change given: {command} ID…, or {command} --all", 2)
        if unknown:
            raise Refused(f"the journal has no change {unknown[0]}; see {own.called()} journal", 2)
        results = _undo(journal, source, args)
    except OSError as error:
        raise Refused(sentence(error), 4) from None
    if not results and not args.json:
        print("Nothing to undo.")
    return finish(results, (), as_json=args.json)


def _list(entries: Iterable[JournaledChange]) -> None:
    """Print what an undo can be of, as far as this user's journal has it."""
    for one in entries:
        after = one.wanted if one.after is None else one.after
        print_lines(f"{one.id:>4}  {one.setting}: {one.before} → {after}", to=sys.stderr)


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
