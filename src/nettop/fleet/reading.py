"""Read the files of a fleet: each is recognised by its content and reduced to a few KiB.

A file that cannot be read or is of another format is left out with one sentence.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ..files import bounds
from ..host.archive import RecordingError, load
from ..terms.errors import sentence
from . import recorded
from .documents import state_of
from .model import Reading

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
        return recorded.read(load(path), path, lambda name: named(name, path))
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
