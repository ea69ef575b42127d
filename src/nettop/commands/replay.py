"""Show a recording on the screen, at the pace it was made."""

from __future__ import annotations

import argparse

from . import command, seconds

HELP = "show a recording on the screen"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    from ..facts import PROFILES

    parser.add_argument("replay", metavar="FILE", help="a recording made by `nettop record`")
    parser.add_argument("--interface", metavar="IF", help="start with this interface")
    parser.add_argument("--interval", type=seconds, help=argparse.SUPPRESS)
    parser.add_argument("--profile", choices=PROFILES, help="what the host is for")
    parser.set_defaults(root=None, netns=None, demo=False, plain=False)


def run(args: argparse.Namespace) -> int:
    """The screen, on that recording."""
    code: int = command("top").run(args)
    return code
