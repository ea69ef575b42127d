"""Show the current value and the allowed values of settings.

nettop get ring.rx@eth0                          value, maximum, default
nettop get sysctl.net.ipv4.tcp_rmem --json       for scripts

A setting is `kind.name@target`: ring.rx@eth0, irq.affinity@eth0/rx-0, sysctl.net.ipv4.tcp_rmem …
"""

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from ..host.source import Source
from ..terms.errors import Refused, sentence
from . import absent, emit, json_argument, open_source, print_lines, source_arguments

GROUP = "change"
HELP = "show the current value of settings"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("setting", nargs="+", metavar="SETTING", help="kind.name@target")
    json_argument(parser)
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the settings that can be read. Exit code 2: unknown name, 3: one cannot be read."""
    source = open_source(args)
    settings: dict[str, dict[str, Any]] = {}
    refused: list[Refused] = []
    for name in args.setting:
        try:
            settings[name] = read(source, name)
        except Refused as error:
            refused.append(error)
    if settings or not refused:
        _print(settings, as_json=args.json)
    if refused:
        *others, last = refused
        for one in others:
            print(f"nettop: {one}", file=sys.stderr)
        raise Refused(str(last), max(one.code for one in refused))
    return 0


def _print(settings: Mapping[str, dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        emit(settings)
        return
    from ..changes import text

    for name, shown in settings.items():
        remarks = [f"default {text(shown['default'])}"] if "default" in shown else []
        remarks += [f"min {shown['min']}"] if "min" in shown else []
        remarks += [f"max {shown['max']}"] if "max" in shown else []
        remarks += [] if shown["settable"] else ["cannot be set"]
        remarks += [shown["because"]] if "because" in shown else []
        tail = f"   ({', '.join(remarks)})" if remarks else ""
        print_lines(f"{name} = {text(shown['value'])}{tail}")


def read(source: Source, name: str) -> dict[str, Any]:
    """The value and the limits of one setting; Refused for an unknown or unreadable one."""
    from .. import settings

    try:
        address = settings.parse(name)
        value = settings.read(source, address)
        limits = settings.limits(source, address)
    except LookupError as error:
        raise Refused(sentence(error), 2) from None
    except (OSError, ValueError) as error:
        unknown = absent(source, address, error)
        raise unknown or Refused(f"{name}: {sentence(error)}", 3) from None
    default = None if limits.default is None else settings.data(address, limits.default)
    shown = {
        "value": settings.data(address, value), "settable": limits.settable, "default": default,
        "min": limits.min, "max": limits.max, "choices": list(limits.choices or ()) or None,
        "because": limits.because or None,
    }  # fmt: skip
    return {key: one for key, one in shown.items() if one is not None}
