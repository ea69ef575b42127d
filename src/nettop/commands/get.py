"""Show the current value and the allowed values of settings.

A setting is `kind.name@target`: ring.rx@eth0, irq.affinity@eth0/rx-0, sysctl.net.ipv4.tcp_rmem …
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..terms.errors import Refused
from . import absent, emit, json_argument, open_source, source_arguments

if TYPE_CHECKING:
    from ..host.source import Source

GROUP = "change"
HELP = "show the current value of settings"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("setting", nargs="+", metavar="SETTING", help="kind.name@target")
    json_argument(parser)
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the settings. Exit code 2: unknown name, 3: cannot be read."""
    source = open_source(args)
    found = {text: one(source, text) for text in args.setting}
    if args.json:
        emit(found)
        return 0
    from ..changes import text as told
    from ..terms.text import safe

    for text, known in found.items():
        value = told(known["value"])
        more = [f"{key} {told(known[key])}" for key in ("default", "min", "max") if key in known]
        if not known["settable"]:
            more.append("cannot be set")
        if "because" in known:
            more.append(known["because"])
        print(safe(f"{text} = {value}" + (f"   ({', '.join(more)})" if more else "")))
    return 0


def one(source: Source, text: str) -> dict[str, Any]:
    """The value and the limits of one setting."""
    from .. import settings
    from ..terms.errors import sentence

    try:
        address = settings.parse(text)
        value = settings.read(source, address)
        limits = settings.limits(source, address)
    except LookupError as error:
        raise Refused(sentence(error), 2) from None
    except (OSError, ValueError) as error:
        unknown = absent(source, address, error)
        raise unknown or Refused(f"{text}: {sentence(error)}", 3) from None
    found: dict[str, Any] = {"value": settings.data(address, value), "settable": limits.settable}
    if limits.default is not None:
        found["default"] = settings.data(address, limits.default)
    for name in ("min", "max"):
        if getattr(limits, name) is not None:
            found[name] = getattr(limits, name)
    if limits.choices:
        found["choices"] = list(limits.choices)
    if limits.because:
        found["because"] = limits.because
    return found
