"""Try several values of a setting in turn, each against how the host is, and name the best.

  nettop sweep ring.rx@eth0 --value 256 --value 1024 --value 4096 --to 10.0.0.2 --peer "ssh host2"
  nettop sweep ring.rx@eth0 --value 256 --value 1024 --and coalesce.rx-usecs@eth0 --and-value 0
         --and-value 50 --to …                                          every pair of both values

The host is put back as it was, unless --keep-best and the best proved better. Exit code 0 when one
did, 1 when none.
"""

from __future__ import annotations

import argparse

from ..terms.errors import Refused
from . import emit, json_argument, netns_argument
from .prove import attempt, bench_arguments, bench_of

HELP = "several values of a setting in turn: which is best"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("setting", metavar="SETTING", help="kind.name@target")
    parser.add_argument(
        "--value", type=str, action="append", required=True, metavar="V", help="one to try"
    )
    parser.add_argument("--and", dest="second", metavar="SETTING", help="a second setting: a grid")
    parser.add_argument(
        "--and-value", type=str, action="append", metavar="V", help="one of its values"
    )
    parser.add_argument("--keep-best", action="store_true", help="keep the best if it is better")
    bench_arguments(parser)
    json_argument(parser)
    netns_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Sweep it."""
    from ..trials import prove

    if bool(args.second) != bool(args.and_value):
        raise Refused("--and needs --and-value, and the other way round", 2)
    grid = [(args.setting, args.value)]
    if args.second:
        grid.append((args.second, args.and_value))
    on = bench_of(args)
    document = attempt(lambda: prove.sweep(grid, on, keep=args.keep_best))
    if args.json:
        emit(document)
    else:
        print(prove.table(document), end="")
    return 0 if document["verdict"] == "better" else 1
