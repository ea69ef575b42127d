"""Show the screen in a browser on this machine (loopback only), with textual-serve.

nettop serve                      then open http://127.0.0.1:8000
nettop serve --port 8080 --replay web3.host.gz
"""

from __future__ import annotations

import argparse
import shlex
import sys

from . import Refused, duration_argument, interface_argument, source_arguments

HELP = "the screen in a browser, on loopback (needs nettop[serve])"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("--port", type=int, default=8000, help="TCP port on 127.0.0.1 (8000)")
    interface_argument(parser, "start with this interface")
    duration_argument(parser, "--interval", "between samples (1)")
    parser.add_argument("--demo", action="store_true", help="play the recording that comes with it")
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    if not 1 <= args.port <= 65535:
        raise Refused(f"--port {args.port} is not between 1 and 65535")
    try:
        from textual_serve.server import Server
    except ImportError:
        raise Refused("textual-serve is not installed: pip install 'nettop[serve]'", 3) from None
    Server(command(args), host="127.0.0.1", port=args.port, title="nettop").serve()
    return 0


def command(args: argparse.Namespace) -> str:
    """The command line that a browser's session runs."""
    words = [sys.executable, "-P", "-m", "nettop"]
    for option in ("replay", "root", "netns", "interface", "interval"):
        value = getattr(args, option, None)
        if value:
            words += [f"--{option}", str(value)]
    if args.demo:
        words.append("--demo")
    return shlex.join(words)
