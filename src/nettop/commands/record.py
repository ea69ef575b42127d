"""Record this host (or a replay) into one text archive: raw bytes, later moments only what changed.

MAC and IP addresses, host names and unknown kernel command-line words are replaced consistently
unless --keep-names is given; --keep-addresses leaves only the IP addresses, from which a flow's
receive queue is computed. `.gz` is packed. `nettop replay FILE` shows it again, anywhere.
"""

from __future__ import annotations

import argparse
import signal
import sys

from . import (
    Refused,
    drop_reasons_argument,
    duration_argument,
    emit,
    json_argument,
    open_source,
    source_arguments,
)

HELP = "record the host into one file"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("file", metavar="FILE", help="where to; `-` is stdout")
    duration_argument(parser, "--seconds", "how long (5)", 5.0)
    duration_argument(parser, "--interval", "between moments (1)", 1.0)
    parser.add_argument("--comment", default="", help="the archive's first line")
    parser.add_argument("--keep-names", action="store_true", help="scrub nothing")
    parser.add_argument(
        "--keep-addresses", action="store_true", help="leave IP addresses as they are"
    )
    drop_reasons_argument(parser)
    json_argument(parser)
    source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Sample every table and save what was asked of the host."""
    from .. import collect
    from ..recording import Record, save
    from ..sampler import Sampler
    from ..scrub import scrub

    inner = open_source(args)
    comment = args.comment or getattr(inner, "comment", "") or "A host recorded by nettop."
    source = Record(inner, comment=comment)
    sampler = Sampler(source)
    wanted = {*collect.always(), *(["drop_reasons"] if args.drop_reasons else ())}
    due = source.now()
    moments, most = 0, round(args.seconds / args.interval) + 1
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        while True:
            sampler.take(wanted)
            moments += 1
            if moments == most and not inner.ends:  # a recording: to its end
                break
            # a host that answers late is given half an interval, not asked twice in a row
            due = max(due + args.interval, source.now() + args.interval / 2)
            if not source.wait(due - source.now()):
                break
    except KeyboardInterrupt:
        print("stopped: saving what was recorded", file=sys.stderr)
    archive = source.archive()
    if not sampler.last or not sampler.last.tables:
        raise Refused("nothing of this host can be read", 3)
    if not args.keep_names and not args.replay:
        archive = scrub(archive, addresses=not args.keep_addresses)
    if args.file == "-":
        sys.stdout.buffer.write(archive.encode("utf-8", "surrogateescape"))
        return 0
    try:
        save(args.file, archive)
    except OSError as error:
        raise Refused(f"cannot write {args.file}: {error.strerror}", 4) from None
    if args.json:
        size = len(archive.encode("utf-8", "surrogateescape"))
        emit({"file": args.file, "moments": moments, "bytes": size})
        return 0
    print(f"{args.file}: {moments} moments, {len(archive) / 1024:.0f} KiB", file=sys.stderr)
    return 0
