"""Print findings or settings in the format of a configuration tool. This host is not changed.

nettop export rx-ring-overrun@eth0 --format ansible
nettop export ring.rx@eth0=4096 'sysctl.net.ipv4.tcp_rmem=4096 131072 67108864' --format shell
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import TYPE_CHECKING

from ..host.source import Source
from ..terms.errors import Refused, sentence
from . import (
    duration_argument,
    emit,
    json_argument,
    open_source,
    profile_argument,
    source_arguments,
)
from ._argument import assignment, assigns, change

if TYPE_CHECKING:
    from ..changes import Change

GROUP = "change"
HELP = "print changes as a script, sysctl.d file, systemd units or playbook"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    from ..changes.export import formats

    parser.add_argument("what", nargs="+", type=change, metavar="FINDING|SETTING=VALUE")
    parser.add_argument("--format", choices=formats(), default="shell", help="(shell)")
    duration_argument(parser, "--seconds", "how long to observe the host (2)", 2.0)
    profile_argument(parser)
    json_argument(parser)
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the text. Exit code 4: the format cannot express all of it."""
    from ..changes.export import export
    from ..terms.text import safe

    source = open_source(args)
    changes = wanted(source, args)
    text, left = export(changes, source, args.format)
    if args.json:
        emit({"format": args.format, "text": text, "left": list(left)})
    else:
        sys.stdout.flush()
        # the text goes into a file: ignore the locale
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    for setting in left:
        print(safe(f"nettop: the format {args.format} cannot express {setting}"), file=sys.stderr)
    return 4 if left else 0


def wanted(source: Source, args: argparse.Namespace) -> list[Change]:
    """The changes of the named findings and settings."""
    from .. import settings
    from ..changes import Change
    from .apply import findings

    names = [word for word in args.what if not assigns(word)]
    pairs = [assignment(word) for word in args.what if assigns(word)]
    for finding in findings(names, source, args) if names else ():
        pairs += [(w.setting, w.value) for w in finding.wanted if not w.experiment]
    changes = []
    for setting, value in pairs:
        try:
            address = settings.parse(setting)
            value = settings.normal(address, value)  # noqa: PLW2901
            before = settings.read(source, address)
            if before != value:
                with contextlib.suppress(OSError):  # a recording may lack the limits
                    value = settings.check(source, address, value)  # noqa: PLW2901
        except LookupError as error:
            raise Refused(sentence(error), 2) from None
        except ValueError as error:
            raise Refused(sentence(error), 4) from None
        except OSError as error:
            raise Refused(f"{setting}: {sentence(error)}", 3) from None
        changes.append(Change(str(address), before, value))
    return changes
