"""Run code by the Python of this nettop, for a nettop that reads this host, which has no other."""

import argparse
import os
import sys

from ..host.prefix import PYTHON

HELP = "run Python code"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The code and its arguments."""
    parser.add_argument("code", type=str)
    parser.add_argument("words", nargs="*")


def run(args: argparse.Namespace) -> int:
    """Become that Python."""
    os.execv(sys.executable, [sys.executable, *PYTHON[1:], args.code, *args.words])  # noqa: S606
