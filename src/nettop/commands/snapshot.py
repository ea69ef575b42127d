"""Print every table that nettop reads, with its rows.

nettop snapshot --table queues                    one table
nettop snapshot --json --seconds 10               all tables, with rates over ten seconds

Two samples are taken, --seconds apart. Rates per second are under `per_s`.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..terms.dataclass import DataclassInstance
from ..terms.errors import Refused, nearest
from . import duration_argument, emit, json_argument, open_source, print_lines, source_arguments

if TYPE_CHECKING:
    from ..frame.rates import Entry

GROUP = "data"
HELP = "print every table that nettop reads"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    json_argument(parser)
    duration_argument(parser, "--seconds", "time between the two samples (1)", 1.0)
    parser.add_argument("--table", action="append", metavar="NAME", help="print only this table")
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the tables."""
    from .. import collect
    from ..sampling.sampler import Sampler

    known = collect.names()
    for name in args.table or ():
        if name not in known:
            raise Refused(f"no table {name!r}{nearest(name, known)}", 2)
    wanted = args.table or collect.always()
    source = open_source(args)
    sampler = Sampler(source)
    frame = sampler.take(wanted)
    if source.wait(args.seconds):
        frame = sampler.take(wanted)
    tables = {name: [_row(entry) for entry in rows] for name, rows in frame.tables.items()}
    if args.json:
        emit({"at": frame.wall, "host": source.host, "tables": tables, "missing": frame.missing})
        return 0 if tables else 3
    for name, rows in sorted(tables.items()):
        print(f"{name}: {len(rows)} rows")
        for row in rows[:8]:
            print_lines("    " + "  ".join(f"{k}={v}" for k, v in row.items() if k != "per_s"))
    for name, why in sorted(frame.missing.items()):
        print_lines(f"not read: {name}: {why}")
    return 0 if tables else 3


def _row(entry: Entry[DataclassInstance]) -> dict[str, object]:
    """The values of a row, with its rates under `per_s` after the first sample."""
    from ..frame.fields import values

    now: dict[str, object] = values(entry.now)
    if entry.per_s is not None:
        now["per_s"] = values(entry.per_s, only=("counter", "vector"))
    return now
