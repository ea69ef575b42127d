"""What nettop changed on this host: when, who, why, from what to what, and what became of it."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from . import Refused, emit, json_argument, tell_faults

if TYPE_CHECKING:
    from ..changes.journal import Entry

HELP = "what nettop changed here, and what became of it"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    json_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print the journal, oldest first; 3 when it cannot be read."""
    import time

    from ..changes import privilege
    from ..changes.guard import notices
    from ..changes.journal import ROOTS, Journal
    from ..changes.plan import sentence
    from ..changes.undo import overtaken
    from ..settings import Host
    from ..text import safe

    journal = Journal()
    try:
        entries = journal.entries()
        told = notices(journal)
        host = Host.at()
        since = {e.id: why for e in entries if e.open and (why := overtaken(e, host, entries))}
    except OSError as error:
        raise Refused(sentence(error), 3) from None
    tell_faults(journal.odd())
    if privilege.rooted(journal) and os.path.isdir(ROOTS):
        where = "nettop: what root changed stands in root's journal: sudo nettop journal"
        print(where, file=sys.stderr)
    if args.json:
        made = [document(entry, since.get(entry.id, "")) for entry in entries]
        emit({"changes": made, "notices": list(told)})
        return 0
    for entry in entries:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.at))
        where = f" in {entry.netns_name}" if entry.netns_name else ""
        why = f" for {entry.finding}" if entry.finding else ""
        shown = entry.after if entry.after is not None else f"{entry.wanted}?"
        print(
            safe(f"{entry.id:>4}  {when}  {entry.state:<9} {entry.setting}{where}: "
                 f"{entry.before} → {shown}   {entry.who}{why}")
        )  # fmt: skip
        print(safe(f"      {entry.shell}"))
        for more in (entry.because, since.get(entry.id)):
            if more:
                print(safe(f"      {more}"))
    for line in told:
        print(safe(f"note: {line}"))
    if not entries:
        print("nettop has changed nothing here.")
    return 0


def document(entry: Entry, since: str = "") -> dict[str, Any]:
    """One entry as data, with what became of it without nettop `since`."""
    from ..changes import data

    found: dict[str, Any] = {
        "id": entry.id,
        "time": entry.at,
        "who": entry.who,
        "finding": entry.finding,
        "netns": {"inode": entry.netns, "name": entry.netns_name},
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
    if entry.deadline is not None:
        found["deadline"] = entry.deadline
    if entry.undoes:
        found["undoes"] = list(entry.undoes)
    if entry.beside:
        found["beside"] = {k: list(v) for k, v in entry.beside.items()}
    return found
