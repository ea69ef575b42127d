"""Walk the findings in the order of what they promise, prove each, keep those that are better.

  nettop tune --to 10.0.0.2 --peer "ssh host2" --budget 10m

What is about safety and not speed (old advice in sysctl.conf, for one) is named for `nettop apply`.
Ends with what was kept, what was not and why, the gain in all, and one command that takes
everything back. Exit code 0 when something was kept, 1 when nothing was.
"""

from __future__ import annotations

import argparse

from . import duration_argument, emit, json_argument, netns_argument, profile_argument
from .prove import attempt, bench_arguments, bench_of, offers

HELP = "prove the findings one by one, keep those that are better"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    bench_arguments(parser)
    parser.set_defaults(budget=600.0)
    profile_argument(parser)
    duration_argument(parser, "--look", "how long to look (6)", 6.0)
    json_argument(parser)
    netns_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Tune it."""
    from ..trials import tune

    on = bench_of(args)
    document = attempt(lambda: tune.tune(offers(args, on), on, args.budget))
    if args.json:
        emit(document)
    else:
        print(tune.text(document), end="")
    return 0 if document["ids"] else 1
