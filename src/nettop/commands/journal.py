"""List the changes that nettop made on this host: time, user, finding, old and new value, state.

nettop journal            all changes, the newest last
nettop journal --json     for scripts
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from ..files import own
from ..terms.dataclass import picked
from ..terms.errors import Refused, sentence
from . import (
    emit,
    enter_netns_of,
    json_argument,
    netns_argument,
    print_lines,
    report_faults,
)

if TYPE_CHECKING:
    from ..changes.entry import JournaledChange

GROUP = "change"
HELP = "list the changes that nettop made, and their state"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    json_argument(parser)
    netns_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print the journal, oldest first. Exit code 3: it cannot be read."""
    import time

    from ..changes import privilege
    from ..changes.journal import ROOTS, Journal
    from ..changes.namespaces import Survey
    from ..changes.status import ended, standing, word
    from ..changes.unguarded import notices
    from ..settings import Host

    enter_netns_of(args)
    journal = Journal()
    with suppress(OSError):  # then it is read as it is
        journal.make_room()
    try:
        entries = journal.entries()
        messages = notices(journal)
        host, survey = Host.at(), Survey()
        stood = [standing(e, host, entries, survey) for e in entries]
    except OSError as error:
        raise Refused(sentence(error), 3) from None
    report_faults(journal.odd())
    if privilege.rooted(journal) and os.path.isdir(ROOTS):
        hint = f"nettop: changes of root are in root's journal: {own.called_as_root()} journal"
        print(hint, file=sys.stderr)
    if args.json:
        changes = [document(*one) for one in stood]
        emit({"changes": changes, "notices": list(messages)})
        return 0
    for entry, since in stood:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.at))
        where = f" in {entry.netns_name}" if entry.netns_name else ""
        why = f" for {entry.finding}" if entry.finding else ""
        doubt = "?" if entry.state == "begun" else ""
        after = entry.wanted + doubt if entry.after is None else entry.after
        print_lines(
            f"{entry.id:>4}  {when}  {word(entry.state):<9} {entry.setting}{where}: "
            f"{entry.before} → {after}   {entry.who}{why}"
        )
        print_lines(f"      {entry.shell}")
        for remark in (entry.because if entry.open else ended(entry), since):
            if remark:
                print_lines(f"      {remark}")
    for message in messages:
        print_lines(f"note: {message}")
    if not entries:
        print_lines(f"No change is recorded in {journal.path}.")
        print("nettop has made none, or the journal was removed or emptied.")
    return 0


def document(entry: JournaledChange, since: str = "") -> dict[str, object]:
    """One entry as data; `since` says what changed the setting outside nettop."""
    from ..changes import data

    namespace: dict[str, object] = {"inode": entry.netns, "name": entry.netns_name}
    if entry.netns_cookie:
        namespace["cookie"] = entry.netns_cookie
    values: dict[str, object] = {
        "id": entry.id,
        "time": entry.at,
        **picked(entry, "who finding"),
        "netns": namespace,
        **picked(entry, "boot setting"),
        "before": data(entry.setting, entry.before),
        "wanted": data(entry.setting, entry.wanted),
        **picked(entry, "state shell"),
    }
    if entry.after is not None:
        values["after"] = data(entry.setting, entry.after)
    if entry.because:
        values["because"] = entry.because
    if since:
        values["since"] = since
    if entry.ended is not None:
        values["ended"] = entry.ended
    if entry.deadline is not None:
        values["deadline"] = entry.deadline
    if entry.keeper:
        values["keeper"] = entry.keeper
    if entry.undoes:
        values["undoes"] = list(entry.undoes)
    if moved := {k: [old, new] for k, (old, new) in entry.side_effects.items() if old != new}:
        values["side_effects"] = moved
    return values
