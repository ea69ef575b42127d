"""Requests about processes: asked by pattern, so that a process which is new is among them.

`#` stands for each number, `!` for each process that ran: see `far.reader`.
"""

import re
from collections.abc import Collection, Iterable
from typing import Final

from .far.wire import LOOKED_INTO, MATCHES, Ask

FILE, FOLDER, LINK, NETLINK, IOCTL = b"t", b"l", b"k", b"n", b"i"
_NUMBER: Final = re.compile(rb"(?<=/)\d+(?=/|$)")
_PROCESS: Final = re.compile(rb"/proc/(\d+)/")
# what is asked of every process is asked by pattern, so that a new process is among them
_PATTERNS: Final = frozenset((
    (FILE, b"/proc/#/stat"), (FILE, b"/proc/#/comm"), (FOLDER, b"/proc/#/fd"),
    (LINK, b"/proc/#/fd/#"), (LINK, b"/proc/#/ns/net"),
))  # fmt: skip
ALL: Final = (FILE, b"/proc/#/stat")
# the processes that ran since the last batch may be the busiest, of which more is read
DETAILS: Final = (
    (FOLDER, b"/proc/!/task"), (FILE, b"/proc/!/task/#/schedstat"), (FILE, b"/proc/!/task/#/stat"),
    (FILE, b"/proc/!/status"),
)  # fmt: skip
_OF_ONE: Final = (
    (FILE, b"cgroup"), (FILE, b"status"), (FOLDER, b"task"), (FILE, b"task/#/stat"),
    (FILE, b"task/#/schedstat"), (FILE, b"task/#/syscall"), (FILE, b"io"),
)  # fmt: skip


def order(ask: Ask) -> tuple[bool, bool, bool, bool]:
    """All processes before those that ran; lists before the patterns that need them."""
    return ask != ALL, b"!" in ask[1], b"#" in ask[1], ask[0] != FOLDER


def is_pattern(ask: Ask) -> bool:
    """Whether it stands for many requests."""
    return ask[0] in (FILE, FOLDER, LINK) and (b"/#" in ask[1] or b"/!" in ask[1])


def most_changes(ask: Ask) -> int:
    """How many parts of an answer a reader sends for it at most."""
    if not is_pattern(ask):
        return 1
    each = 2 * MATCHES + 1  # all ended, as many new ones, and that there are more
    return each * LOOKED_INTO if b"/!" in ask[1] else each


def those_of(ask: Ask) -> Iterable[Ask]:
    """The patterns that a request may belong to: of all processes, of one."""
    kind, path = ask
    process = _PROCESS.match(path)
    if process is None:
        return
    yield kind, _NUMBER.sub(b"#", path)
    end = process.end() - 1
    rest = _NUMBER.sub(b"#", path[end:])
    if rest != path[end:]:
        yield kind, path[:end] + rest


def general(ask: Ask, overfull: Collection[Ask]) -> Ask:
    """The request, or the pattern by which it is asked.

    A pattern that has more matches than a reader gives (`overfull`) is asked for one process.
    """
    if ask[0] not in (FILE, FOLDER, LINK):
        return ask
    pattern = ask[0], _NUMBER.sub(b"#", ask[1])
    if pattern not in _PATTERNS:
        return ask
    if pattern in overfull and pattern[1].count(b"#") > 1 and b"#" not in ask[1]:
        return list(those_of(ask))[-1]
    return pattern


def following(ask: Ask) -> tuple[Ask, ...]:
    """The request; if it is about one process, also what is asked of such a process."""
    process = _PROCESS.match(ask[1]) if ask[0] in (FILE, FOLDER, LINK) else None
    if process is None:
        return (ask,)
    return ask, *((kind, b"/proc/%s/%s" % (process[1], name)) for kind, name in _OF_ONE)


def matches(pattern: bytes, path: bytes) -> bool:
    """Whether the path is one of those that a pattern stands for."""
    parts, given = pattern.split(b"/"), path.split(b"/")
    return len(parts) == len(given) and all(
        part == one or (part in (b"#", b"!") and one.isdigit())
        for part, one in zip(parts, given, strict=True)
    )
