"""Record this host (or a replay) into one text archive.

nettop record web1.host.gz                       five seconds of this host
nettop record web1.host.gz --seconds 1m          a minute
nettop record - --host "ssh web1" > web1.host    another host, where nothing is installed
nettop record a.host.gz --to 10.0.0.2:443        with the answers for `why --to 10.0.0.2:443`
nettop record a.host.gz --peer "ssh host2"       both ends: a.host.gz and a.peer.host.gz

The archive holds the raw bytes of each sample; later samples hold only what changed. MAC and IP
addresses, host names and unknown words of the kernel command line are replaced consistently unless
--keep-names is given. --keep-addresses keeps only the IP addresses, which nettop needs to compute
the receive queue of a flow. A name that ends in `.gz` is compressed. `nettop replay FILE` shows the
recording on any host.

With --peer each sample reads both hosts, one after the other. Addresses that occur at both ends
have the same replacement in both files. The comment of each has the number of the pair, and the
offset of the other clock.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ..files import interrupt
from ..files.bounds import BOUNDS
from ..files.interrupt import STOPS, undisturbed
from ..host.archive import RecordingError, Room
from ..host.pseudonyms import Names
from ..host.record import Record
from ..host.recording import Mark, other_file
from ..host.scrub import scrub
from ..host.source import HostLostError, Source
from ..terms.errors import Refused
from . import (
    _argument,
    drop_reasons_argument,
    duration_argument,
    emit,
    json_argument,
    open_peer,
    open_source,
    peer_argument,
    source_arguments,
)

if TYPE_CHECKING:
    from ..collect.ways import Question
    from ..frame.rates import Frame


GROUP = "data"
HELP = "record the host into one file"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("file", metavar="FILE", help="output file; `-` is stdout")
    duration_argument(parser, "--seconds", "length of the recording (5)", 5.0)
    duration_argument(parser, "--interval", "time between samples (1)", 1.0)
    parser.add_argument("--comment", help="comment, the first line of the archive")
    parser.add_argument("--keep-names", action="store_true", help="replace no name and no address")
    parser.add_argument("--keep-addresses", action="store_true", help="do not replace IP addresses")
    parser.add_argument(
        "--to", metavar="ADDRESS[:PORT]", type=_argument.destination,
        help="record the kernel's answers for `why --to` this address",
    )  # fmt: skip
    drop_reasons_argument(parser)
    parser.add_argument(
        "--journey", action="store_true",
        help="record where packets wait, for `nettop journey --replay`",
    )  # fmt: skip
    json_argument(parser)
    source_arguments(parser)
    peer_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Sample every table and write every answer of the host to the archive."""
    from ..host.archive import Tape

    if args.file == "-" and args.peer is not None:
        raise Refused("--peer writes two files: give a name instead of -", 2)
    if args.file == "-" and os.isatty(1):
        raise Refused("a recording is not printed on a terminal: give a file, or a pipe after -", 2)
    inner = open_source(args)
    if not inner.ends:
        _must_fit(args)
    if args.file == "-":
        return _record(args, [(inner, _print(Room()))])[1]
    peer = open_peer(args, inner)
    sources = [inner] if peer is None else [inner, peer]
    files = [args.file, other_file(args.file)][: len(sources)]
    tapes: list[Tape] = []
    path = args.file
    try:
        for path in files:
            tapes += [Tape(path)]  # fail before the recording starts, not after an hour
        writes = [tape.write for tape in tapes]
        samples, code = _record(args, list(zip(sources, writes, strict=True)))
        for tape in tapes:
            path = tape.path
            tape.keep()
    except OSError as error:
        raise Refused(f"cannot write {path}: {error.strerror}", 4) from None
    finally:
        for tape in tapes:
            tape.drop()
    if args.json:
        document = {"file": args.file, "moments": samples, "bytes": tapes[0].room.size}
        emit(document if peer is None else {**document, "peer_file": files[1]})
        return code
    for tape in tapes:
        size = f"{tape.room.size / 1024:.0f} KiB"
        print(f"{tape.path}: {samples} samples, {size}", file=sys.stderr)
    return code


def _must_fit(args: argparse.Namespace) -> None:
    """Refuse at once if there would be more samples than a recording may hold."""
    samples, bound = round(args.seconds / args.interval) + 1, BOUNDS["moments"]
    if samples > bound.most:
        raise Refused(f"{samples:,} samples are more than {bound}, the bound of {bound.what}", 2)


