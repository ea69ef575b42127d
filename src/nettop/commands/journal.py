"""List the changes that nettop made on this host: time, user, finding, old and new value, state."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from ..terms.errors import Refused
from . import emit, enter_netns, json_argument, netns_argument, tell_faults

if TYPE_CHECKING:
    from ..changes.journal import Entry

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
    from ..changes.guard import notices
    from ..changes.journal import ROOTS, Journal
    from ..changes.namespaces import Survey
    from ..changes.status import ended, overtaken
    from ..settings import Host
    from ..terms.errors import sentence
    from ..terms.text import safe

    if args.netns is not None:
        enter_netns(args.netns)
    journal = Journal()
    try:
        entries = journal.entries()
        told = notices(journal)
        host, survey = Host.at(), Survey()
        overtakings = {e.id: overtaken(e, host, entries, survey) for e in entries if e.open}
        since = {number: why for number, why in overtakings.items() if why}
    except OSError as error:
        raise Refused(sentence(error), 3) from None
    tell_faults(journal.odd())
    if privilege.rooted(journal) and os.path.isdir(ROOTS):
        where = "nettop: changes made by root are in root's journal: sudo nettop journal"
        print(where, file=sys.stderr)
    if args.json:
        made = [document(entry, since.get(entry.id, "")) for entry in entries]
        emit({"changes": made, "notices": list(told)})
        return 0
    for entry in entries:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.at))
        where = f" in {entry.netns_name}" if entry.netns_name else ""
        why = f" for {entry.finding}" if entry.finding else ""
        doubt = "?" if entry.state == "begun" else ""
        shown = entry.wanted + doubt if entry.after is None else entry.after
        print(
            safe(f"{entry.id:>4}  {when}  {entry.state:<9} {entry.setting}{where}: "
                 f"{entry.before} → {shown}   {entry.who}{why}")
        )  # fmt: skip
        print(safe(f"      {entry.shell}"))
        became = entry.because if entry.open else ended(entry)
        for more in (became, since.get(entry.id)):
            if more:
                print(safe(f"      {more}"))
    for line in told:
        print(safe(f"note: {line}"))
    if not entries:
        print("nettop has changed nothing here.")
    return 0


def document(entry: Entry, since: str = "") -> dict[str, Any]:
    """One entry as data; `since` tells what happened to the setting outside nettop."""
    from ..changes import data

    namespace = {"inode": entry.netns, "name": entry.netns_name}
    if entry.netns_cookie:
        namespace["cookie"] = entry.netns_cookie
    found: dict[str, Any] = {
        "id": entry.id,
        "time": entry.at,
        "who": entry.who,
        "finding": entry.finding,
        "netns": namespace,
        "boot": entry.boot,
        "setting": entry.setting,
        "before": data(entry.setting, entry.before),
        "wanted": data(entry.setting, entry.wanted),
        "state": entry.state,
        "shell": entry.shell,
    }
    if entry.after is not None:
        found["after"] = data(entry.setting, entry.after)
    if entry.because:
        found["because"] = entry.because
    if since:
        found["since"] = since
    if entry.ended is not None:
        found["ended"] = entry.ended
    if entry.deadline is not None:
        found["deadline"] = entry.deadline
    if entry.undoes:
        found["undoes"] = list(entry.undoes)
    if entry.side_effects:
        found["side_effects"] = {k: list(v) for k, v in entry.side_effects.items()}
    return found
