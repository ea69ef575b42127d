"""Test the fix of each finding of both ends, one at a time, and keep those that help.

  nettop tune --to 10.0.0.2 --peer "ssh host2" --budget 10m

The test runs first, and both ends are looked at under its load. The fix with the largest predicted
gain comes first. A setting of the other end is changed by the nettop that is installed there, under
its guard; the report says where there is none. If --peer cannot be read, a line says so first.

Findings about safety instead of speed are not tested; the report names them for `nettop apply`. Nor
is a finding that no setting cures; the report says who must do what. The report lists what was
kept, what was not kept and why, the total gain, and the command that reverts everything, one for
each host. Exit code 0: at least one change was kept; 1: none.
"""

import argparse

from . import duration_argument, netns_argument, profile_argument
from ._report import format_argument, format_of, print_report
from .prove import attempt, bench_arguments, bench_of, offers

GROUP = "prove"
HELP = "prove all findings in turn, keep the changes that help"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    bench_arguments(parser)
    parser.set_defaults(budget=600.0)
    profile_argument(parser)
    duration_argument(parser, "--look", "how long to observe the host (6)", 6.0)
    format_argument(parser)
    netns_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Run the experiments and print the report."""
    from ..trials import tune

    form = format_of(args)
    on = bench_of(args)
    document = attempt(lambda: tune.tune(offers(args, on), on, args.budget))
    print_report("tune", document, form, tune.text)
    return 0 if document["ids"] else 1
