"""Read the files of a fleet: each is recognised by its content and reduced to a few KiB.

A file that cannot be read or is of another format is left out with one sentence.
"""

import gzip
import os
import re
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from ..advice.rules.severity import SEVERITIES
from ..box.incident import ENTRY, decode
from ..files import bounds
from ..files.bounds import number
from ..host.archive import RecordingError, load
from ..host.recording import Replay
from ..terms.errors import sentence
from ..views.enough import shortfall
from ..views.inventory import address, inventory
from ..views.observer import Observation, Observer, watch
from .differing import Beginning, Brief, HostState, Interface, Reading

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
    host = named(cut(replay.host))
    if body is not None:
        one = decode(body)
        state = _state(next(watch(_observer(replay), WINDOW)), host, file, judged=False)
        return Reading(state, Beginning(
            host, file, one.wall, cut(one.rule), cut(one.target), cut(one.severity),
            cut(one.title),
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
        kernel=cut(values["kernel"]),
        interfaces=tuple(
            Interface(cut(one["name"]), cut(one["driver"]), cut(one["firmware"]))
            for one in values["interfaces"][:INTERFACES]
        ),
        settings={
            cut(name): cut(value) for name, value in list(values["settings"].items())[:SETTINGS]
        },
        findings=tuple(
            Brief(
                cut(one.rule), cut(one.target), one.severity, cut(one.title),
                frozenset((
                    *(wanted.setting for wanted in one.wanted),
                    *(address(item["field"], one.target) for item in one.evidence),
                )),
            )
            for one in findings[:FINDINGS]
        ),
        shortfall=lacking or "",
    )  # fmt: skip


LONGEST: Final = 200  # characters of a name, a value or a title
FINDINGS: Final = 1000  # of one host; the most severe come first
SETTINGS: Final = 20_000  # of one host
INTERFACES: Final = 1000  # of one host


def state_of(value: object, file: str, at: float, named: Callable[[str], str]) -> HostState:
    """The state; ValueError for any other JSON.

    `at` is the time of a document without one, `named` gives the host its name.
    """
    if not isinstance(value, Mapping) or not isinstance(value.get("findings"), list):
        message = "neither a recording nor a document of `nettop advise --json`"
        raise ValueError(message)  # noqa: TRY004 - as for any other text
    host = cut(value.get("host"))
    system = _mapping(value.get("system"))
    when = system.get("at")
    own = [
        one for one in map(_mapping, value["findings"])
        if "host" not in one or cut(one["host"]) == host
    ]  # fmt: skip
    return HostState(
        host=named(host),
        file=file,
        at=float(when) if isinstance(when, int | float) and number(when) else at,
        kernel=cut(system.get("kernel")),
        interfaces=tuple(islice(_interfaces(system.get("interfaces")), INTERFACES)),
        settings=dict(islice(_settings(system.get("settings")), SETTINGS)),
        findings=tuple(islice(_findings(own), FINDINGS)),
        shortfall=cut(value.get("shortfall")),
    )


def cut(value: object) -> str:
    """A text of bounded length; empty for anything else. Equal texts share their memory."""
    return sys.intern(value[:LONGEST]) if isinstance(value, str) else ""


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _rows(value: object) -> Iterator[Mapping[str, object]]:
    return map(_mapping, value if isinstance(value, list) else ())


def _interfaces(value: object) -> Iterator[Interface]:
    for one in _rows(value):
        if name := cut(one.get("name")):
            yield Interface(name, cut(one.get("driver")), cut(one.get("firmware")))


def _settings(value: object) -> Iterator[tuple[str, str]]:
    for name, setting in _mapping(value).items():
        if isinstance(setting, str):
            yield cut(name), cut(setting)


def _findings(rows: list[Mapping[str, object]]) -> Iterator[Brief]:
    for one in rows:
        rule, target, severity = cut(one.get("rule")), cut(one.get("target")), one.get("severity")
        if not rule or severity not in SEVERITIES:
            continue
        changes = [cut(change.get("setting")) for change in _rows(one.get("changes"))]
        read = [address(cut(e.get("field")), target) for e in _rows(one.get("evidence"))]
        touches = frozenset(sys.intern(name) for name in (*changes, *read) if name)
        yield Brief(rule, target, cut(severity), cut(one.get("title")), touches)
