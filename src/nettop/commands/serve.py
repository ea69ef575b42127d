"""Show the screen in a browser on this machine, for reading only.

nettop serve                      prints the address to open
nettop serve --port 8080 --replay web3.host.gz
ssh -t -L 8000:127.0.0.1:8000 host nettop serve

The address holds a token: who knows it may look, so do not pass it on. The keys change nothing,
run no test and write no file unless --write is given: then who knows the address can do what you
can do, and a test's peer is a command. At most four browsers may look at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec

from ..terms.errors import Refused
from . import (
    drop_reasons_argument,
    duration_argument,
    interface_argument,
    profile_argument,
    source_arguments,
)

HELP = "the screen in a browser on this machine, reading only (needs nettop[serve])"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("--port", type=int, default=8000, help="TCP port on 127.0.0.1 (8000)")
    parser.add_argument(
        "--write", action="store_true", help="the keys may change this host and run tests"
    )
    parser.add_argument("--as-root", action="store_true", help="serve although this is root")
    interface_argument(parser, "start with this interface")
    duration_argument(parser, "--interval", "between samples (1)")
    profile_argument(parser)
    drop_reasons_argument(parser)
    parser.add_argument("--demo", action="store_true", help="play the recording that comes with it")
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    if not 1 <= args.port <= 65535:
        raise Refused(f"--port {args.port} is not between 1 and 65535")
    if os.geteuid() == 0 and not args.as_root:
        raise Refused(
            "serve is not for root: run it as another user, or say --as-root to serve all that "
            "root may see" + (" and do" if args.write else ""),
            4,
        )
    if find_spec("textual_serve") is None:
        raise Refused("textual-serve is not installed: pip install 'nettop[serve]'", 3)
    from ..serving.listen import PortError, serve

    keys = "keys may change this host" if args.write else "reading only"

    def opened(url: str) -> None:
        print(url, flush=True)
        print(f"nettop: {keys}; keep this address to yourself; Ctrl-C ends", file=sys.stderr)

    try:
        serve(command(args), args.port, opened)
    except PortError as error:
        told = f"cannot listen on port {args.port}: {error.strerror}; choose another with --port"
        raise Refused(told, 3) from None
    return 0


def command(args: argparse.Namespace) -> list[str]:
    """The command line that a browser's session runs."""
    words = [sys.executable, "-P", "-m", "nettop"]
    for option in ("replay", "root", "netns", "interface", "interval", "profile"):
        value = getattr(args, option, None)
        if value:
            words.append(f"--{option}={value}")
    words += ["--demo"] if args.demo else []
    words += ["--drop-reasons"] if args.drop_reasons else []
    words += [] if args.write else ["--read-only"]
    return words
