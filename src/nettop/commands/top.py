"""Open the screen: live cores, queues, drops and findings of this host or of a recording.

nettop                            this host; `nettop top` is the same
nettop --demo                     a host that should receive 100 Gbit/s, generated
nettop --demo ends                both ends of a transfer of 100 Gbit/s that is slow, generated
nettop --host "ssh web1"          another host, where nothing is installed
nettop --host "ssh web1" --install    the same; nettop is put there, so that changes work there
nettop --host "ssh web1" --forget     remove what --install put there
nettop --read-only                change nothing, run no test, write no file
"""

import argparse
import os
import sys

from ..files import own
from ..host.source import Source
from ..terms.errors import Refused, sentence
from . import (
    check_peer,
    drop_reasons_argument,
    duration_argument,
    enter_netns,
    interface_argument,
    open_peer,
    open_source,
    peer_argument,
    print_lines,
    profile_argument,
    source_arguments,
)

GROUP = "look"
CURED = "-cured"  # in the name of what differs in a demo once its change was applied
DEMOS = {"ring": "demo", "ends": "demo-ends"}
HELP = "open the screen (the default command)"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The screen's options."""
    source_arguments(parser)
    parser.add_argument(
        "--demo", nargs="?", const="ring", choices=tuple(DEMOS),
        help="play a host that is part of nettop: a receive ring that loses packets at 100 Gbit/s"
             " (ring, the default), or both ends of a transfer (ends)",
    )  # fmt: skip
    interface_argument(parser, "initial interface")
    duration_argument(parser, "--interval", "time between samples (1)")
    profile_argument(parser)
    peer_argument(parser)
    drop_reasons_argument(parser)
    there = parser.add_mutually_exclusive_group()
    there.add_argument(
        "--install", action="store_true",
        help="with --host: put nettop's one file there, then open the screen, if there is a"
             " terminal",
    )  # fmt: skip
    there.add_argument(
        "--forget", action="store_true", help="with --host: remove what --install put there"
    )
    there.add_argument(
        "--read-only", action="store_true", help="change nothing, run no test, write no file"
    )
    parser.add_argument(
        "--binary", metavar="FILE",
        help="the one file that is installed there (default: this nettop, if it is one file)",
    )  # fmt: skip
    parser.add_argument(
        "--plain", action="store_true", help="print the overview as text instead of a screen"
    )


def run(args: argparse.Namespace) -> int:
    """Run the screen until the user quits."""
    if args.netns:
        enter_netns(args.netns)
    if args.demo:
        args.replay = demo(args.demo)
    if (args.install or args.forget) and _install(args):
        return 0
    if args.plain:
        from . import command

        if args.peer is not None:
            raise Refused("--peer needs the screen; `nettop why --peer` prints text", 2)
        show = command("show")
        parser = argparse.ArgumentParser()
        show.arguments(parser)
        argv = ["overview", "--once"]
        for option in ("host", "replay", "root", "interface", "profile"):
            if getattr(args, option):
                argv += [f"--{option}", str(getattr(args, option))]
        argv += ["--drop-reasons"] if args.drop_reasons else []
        code: int = show.run(parser.parse_args(argv))
        return code
    browser = "TEXTUAL_DRIVER" in os.environ  # `nettop serve`
    if not browser and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refused("the screen needs a terminal; `nettop show overview` prints text", 2)
    if not browser and os.environ.get("TERM", "dumb") == "dumb":
        raise Refused("this terminal (TERM) cannot draw; `nettop show overview` prints text", 2)
    # Textual draws on stderr, which may be redirected to a file; for a browser it draws on stdout
    if not browser and not sys.stderr.isatty():
        os.dup2(1, 2)
    from ..tui.app import run as draw

    return draw(args, *_opened(args))


def _install(args: argparse.Namespace) -> bool:
    """Put the one file at the host of --host, or remove it; whether that was all. Refused."""
    from ..changes.remote import forget
    from ..host import once, prefix

    if not args.host:
        raise Refused("--install and --forget are for another host: --host PREFIX", 2)
    words, asks = prefix.parse(args.host), sys.stdin.isatty()
    if args.forget:
        print_lines(forget(words, asks=asks))
        return True
    path = args.binary or own.file()
    if not path:
        raise Refused("this nettop is not one file: make binary builds one, for --binary FILE", 2)
    try:
        one = once.file(path)
    except (OSError, ValueError) as error:
        raise Refused(sentence(error), 2) from None
    print_lines(f"nettop: sending {one}", to=sys.stderr)
    places = once.install(words, one, asks=asks)
    hint = "" if prefix.ROOTS in places else "; changes need root there, by sudo without a password"
    print_lines(f"nettop: {args.host}: installed in {' and '.join(places)}{hint}", to=sys.stderr)
    return not (args.plain or asks)


def _enter(source: Source) -> None:
    """Open the recording of an incident at the moment it began."""
    from ..box.incident import enter
    from ..host.recording import Replay

    if isinstance(source, Replay):
        enter(source)


def _opened(args: argparse.Namespace) -> tuple[Source, Source | None]:
    """What is shown, and the recorded other end."""
    if args.demo:
        return _played(args)
    source = open_source(args, pace=1.0, loop=True)
    if not source.ends:
        check_peer(args, source)
        return source, None
    _enter(source)
    return source, open_peer(args, source)


def _played(args: argparse.Namespace) -> tuple[Source, Source | None]:
    """The demo, whose changes are played, and its other end where it has both."""
    from ..host.played import Played
    from ..host.recording import Replay, load, other_file

    changed = demo(args.demo, CURED)
    source = Played(load(args.replay), load(changed), pace=1.0)
    far = open_peer(args, source)
    if isinstance(far, Replay):
        source.join(far, load(other_file(changed)))
    return source, far


def demo(name: str = "ring", course: str = "") -> str:
    """A recording that is part of nettop."""
    from ..config import rules_folder

    return str(rules_folder() / f"{DEMOS[name]}{course}.host.gz")
