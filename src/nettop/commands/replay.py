"""Show a recording on the screen, at the speed of the original.

nettop replay web1.host.gz                       a recording
nettop replay a.host.gz                          both ends, by `nettop record a.host.gz --peer …`
nettop replay 20261122T021500Z-rx-ring           an incident of the black box

Where FILE is one end of a pair, the file of the other end beside it (a.peer.host.gz) is shown too,
on one time line.

An incident of the black box opens at the moment it began: FILE is its file, or its name in `nettop
incidents`.
"""

import argparse
import os

from ..terms.errors import Refused
from . import _argument, command, duration_argument, interface_argument, profile_argument
from .incidents import box, box_argument, named

GROUP = "data"
HELP = "show a recording or an incident on the screen"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "replay", metavar="FILE", help="a recording of `nettop record`, or an incident"
    )
    box_argument(parser)
    interface_argument(parser, "initial interface")
    duration_argument(parser, "--interval", argparse.SUPPRESS)
    profile_argument(parser)
    parser.add_argument(
        "--peer", metavar="FILE", type=_argument.word, help="the recording of the other end"
    )


def run(args: argparse.Namespace) -> int:
    """Open the screen on that recording."""
    from ..box.folder import NAMED

    if not os.path.exists(args.replay) and NAMED.match(args.replay):
        args.replay = str(named(box(args.box), args.replay))
    elif args.box is not None:
        raise Refused(f"{args.replay} is a file: leave out --box", 2)
    screen = argparse.ArgumentParser(add_help=False)
    command("top").arguments(screen)  # options that only the screen of a host has: defaults
    args = argparse.Namespace(**{**vars(screen.parse_args([])), **vars(args)})
    code: int = command("top").run(args)
    return code
