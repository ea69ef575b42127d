"""Test several values of a setting against the current value and report the best.

  nettop sweep ring.rx@eth0 --value 256 --value 1024 --value 4096 --to 10.0.0.2 --peer "ssh host2"
  nettop sweep ring.rx@eth0 --value 256 --value 1024 --and coalesce.rx-usecs@eth0 --and-value 0 …
         every pair of both values

A value that loses more than 3 % in each of its first five pairs of runs, or in eight of nine, is
not tested further. At most 5 % of the values that are as good as the current one are stopped in
this way.

An interrupted sweep is continued by the same command with --resume; its last round is repeated.

The setting is reverted, unless --keep-best is given and the best value is better than the current
one. Exit code 0: a value was better; 1: none was.
"""

import argparse

from ..terms.errors import Refused
from . import netns_argument
from ._report import format_argument, format_of, print_report
from .prove import attempt, bench_arguments, bench_of

GROUP = "prove"
HELP = "test several values of a setting and report the best"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("setting", metavar="SETTING", help="kind.name@target")
    parser.add_argument(
        "--value",
        type=str,
        action="append",
        required=True,
        metavar="V",
        help="value to test; repeat for more",
    )
    parser.add_argument(
        "--and", dest="second", metavar="SETTING", help="second setting: test every pair of values"
    )
    parser.add_argument(
        "--and-value",
        type=str,
        action="append",
        metavar="V",
        help="value of the second setting; repeat for more",
    )
    parser.add_argument(
        "--keep-best",
        action="store_true",
        help="keep the best value if it is better than the current one",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="continue an interrupted sweep of the same values and options",
    )
    bench_arguments(parser)
    format_argument(parser)
    netns_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Run the sweep and print the table."""
    from ..trials import prove

    if bool(args.second) != bool(args.and_value):
        raise Refused("--and and --and-value require each other", 2)
    grid = [(args.setting, args.value)]
    if args.second:
        grid.append((args.second, args.and_value))
    form = format_of(args)
    on = bench_of(args, sweeps=True)
    document = attempt(
        lambda: prove.sweep(grid, on, keep=args.keep_best, resume=args.resume),
        after="; the same command with --resume continues",
    )
    print_report("sweep", document, form, prove.table)
    return 0 if document["verdict"] == "better" else 1
