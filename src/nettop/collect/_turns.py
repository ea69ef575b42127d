"""Settings of interfaces by ethtool netlink or ioctl, and many software interfaces in turn.

A kernel before 5.7 is asked by ioctl. A container host has a thousand veth interfaces: to read the
files of one takes a quarter of a millisecond, and hardly any of them changes. An interface whose
link message (rtnetlink, without counters) is the same as before keeps its rows; at each reading a
sixteenth of them is read anyway.
"""

import errno
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import field
from functools import lru_cache
from itertools import islice
from typing import Final, TypeVar, cast

from ..host.netlink import ethtool, legacy, route
from ..host.netlink.codec import Attributes, decode, messages
from ..host.source import Source
from ..terms.dataclass import dataclass
from ._table import Memory, recall

MANY: Final = 64  # software interfaces: up to this number all are read each time
PART: Final = 16  # readings until each was read again

_Read = TypeVar("_Read")


@dataclass
class _Known:
    """By interface: its link message and what was read; the oldest reading first."""

    by_name: dict[str, tuple[bytes, object]] = field(default_factory=dict)


def by_turns(
    source: Source, memory: Memory, names: Collection[str], read: Callable[[str], _Read | None]
) -> list[_Read]:
    """`read(name)` of each interface, or its earlier result if not None; errors as `read`."""
    known = recall(memory, _Known).by_name
    software = _software(source)
    if len(software) <= MANY:
        known.clear()
        return [value for name in names if (value := read(name)) is not None]
    turn = frozenset(islice(known, -(-len(known) // PART)))
    found: list[_Read | None] = []
    for name in names:
        message, old = software.get(name), known.get(name)
        if old is not None and old[0] == message and name not in turn:
            found.append(cast("_Read", old[1]))
            continue
        value = read(name)
        known.pop(name, None)
        if message is not None:
            known[name] = message, value
        found.append(value)
    for name in known.keys() - set(names):
        del known[name]
    return [value for value in found if value is not None]


def _software(source: Source) -> Mapping[str, bytes]:
    try:
        return _messages(route.links(source))
    except (OSError, ValueError):
        return {}


@lru_cache(maxsize=1)
def _messages(reply: bytes) -> Mapping[str, bytes]:
    """The link message of each software interface; cached, since equal answers are one object."""
    table = {3: route.LINK[3], 18: route.LINK[18]}
    found = {}
    for kind, start, end in messages(reply):
        if kind == route.NEWLINK and end - start >= route.IFINFO.size:
            values = decode(reply, start + route.IFINFO.size, end, table)
            if values.get("info", {}).get("kind") and values.get("name"):
                found[values["name"]] = reply[start:end]
    return found


_ABSENT: Final = {errno.ENOENT, errno.EOPNOTSUPP}


def every(source: Source, what: str) -> Mapping[str, Attributes]:
    """The settings `what` (rings, pause …) of every device that has them, by device and attribute.

    The attributes are those of Documentation/netlink/specs/ethtool.yaml. OSError.
    """
    try:
        return ethtool.every(source, what)
    except OSError as error:
        if error.errno not in _ABSENT:
            raise
        if what in legacy.CALLS:
            return legacy.every(source, what)
        with suppress(OSError):
            if what in legacy.READ and (found := legacy.every(source, what)):
                return found
        raise


def flag(value: int | None) -> bool | None:
    """A number as a truth value; None stays None."""
    return None if value is None else bool(value)
