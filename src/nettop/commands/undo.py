"""Take back what nettop changed: by number, or everything that still stands.

What something else changed since is a conflict and stays as it is: `--force` writes the old value
all the same, `--forget` lets the new one stand and closes the entry.

Where going back may cut the link, the undo must be confirmed like a change: with Enter here, or
`nettop confirm`. Otherwise the value that was undone comes back. A change that is still pending is
taken back at once.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from ..terms.errors import Refused
from . import json_argument, must_be_live, open_source, source_arguments
from ._argument import whole
from .set import carriers, confirm_argument, ssh_argument

if TYPE_CHECKING:
    from ..changes import Result
    from ..changes.journal import Journal
    from ..host.source import Source

HELP = "take back what nettop changed"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("id", nargs="*", type=whole(1), metavar="ID", help="numbers of the journal")
    parser.add_argument("--all", action="store_true", help="everything that still stands")
    parser.add_argument("--force", action="store_true", help="even what others changed since")
    parser.add_argument("--forget", action="store_true", help="leave it so and close the entry")
    confirm_argument(parser)
    ssh_argument(parser)
    json_argument(parser)
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Undo; 2 for a number there is not, 4 when something is in conflict."""
    from ..changes import privilege
    from ..changes.journal import Journal
    from ..terms.errors import sentence
    from .set import finish

    source = open_source(args)
    must_be_live(source, "nettop undo")
    if not args.id and not args.all:
        raise Refused("say which: nettop undo ID…, or nettop undo --all", 2)
    journal = Journal()
    try:
        known = {entry.id for entry in journal.entries()}
        unknown = [number for number in args.id if number not in known]
        if privilege.rooted(journal) and (unknown or args.all):
            raise Refused(privilege.become(sys.argv[1:]), 4)
        if unknown:
            raise Refused(f"the journal has no change {unknown[0]}; see nettop journal", 2)
        made = _made(journal, source, args)
    except OSError as error:
        raise Refused(sentence(error), 4) from None
    if not made and not args.json:
        print("Nothing to undo.")
    return finish(made, (), as_json=args.json)


def _made(journal: Journal, source: Source, args: argparse.Namespace) -> tuple[Result, ...]:
    from ..changes import report
    from ..changes.apply import Terms
    from ..changes.retract import retract
    from ..changes.undo import forget
    from ..settings import Host

    host = Host(source=source)
    if args.forget:
        return forget(journal, args.id, everything=args.all, host=host)
    terms = Terms(confirm=args.confirm, carries=carriers(args, source))
    made = retract(journal, host, args.id, terms=terms, everything=args.all, force=args.force)
    return made if args.json else report.await_enter(journal, made)
