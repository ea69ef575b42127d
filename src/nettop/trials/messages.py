"""Validation of the messages of helper programs: one JSON object per line.

The other end is another host, so its data is checked before use: numbers are finite and within
bounds, and a message has exactly the fields of one of the forms of its program. `far/schema.py`
holds the types and meaning of the fields.
"""

import json
import math
from collections.abc import Callable, Mapping
from typing import Final, TypeGuard, cast

from .far.schema import Message

Check = Callable[[object], bool]

LARGEST: Final = 1 << 64  # no counter of the kernel exceeds it


def parsed(text: str | bytes) -> object:
    """The JSON value; ValueError if invalid, too deep, or with a number beyond `LARGEST`."""
    try:
        return json.loads(
            text, parse_float=_number, parse_int=_integer, parse_constant=_no_constant
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or abs(value) > LARGEST:
        raise ValueError(f"{text[:20]} is out of range")
    return value


def _integer(text: str) -> int:
    if len(text) > 21 or abs(int(text)) > LARGEST:
        raise ValueError(f"{text[:20]} is out of range")
    return int(text)


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number")


def _text(value: object) -> bool:
    return isinstance(value, str)


def _whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _count(value: object) -> TypeGuard[int]:
    return _whole(value) and value >= 0


def _real(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _port(value: object) -> bool:
    return _count(value) and value < 1 << 16


def _list(check: Check, length: int | None = None) -> Check:
    return lambda value: (
        isinstance(value, list)
        and (length is None or len(value) == length)
        and all(map(check, value))
    )


def _table(check: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _cores(value: object) -> bool:
    row = _list(_count, 8)
    return isinstance(value, dict) and all(
        cpu.isascii() and cpu.isdigit() and len(cpu) < 8 and row(ticks)
        for cpu, ticks in value.items()
    )


_LINK: Final[Mapping[str, Check]] = {
    "mtu": _count, "speed": _count, "driver": _text, "subsystem": _text,
}  # fmt: skip


def _link(value: object) -> bool:
    return isinstance(value, dict) and all(key in _LINK and _LINK[key](value[key]) for key in value)


_STATE: Final = frozenset({"rtt", "cwnd", "mss", "retrans"})


def _state(value: object) -> bool:
    return (
        isinstance(value, dict)
        and all(map(_count, value.values()))
        and (not value or value.keys() >= _STATE)
    )


_PAIRS: Final = _list(_list(_whole, 2))
_FIELDS: Final[Mapping[str, Check]] = {  # the others are counts
    **dict.fromkeys("absent capturing err error host kernel out result running".split(), _text),
    **dict.fromkeys("at busy copying lasted seconds start".split(), _real),
    **dict.fromkeys("exit retransmits".split(), _whole),
    "port": _port, "states": _list(_state), "stamped": _list(_real),
    "gaps": _PAIRS, "histogram": _PAIRS,
    "links": _table(_link), "cores": _cores, "interfaces": _table(_list(_count, 10)),
    "softnet": _list(_list(_count, 3)), "totals": _table(_whole), "interrupts": _list(_count),
}  # fmt: skip
_FAILURES: Final = ("error", "absent")
_FORMS: Final[Mapping[str, tuple[str, ...]]] = {  # by program: the fields of each message
    "udp_source": ("point size sent lasted busy",),
    "bulk": ("port", "start seconds received retransmits states", "zero_copied copied",
             "total poured lasted"),
    "capture": ("capturing", "packets bytes lasted seen dropped frozen"),
    "program": ("out", "err", "port pid", "exit"),
    "neighbour": ("walking",),
    "pktgen": ("running", "result"),
    "sample": ("links kernel host pid", "at cores interfaces softnet totals interrupts"),
    "udp_latency": ("port", "size requests lost histogram stamped", "copying"),
    "udp_sink": ("port room", "point received reordered lasted gaps busy"),
}  # fmt: skip


def message(script: str, line: bytes) -> Message | None:
    """The message in a line of the program `far/SCRIPT.py`; None if the line is not a message.

    A login shell may print other lines first. ValueError, one sentence: the line begins like a
    message, but has none of the forms of the program.
    """
    if not line.startswith(b'{"'):
        return None
    value = parsed(line)
    for form in (*_FORMS[script], *_FAILURES):
        if (
            isinstance(value, dict)
            and value.keys() == {*form.split()}
            and all(_FIELDS.get(key, _count)(value[key]) for key in value)
        ):
            return cast("Message", value)
    raise ValueError("it is not a message of this program")
