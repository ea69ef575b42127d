"""Confirm changes that revert automatically unless confirmed.

nettop confirm         confirm all changes that are waiting
nettop confirm 3       confirm change 3, and those that go with it

`nettop confirm ID …` confirms each change, those applied together with it, and the unconfirmed ones
before it on the same device; without ID, all changes that are waiting. An undo that waits is
confirmed in the same way.
"""

import argparse
import sys

from ..files import own
from ..terms.errors import Refused, sentence
from . import enter_netns_of, json_argument, netns_argument
from ._argument import whole

GROUP = "change"
HELP = "confirm a change before it reverts automatically"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "id", nargs="*", type=whole(1), metavar="ID", help="numbers from `nettop journal`"
    )
    json_argument(parser)
    netns_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Confirm. Exit code 2: no such number, 4: not kept, 5: already reverted.

    Without a number and with nothing pending, report what guards reverted last.
    """
    from ..changes import privilege
    from ..changes.guard import confirm
    from ..changes.journal import Journal
    from ..changes.status import late
    from ..changes.unguarded import lost
    from ..settings import Host
    from .set import finish

    enter_netns_of(args)
    journal = Journal()
    try:
        journal.make_room()
        entries = journal.entries()
        known = {entry.id for entry in entries}
        pending = any(entry.state == "pending" for entry in entries)
        unknown = [number for number in args.id if number not in known]
        if privilege.rooted(journal) and (unknown if args.id else not pending):
            raise Refused(privilege.become(sys.argv[1:]), 4)
        if unknown:
            raise Refused(f"the journal has no change {unknown[0]}; see {own.called()} journal", 2)
        results = confirm(journal, args.id)
        results = results or late(journal.entries(), Host.at())
        if not results and (messages := lost(journal, journal.entries())):
            raise Refused("; ".join(messages), 4)
    except OSError as error:
        raise Refused(sentence(error), 4) from None
    if not results and not args.json:
        print("No change is waiting for confirmation.")
    return finish(results, (), as_json=args.json)
