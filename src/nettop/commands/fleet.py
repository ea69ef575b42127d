"""Compare many hosts by their recordings, `advise --json` documents and incidents.

Each FILE is recognised by its content; a DIR means all files below it. A file that cannot be used
is named and left out. Of several files of one host the last one counts, and what changed since the
first one is listed. A host has its own name; the host of a scrubbed recording has the name of its
file.

nettop fleet DIR                              groups, findings, settings that differ, changes
nettop fleet DIR --format html > fleet.html   one page with every host
nettop fleet MONDAY FRIDAY                    two folders: also what changed on each host
nettop fleet --ansible DIR                    write the Ansible collection nettop.nettop

A setting differs if two thirds of the hosts with the same interfaces, drivers, firmware and kernel
have another value.

The collection has roles that collect such files from many hosts, roll changes out with a canary,
and undo them; `ansible-galaxy collection install DIR` installs it.
"""

import argparse
import sys

from ..terms.errors import Refused, sentence
from . import emit, print_lines

GROUP = "data"
HELP = "compare many hosts: groups, findings, settings that differ, changes"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "paths", nargs="*", metavar="FILE|DIR", help="recordings, JSON documents, incidents"
    )
    parser.add_argument(
        "--format", choices=("text", "html", "json"), default="text", metavar="FORMAT",
        help="text, html (one page), json (text)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON, as --format json")
    parser.add_argument("--ansible", metavar="DIR", help="write the Ansible collection to DIR")


def run(args: argparse.Namespace) -> int:
    """Print the report. Exit code 3: no file could be used; 4: the collection is not written."""
    if args.ansible is not None:
        return _collection(args)
    if not args.paths:
        raise Refused("fleet needs FILE or DIR", 2)
    return _report(args)


def _collection(args: argparse.Namespace) -> int:
    from ..fleet.ansible import write_collection

    if args.paths:
        raise Refused("--ansible takes no FILE", 2)
    try:
        write_collection(args.ansible)
    except OSError as error:
        raise Refused(f"the collection is not written: {sentence(error)}", 4) from None
    print_lines(f"written: {args.ansible}; install it with ansible-galaxy collection install")
    return 0


def _report(args: argparse.Namespace) -> int:
    from ..fleet.differing import gathered
    from ..fleet.reading import readings
    from ..fleet.report import document, text

    form = "json" if args.json else args.format
    if form == "html" and sys.stdout.isatty():
        raise Refused("--format html writes a page: send it to a file (> fleet.html)", 2)
    left_out = []

    def leave_out(file: str, because: str) -> None:
        left_out.append({"file": file, "because": because})
        print_lines(f"nettop: left out: {file}: {because}", to=sys.stderr)

    fleet = gathered(readings(args.paths, leave_out))
    if not fleet.hosts:
        raise Refused("no recording, document or incident could be used", 3)
    values = document(fleet, left_out)
    if form == "json":
        emit(dict(values))
    elif form == "html":
        from ..fleet.report import html

        print(html(values), end="")
    else:
        print_lines(*text(values))
    return 0
