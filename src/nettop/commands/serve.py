"""Show the screen in a browser on this host.

nettop serve                      prints the address to open
nettop serve --port 8080 --replay web3.host.gz
ssh -t -L 8000:127.0.0.1:8000 host nettop serve

The server listens on loopback only. The address contains a secret token: everybody who knows the
address can open the screen, so keep it private. The screen is read-only: keys change no setting,
run no test and write no file. With --write, everybody who knows the address can do what you can
do, which includes running commands (the peer of a test is a command). At most four browsers can
be connected.
"""

import argparse
import os
import sys
from importlib.util import find_spec

from ..files import own
from ..terms.errors import Refused
from . import (
    drop_reasons_argument,
    duration_argument,
    interface_argument,
    profile_argument,
    source_arguments,
)

HELP = "show the screen in a browser, read-only (needs nettop[serve])"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("--port", type=int, default=8000, help="TCP port on 127.0.0.1 (8000)")
    parser.add_argument(
        "--write", action="store_true", help="allow keys to change this host and run tests"
    )
    parser.add_argument("--as-root", action="store_true", help="allow serving as root")
    interface_argument(parser, "initial interface")
    duration_argument(parser, "--interval", "time between samples (1)")
    profile_argument(parser)
    drop_reasons_argument(parser)
    parser.add_argument(
        "--demo", action="store_true", help="play the recording that is part of nettop"
    )
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    if not 1 <= args.port <= 65535:
        raise Refused(f"--port {args.port}: a port is from 1 to 65535")
    if os.geteuid() == 0 and not args.as_root:
        raise Refused(
            "serve refuses to run as root: use another user, or --as-root to let a browser see "
            "all that root can see" + (" and do all that root can do" if args.write else ""),
            4,
        )
    if find_spec("textual_serve") is None:
        raise Refused("textual-serve is not installed: pip install 'nettop[serve]'", 3)
    from ..serving.listen import PortError, serve

    keys = "keys can change this host" if args.write else "read-only"

    def opened(url: str) -> None:
        print(url, flush=True)
        notice = f"nettop: {keys}; keep this address private; Ctrl-C stops the server"
        print(notice, file=sys.stderr)

    try:
        serve(command(args), args.port, opened)
    except PortError as error:
        message = f"cannot listen on port {args.port}: {error.strerror}; choose another with --port"
        raise Refused(message, 3) from None
    return 0


def command(args: argparse.Namespace) -> list[str]:
    """The command line of the screen process for one browser."""
    argv = own.again()
    for option in ("host", "replay", "root", "netns", "interface", "interval", "profile"):
        value = getattr(args, option, None)
        if value:
            argv.append(f"--{option}={value}")
    argv += ["--demo"] if args.demo else []
    argv += ["--drop-reasons"] if args.drop_reasons else []
    argv += [] if args.write else ["--read-only"]
    return argv