def _record(args: argparse.Namespace, ends: Sequence[End]) -> tuple[int, int]:
    """Pass each completed sample of each source to its function.

    Returns the number of samples and the exit code.
    """
    from .. import collect
    from ..facts.way import Flow, questions
    from ..facts.way.trouble import asked_of_packets, processes
    from ..frame.rates import Frame

    inner = ends[0][0]
    comment = args.comment or getattr(inner, "comment", "") or "A host recorded by nettop."
    names = None if args.keep_names or args.replay else Names(addresses=not args.keep_addresses)

    recorded = Ends(ends, comment, names)
    source = recorded.source
    wanted = {*collect.always(), *(collect.deep() if args.drop_reasons else ())}
    wanted |= {"journeys"} if args.journey else set()
    due = source.now()
    flow = Flow(*args.to) if args.to else None
    frame = Frame(source.now(), source.wall(), {})
    samples, most = 0, round(args.seconds / args.interval) + 1
    for number in STOPS:
        signal.signal(number, interrupt.handler)
    try:
        while True:
            if flow is not None:
                recorded.ask(questions(flow, frame))
            elif args.drop_reasons:
                recorded.ask(asked_of_packets(frame), processes(frame))
            frame = recorded.take(wanted)
            if not frame.tables and not samples:
                raise Refused("no data of this host can be read", 3)
            samples += 1
            recorded.put()
            if samples == most and not inner.ends:  # a recording is read to its end
                return samples, 0
            # after a slow sample, wait at least half an interval
            due = max(due + args.interval, source.now() + args.interval / 2)
            if not source.wait(due - source.now()):
                return samples, 0
    except KeyboardInterrupt:
        interrupt.handled()
        if not samples:
            raise Refused("interrupted before the first sample", 3) from None
        print("interrupted: saving the samples taken so far", file=sys.stderr)
    except (HostLostError, RecordingError) as error:
        lost = isinstance(error, HostLostError)
        samples -= not lost  # a sample that did not fit was not written
        if not samples:
            raise Refused(str(error), 3) from None
        print(f"nettop: {error}: the recording ends after {samples} samples", file=sys.stderr)
        return samples, 3 if lost else 4
    with suppress(RecordingError):  # the sample that was interrupted
        recorded.put()
    return samples, 0


def _print(room: Room) -> Callable[[str], None]:
    """Write to stdout as long as there is room."""

    def write(text: str) -> None:
        sys.stdout.buffer.write(room.take(text))
        sys.stdout.buffer.flush()

    return write


ROUNDED: Final = 5e-5  # seconds: the offset is written with four digits
EXCHANGES: Final = 5  # round trips for the offset of two clocks; the shortest counts
End = tuple["Source", Callable[[str], object]]
"""A source, and the function that writes its samples."""


class Ends:
    """Records one host, or this host and the other end of its flows."""

    def __init__(self, ends: Sequence[End], comment: str, names: Names | None) -> None:
        """With `names`, a name that occurs at both ends has one replacement."""
        from ..sampling.sampler import CloseSampler, Sampler

        more = pair(ends[0][0], ends[1][0]) if len(ends) > 1 else ("",)
        words = [comment + one for one in more]
        self._tapes = [
            (Record(source, comment=text), write)
            for (source, write), text in zip(ends, words, strict=True)
        ]
        self.source: Source = self._tapes[0][0]  # this host
        self._names = names
        self._samplers = [Sampler(record) for record, _ in self._tapes]
        self._close = CloseSampler(self.source, self._samplers[1]) if len(ends) > 1 else None

    def take(self, wanted: Collection[str]) -> Frame:
        """One sample of the other host, then of this one, whose frame it gives.

        Of two hosts the sockets of both are read once more, close together.
        """
        if self._close is not None:
            self._close.take(wanted)
        return self._samplers[0].take(wanted)

    def ask(self, questions: tuple[Question, ...], processes: tuple[int, ...] = ()) -> None:
        """Record this host's answers to these questions too (`why --to`)."""
        self._samplers[0].ask(questions, processes)

    def put(self) -> None:
        """Write what was read since the last call."""
        with undisturbed():
            for record, write in self._tapes:
                text = record.taken()
                write(text if self._names is None else scrub(text, self._names))


def pair(here: Source, there: Source) -> tuple[str, str]:
    """For the comment of each end: the number of the pair, and the clock of the other host.

    The offset is within half of the round trip in which it was read.
    """
    batches, offsets = there.batches, []
    for _ in range(EXCHANGES):
        sent = time.monotonic()
        if batches is not None:
            batches.fetch(())
        error = (time.monotonic() - sent) / 2
        offsets.append((error, there.wall() - here.wall()))
    error, ahead = min(offsets)
    error += ROUNDED
    number = secrets.token_hex(4)
    own, its = Mark(number, True, ahead, error), Mark(number, False, -ahead, error)
    return own.words(), its.words()
