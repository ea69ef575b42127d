"""Which interfaces carry this SSH session: changes there must never cut its user off."""

from __future__ import annotations

import struct

from ..host.netlink.codec import attribute, attributes, messages
from ..host.netlink.route import names
from ..host.request import Request
from ..host.source import Source
from ..settings.route import packed

_GETROUTE = 26
_DST, _OIF = 1, 4
_DEEP = 8  # interfaces stacked on interfaces: VLAN on bond on two ports is three


def carriers(source: Source, address: str | None) -> tuple[str, ...]:
    """The interface that the route to `address` takes, and every port below it.

    Nothing when there is no session, or it comes over loopback; when the kernel will not say,
    nothing either: then only the risk of a setting itself counts.
    """
    if not address:
        return ()
    try:
        name = _leaves_by(source, address)
    except (OSError, ValueError):
        return ()
    found: list[str] = []
    level = [name] if name and name != "lo" else []
    for _ in range(_DEEP):
        found += [one for one in level if one not in found]
        level = [port for one in level for port in _below(source, one)]
    return tuple(found)


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
        listed = source.listing(f"/sys/class/net/{name}")
    except OSError:
        return []
    return [entry.removeprefix("lower_") for entry in listed if entry.startswith("lower_")]
