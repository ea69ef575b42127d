"""The interfaces that carry this SSH session: changes there must not cut off its user."""

import errno
import struct

from ..host.netlink.codec import Request, attribute, attributes, messages
from ..host.netlink.route import names
from ..host.source import Source
from ..settings.route import packed
from ..terms.errors import absent

_GETROUTE = 26
_DST, _OIF = 1, 4
_NO_ROUTE = {errno.ENETUNREACH, errno.EHOSTUNREACH}
_DEEP = 8  # levels of stacked interfaces; a VLAN on a bond of two ports has three


def carriers(source: Source, address: str | None) -> tuple[str, ...]:
    """The interface of the route to `address`, and every interface below it.

    Empty without a session, for one over loopback, and if there is no route; then only the risk of
    the setting itself counts. OSError if the route cannot be read.
    """
    if not address:
        return ()
    try:
        name = _leaves_by(source, address)
    except ValueError:
        return ()
    except OSError as error:
        if absent(error) or error.errno in _NO_ROUTE:
            return ()
        raise
    interfaces: list[str] = []
    level = [name] if name and name != "lo" else []
    for _ in range(_DEEP):
        interfaces += [upper for upper in level if upper not in interfaces]
        level = [lower for upper in level for lower in _below(source, upper)]
    return tuple(interfaces)


def _leaves_by(source: Source, address: str) -> str | None:
    family, raw = packed(address)
    body = struct.pack("=BBBBBBBBI", family, len(raw) * 8, 0, 0, 0, 0, 0, 0, 0)
    request = Request("route", _GETROUTE, body + attribute(_DST, raw), f"route/to/{address}")
    reply = source.netlink(request)
    for _kind, start, end in messages(reply):
        for number, a, e in attributes(reply, start + 12, end):
            if number == _OIF:
                return names(source).get(struct.unpack("=I", reply[a:e])[0])
    return None


def _below(source: Source, name: str) -> list[str]:
    try:
        entries = source.listing(f"/sys/class/net/{name}")
    except OSError as error:
        if absent(error):
            return []
        raise
    return [entry.removeprefix("lower_") for entry in entries if entry.startswith("lower_")]
