"""How failed calls are told: names of calls and errors, addresses, and moments."""

from __future__ import annotations

import errno
import socket
import struct
from collections import Counter as Sums
from typing import Final
from urllib.parse import quote

from . import answered, counting
from .system_calls import SYSTEM_CALLS

ATTEMPT: Final = "connection"
CALLS: Final = (ATTEMPT, *SYSTEM_CALLS, answered.CALL)
GIVEN_UP: Final = 4096  # the program closed the socket before the answer
OPENED: Final = 0
ERRORS: Final = {
    **errno.errorcode, errno.EOPNOTSUPP: "EOPNOTSUPP", OPENED: "0", GIVEN_UP: "GIVEN_UP",
}  # fmt: skip
_PLAIN: Final = "/=@,."  # in the end of a call's name, where spaces and semicolons are quoted
_WHAT: Final = struct.Struct("=HH")  # of a moment: call and error


def error_name(code: int) -> str:
    """As in errno(3); the number where it has none."""
    return ERRORS.get(code) or str(code)


def suffix(argument: str, by: str) -> str:
    """The end of a call's name, without spaces."""
    return f";{quote(argument, safe=_PLAIN)};{quote(by, safe=_PLAIN)}" if argument or by else ""


def once(moments: Sums[counting.Moment]) -> Sums[counting.Moment]:
    """Without attempts that are calls of connect(2) too, which fail in the same part of time."""
    attempts = dict[tuple[int, int], list[counting.Moment]]()
    for one in moments:
        number, error = _WHAT.unpack(one.what)
        if number == 0:
            attempts.setdefault((one.part, error), []).append(one)
    for one, events in [*moments.items()]:
        number, error = _WHAT.unpack(one.what)
        ended = attempts.get((one.part, error), [])
        left = events if number == 1 else 0
        for twice in ended:
            same = min(left, moments[twice])
            moments[twice] -= same
            left -= same
    return moments


def failure(what: bytes) -> str:
    """`CALL/ERROR` of a moment."""
    number, error = _WHAT.unpack(what)
    return f"{CALLS[number]}/{error_name(error)}"


def address_shown(family: int, raw: bytes) -> str:
    """Of IP, or `unix`; empty for other families."""
    if family == socket.AF_INET:
        return socket.inet_ntop(socket.AF_INET, raw[:4])
    if family == socket.AF_INET6:
        return socket.inet_ntop(socket.AF_INET6, raw)
    return "unix" if family == socket.AF_UNIX else ""
