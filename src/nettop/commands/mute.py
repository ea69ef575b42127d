"""Mute findings. Muted findings are still evaluated, but not shown.

    nettop mute RULE@TARGET       one finding; a process by its name: app-on-other-node@iperf3
    nettop mute RULE              the rule, on every target
    nettop mute --list            list what is muted
    nettop mute --remove NAME     unmute it

The list is the file ~/.config/nettop/muted, with one name per line.
"""

import argparse

from ..terms.errors import Refused, nearest
from . import emit, json_argument, print_lines
from ._argument import target
from .rules import every_rule

GROUP = "change"
HELP = "hide a finding, or show it again"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("names", nargs="*", type=target, metavar="RULE[@TARGET]")
    parser.add_argument("--list", action="store_true", help="list what is muted")
    parser.add_argument("--remove", action="store_true", help="unmute the given names")
    json_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Change the list, or print it."""
    from .. import config

    before = config.muted()
    if not args.names and not args.list:
        raise Refused("no finding given: RULE@TARGET, or --list", 2)
    after = list(dict.fromkeys(_changed(before, args.names, remove=args.remove)))
    if after != before:
        _write(after)
    if args.json:
        emit({"muted": after})
    elif args.list:
        print_lines(*after or ["nothing is muted"])
    else:
        state = "unmuted" if args.remove else "muted"
        print_lines(*(f"{name}: {state}" for name in args.names))
    return 0


def _changed(before: list[str], names: list[str], *, remove: bool) -> list[str]:
    if remove:
        for name in names:
            if name not in before:
                raise Refused(f"{name!r} is not muted{nearest(name, before)}", 2)
        return [name for name in before if name not in names]
    known = {rule.id for rule in every_rule()} if names else set()
    for name in names:
        rule = name.partition("@")[0]
        if rule not in known:
            raise Refused(f"no rule {rule!r}{nearest(rule, known)}", 2)
        if not name.isprintable():
            raise Refused("a name to mute must be one printable line", 2)
    return [*before, *names]


def _write(names: list[str]) -> None:
    from .. import config

    try:
        config.mute(names)
    except OSError as error:
        place = config.user_folder() / "muted"
        raise Refused(f"cannot write {place}: {error.strerror}", 4) from None
