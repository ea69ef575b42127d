"""Show a recording on the screen, at the speed of the original."""

from __future__ import annotations

import argparse

from . import command, duration_argument, interface_argument, profile_argument

GROUP = "data"
HELP = "show a recording on the screen"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("replay", metavar="FILE", help="a recording made by `nettop record`")
    interface_argument(parser, "initial interface")
    duration_argument(parser, "--interval", argparse.SUPPRESS)
    profile_argument(parser)
    parser.set_defaults(root=None, netns=None, demo=False, plain=False)


def run(args: argparse.Namespace) -> int:
    """Open the screen on that recording."""
    code: int = command("top").run(args)
    return code
