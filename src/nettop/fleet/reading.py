"""Read the files of a fleet: each is recognised by its content and reduced to a few KiB.

A file that cannot be read or is of another format is left out with one sentence.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ..box.incident import ENTRY, decode
from ..files import bounds
from ..host.archive import RecordingError, load
from ..host.recording import Replay
from ..terms.errors import sentence
from ..views.enough import shortfall
from ..views.inventory import address, inventory
from ..views.observer import Observation, Observer, watch
from .documents import FINDINGS, INTERFACES, SETTINGS, state_of, text
from .model import Beginning, Brief, HostState, Interface, Reading

_SPACE: Final = b" \t\r\n\xef\xbb\xbf"
_NAME: Final = re.compile(r"(\.host)?(\.json)?(\.gz)?$")
# names that say nothing: of scrubbed recordings, of recordings without a name, of clones
_NAMELESS: Final = frozenset({"", "host", "recording", "localhost", "localhost.localdomain"})
LeaveOut = Callable[[str, str], None]  # a file and why it is left out


def readings(paths: Sequence[str], leave_out: LeaveOut) -> Iterator[Reading]:
    """What each file has, one at a time; the files of a folder in the order of their names."""
    for path in files(paths, leave_out):
        try:
            yield read(path)
        except (OSError, ValueError) as error:
            message = error.strerror if isinstance(error, OSError) else None
            leave_out(path, message or sentence(error))


def files(paths: Sequence[str], leave_out: LeaveOut) -> Iterator[str]:
    """The files among the paths and in the folders among them, without hidden ones."""
    most = bounds.BOUNDS["fleet-files"]
    count = 0
    for path in paths:
        for name in _below(path, leave_out) if os.path.isdir(path) else (path,):
            count += 1
            if count > most.most:
                leave_out(name, f"more than {most}, the bound of {most.what}; the rest is unread")
                return
            yield name


def _below(folder: str, leave_out: LeaveOut) -> Iterator[str]:
    def fault(error: OSError) -> None:
        leave_out(str(error.filename or folder), error.strerror or str(error))

    count = 0
    for here, inner, names in os.walk(folder, onerror=fault):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                count += 1
                yield os.path.join(here, name)
    if not count and os.access(folder, os.R_OK | os.X_OK):
        leave_out(folder, "no file in it")


def read(path: str) -> Reading:
    """What a file has; OSError, or ValueError with one sentence."""
    text = _json(path)
    if text is None:
        return recorded(load(path), path, lambda name: named(name, path))
    try:
        value = bounds.document(text)
    except UnicodeDecodeError:
        raise ValueError("a JSON document that is not UTF-8") from None
    return Reading(state_of(value, path, os.stat(path).st_mtime, lambda name: named(name, path)))


def named(host: str, path: str) -> str:
    """The name of the host; that of the file if the host's own is a pseudonym or says nothing."""
    if host not in _NAMELESS:
        return host
    return _NAME.sub("", os.path.basename(path)) or host


def _json(path: str) -> bytes | None:
    """The text of a JSON file, which may be packed by gzip; None for any other file."""
    bound = bounds.BOUNDS["fleet-document"]
    with open(bounds.opened(path), "rb") as raw:
        packed = raw.peek(2)[:2] == b"\x1f\x8b"
        file = gzip.GzipFile(fileobj=raw) if packed else raw
        try:
            first = file.read(bounds.PIECE)
            if not first:
                raise ValueError("the file is empty")
            if not first.lstrip(_SPACE).startswith(b"{"):
                return None
            text = first + file.read(bound.most + 1 - len(first))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise RecordingError(f"the file is cut or damaged: {error}") from None
    if len(text) > bound.most:
        raise bounds.exceeded("fleet-document", path)
    return text


LAST: Final = 60.0  # seconds at the end of a recording that it is judged by
WINDOW: Final = 5.0  # seconds that the `hold` of a rule is limited to, as in `nettop advise`


def recorded(archive: bytes, file: str, named: Callable[[str], str]) -> Reading:
    """What a recording or an incident has; RecordingError for another format.

    An incident says what began. It is not judged again: findings of another moment than that of the
    host's other files would look like changes.
    """
    replay = Replay(archive)
    body = replay.body(ENTRY)
    host = named(text(replay.host))
    if body is not None:
        one = decode(body)
        state = _state(next(watch(_observer(replay), WINDOW)), host, file, judged=False)
        return Reading(state, Beginning(
            host, file, one.wall, text(one.rule), text(one.target), text(one.severity),
            text(one.title),
        ))  # fmt: skip
    replay.skip(replay.moments[-1].at - LAST)
    last = deque(watch(_observer(replay), LAST), maxlen=1).pop()
    return Reading(_state(last, host, file, judged=True))


def _observer(replay: Replay) -> Observer:
    return Observer(replay, window=WINDOW)


def _state(last: Observation, host: str, file: str, *, judged: bool) -> HostState:
    values = inventory(last.facts, last.frame.wall)
    if not last.frame.tables:
        raise ValueError("no data of this host can be read")
    lacking = shortfall(last.frame, live=False) if judged else "an incident says what began only"
    findings = last.judgement.findings if judged else ()
    return HostState(
        host=host,
        file=file,
        at=values["at"],
        kernel=text(values["kernel"]),
        interfaces=tuple(
            Interface(text(one["name"]), text(one["driver"]), text(one["firmware"]))
            for one in values["interfaces"][:INTERFACES]
        ),
        settings={
            text(name): text(value) for name, value in list(values["settings"].items())[:SETTINGS]
        },
        findings=tuple(
            Brief(
                text(one.rule), text(one.target), one.severity, text(one.title),
                frozenset((
                    *(wanted.setting for wanted in one.wanted),
                    *(address(item["field"], one.target) for item in one.evidence),
                )),
            )
            for one in findings[:FINDINGS]
        ),
        shortfall=lacking or "",
    )  # fmt: skip
