"""List, show, delete and export the incidents that `nettop watch --box` recorded.

nettop incidents                     list all, newest last
nettop incidents show NAME           show what began, and the time that is recorded
nettop incidents export NAME FILE    write it to FILE, with addresses and names replaced as by
                                     `nettop record`; `-` is stdout
nettop incidents prune NAME …        delete these
nettop incidents prune --keep N      delete all but the newest N

NAME is a name from the list, without `.host.gz`, or the beginning of only one name. `nettop
replay NAME` opens an incident at the moment it began.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ..terms.errors import Refused, nearest, sentence
from . import _argument, emit, json_argument, print_lines

if TYPE_CHECKING:
    from ..box.folder import Folder
    from ..box.incident import Incident

GROUP = "look"
HELP = "list, show, delete and export what the black box recorded"
ENDING = ".host.gz"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    actions = ("list", "show", "export", "prune")
    parser.add_argument("action", nargs="?", choices=actions, default="list")
    parser.add_argument("names", nargs="*", metavar="NAME", help="incidents from `list`")
    box_argument(parser)
    parser.add_argument(
        "--keep", type=_argument.whole(0), metavar="N", help="prune: how many of the newest stay"
    )
    parser.add_argument("--keep-names", action="store_true", help="export: replace nothing")
    parser.add_argument("--keep-addresses", action="store_true", help="export: keep IP addresses")
    json_argument(parser)


def box_argument(parser: argparse.ArgumentParser) -> None:
    """--box: the folder of the box."""
    parser.add_argument("--box", metavar="DIR", help="the box (/var/lib/nettop/box)")


def run(args: argparse.Namespace) -> int:
    """List, show, export or delete."""
    if args.keep is not None and args.action != "prune":
        raise Refused("--keep is an option of prune", 2)
    folder = box(args.box)
    if args.action == "list":
        if args.names:
            raise Refused("incidents list takes no NAME", 2)
        return _list(folder, args)
    if args.action == "prune":
        return _prune(folder, args)
    if args.action == "export":
        if len(args.names) != 2:
            raise Refused("incidents export needs NAME and FILE", 2)
        return _export(named(folder, args.names[0]), args)
    if len(args.names) != 1:
        raise Refused("incidents show needs one NAME", 2)
    return _show(named(folder, args.names[0]), args)


def box(path: str | None) -> Folder:
    """The box, to read; exit code 3 if there is none or it cannot be read."""
    from ..box.folder import Folder, default

    try:
        folder = Folder(default() if path is None else Path(path), 0)
        if not folder.path.is_dir():
            raise Refused(f"no box at {folder.path}: `nettop watch --box` makes one", 3)
        folder.incidents()
    except OSError as error:
        raise Refused(f"cannot read the box: {sentence(error)}", 3) from None
    return folder


def named(folder: Folder, name: str) -> Path:
    """The incident of that name, or the only one whose name begins so."""
    paths = {path.name.removesuffix(ENDING): path for path in folder.incidents()}
    name = name.removesuffix(ENDING)
    if name in paths:
        return paths[name]
    begins = [path for known, path in paths.items() if known.startswith(name)]
    if len(begins) == 1:
        return begins[0]
    if begins:
        raise Refused(f"{len(begins)} incidents begin with {name!r}: give more of the name", 2)
    raise Refused(f"no incident {name!r}{nearest(name, paths)}", 2)


def _rows(folder: Folder) -> list[dict[str, object]]:
    from ..box.incident import read

    rows = []
    for path in folder.incidents():
        incident = read(path)
        if incident is None:
            print_lines(f"nettop: ignored: {path.name} is damaged", to=sys.stderr)
        else:
            rows.append({"name": path.name.removesuffix(ENDING), **_what(incident),
                         "bytes": path.stat().st_size})  # fmt: skip
    return rows


def _what(incident: Incident) -> dict[str, object]:
    return {
        "id": incident.id, "severity": incident.severity, "title": incident.title,
        "began": incident.wall, "also": list(incident.also),
    }  # fmt: skip


def _list(folder: Folder, args: argparse.Namespace) -> int:
    rows = _rows(folder)
    waiting = [path.stem for path in folder.waiting()]
    if args.json:
        emit({"box": str(folder.path), "incidents": rows, "recording": waiting})
        return 0
    if not rows and not waiting:
        print_lines(f"no incidents in {folder.path}")
    for row in rows:
        print_lines(f"{row['name']}  {row['id']}: {row['title']}")
    for name in waiting:
        print_lines(f"{name}  still being recorded")
    return 0


def _show(path: Path, args: argparse.Namespace) -> int:
    from ..box.incident import of
    from ..box.ring import moments

    incident, first, last, count = None, 0.0, 0.0, 0
    try:
        for moment in moments(path):
            if incident is None:
                incident, first = of(moment), moment.at
            last, count = moment.at, count + 1
    except ValueError as error:  # or a RecordingError
        raise Refused(f"{path}: {error}", 3) from None
    if incident is None:
        raise Refused(f"{path} is damaged", 3)
    before, after = max(0.0, incident.at - first), max(0.0, last - incident.at)
    if args.json:
        emit({"name": path.name.removesuffix(ENDING), **_what(incident), "file": str(path),
              "bytes": path.stat().st_size, "before": before, "after": after,
              "moments": count})  # fmt: skip
        return 0
    when = time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(incident.wall))
    print_lines(
        f"{incident.id}: {incident.title}",
        f"  began     {when}, {incident.severity}",
        f"  recorded  {before:.0f} s before and {after:.0f} s after, {count} samples",
        *[f"  also      {name}" for name in incident.also],
        f"  file      {path}",
        f"  open it   nettop replay {path}",
    )
    return 0


def _export(path: Path, args: argparse.Namespace) -> int:
    from ..box.incident import COMMENT, scrubbed
    from ..box.ring import moments
    from ..host.archive import RecordingError, Room, Tape, written
    from ..host.pseudonyms import Names

    target = args.names[1]
    if args.keep_names:
        raw = (written(one).decode("utf-8", "surrogateescape") for one in moments(path))
        parts: Iterator[str] = chain((COMMENT.decode(),), raw)
    else:
        parts = scrubbed(path, Names(addresses=not args.keep_addresses))
    try:
        if target == "-":
            room = Room()
            for text in parts:
                sys.stdout.buffer.write(room.take(text))
            return 0
        tape = Tape(target)
        try:
            for text in parts:
                tape.write(text)
            tape.keep()
        finally:
            tape.drop()
    except RecordingError as error:
        raise Refused(f"{path}: {error}", 3) from None
    except OSError as error:
        raise Refused(f"cannot write {target}: {error.strerror}", 4) from None
    if args.json:
        emit({"file": target, "bytes": tape.room.size})
    return 0


def _prune(folder: Folder, args: argparse.Namespace) -> int:
    if bool(args.names) == (args.keep is not None):
        raise Refused("incidents prune needs NAMEs, or --keep N", 2)
    every = folder.incidents()
    if args.names:
        paths = [named(folder, name) for name in args.names]
    else:
        paths = every[: len(every) - args.keep]
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise Refused(f"cannot delete {path}: {error.strerror}", 4) from None
    if args.json:
        emit({"deleted": [path.name.removesuffix(ENDING) for path in paths]})
    else:
        print_lines(f"{len(paths)} deleted, {len(folder.incidents())} left")
    return 0
