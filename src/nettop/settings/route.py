"""Metrics of a route of the main table: `route.initcwnd@default`, `route.mtu@10.0.0.0/8`.

The complete route is read, and sent back with one metric changed (RTA_METRICS, ip-route(8)), so
that gateways, sources and next hops stay as they are. `none` is unset; `default6` is IPv6's
default.
"""

import os
import socket
import struct
from collections.abc import Iterator

from ..host.netlink.codec import NESTED, attribute, attributes, messages
from ..host.netlink.route import NEWROUTE, names, routes
from ..host.source import Source
from ..terms.dataclass import dataclass
from . import Address, Command, Host, Limits
from ._text import number, switch

RISK = "none"
NETNS = True
KEEP = "unit"
# RTAX_* of include/uapi/linux/rtnetlink.h
_NUMBERS = {
    "mtu": 2, "window": 3, "cwnd": 7, "advmss": 8, "initcwnd": 11, "rto_min": 13,
    "initrwnd": 14, "quickack": 15, "congctl": 16,
}  # fmt: skip
NAMES = tuple(_NUMBERS)
SIDE = {"window": "rx", "initrwnd": "rx", "quickack": "rx", "cwnd": "tx", "initcwnd": "tx",
        "rto_min": "tx", "congctl": "tx"}  # fmt: skip
_MAIN, _UNICAST, _ONLINK = 254, 1, 4
_DST, _OIF, _PRIORITY, _METRICS, _CACHE = 1, 4, 6, 8, 12
_GATEWAY, _SOURCE, _TABLE, _PREFERENCE = 5, 7, 15, 20
# attributes that `commands` can express; a route with others (next hops, encapsulation) is read by
# `ip route` when the command runs
_SAID = frozenset({_DST, _OIF, _GATEWAY, _PRIORITY, _SOURCE, _METRICS, _CACHE, _TABLE, _PREFERENCE})
_PROTOCOLS = {2: "kernel", 3: "boot", 4: "static", 9: "ra", 16: "dhcp"}
_SCOPES = {200: "site", 253: "link", 254: "host", 255: "nowhere"}
_EXPIRES = 23
_LOCK = 1  # RTAX_LOCK: a bit for each metric
_REPLACE = 0x100 | 0x400  # NLM_F_REPLACE | NLM_F_CREATE


@dataclass(frozen=True, slots=True)
class Route:
    """A route as in the kernel's message."""

    head: bytes
    parts: tuple[tuple[int, bytes], ...]

    def get(self, attribute: int) -> bytes:
        """An attribute's bytes; empty when it has none."""
        return next((raw for number, raw in self.parts if number == attribute), b"")

    def metrics(self) -> dict[int, bytes]:
        """The metrics by number."""
        raw = self.get(_METRICS)
        return {n: raw[a:e] for n, a, e in attributes(raw, 0, len(raw))}

    def word(self, attribute: int, absent: int = 0) -> int:
        """A 32-bit attribute."""
        raw = self.get(attribute)
        return int(struct.unpack("=I", raw)[0]) if len(raw) == 4 else absent


def packed(text: str) -> tuple[int, bytes]:
    """Family and bytes of an IP address, its scope (`%eth0`) dropped; ValueError for none."""
    text = text.partition("%")[0]
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    try:
        raw = socket.inet_pton(family, text)
    except (OSError, ValueError):
        raise ValueError(f"{text!r} is not an IP address") from None
    if raw[:12] == b"\0" * 10 + b"\xff\xff":
        return socket.AF_INET, raw[12:]
    return family, raw


def _prefix(address: Address) -> tuple[int, bytes, int]:
    """Family, destination and its length."""
    target = address.target
    if target in ("default", "default6"):
        return (socket.AF_INET6 if target == "default6" else socket.AF_INET), b"", 0
    text, _, length = target.partition("/")
    family, raw = 0, b""
    try:
        family, raw = packed(text)
        bits = int(length) if length else len(raw) * 8
    except ValueError:
        bits = -1
    if not 0 <= bits <= 8 * len(raw):
        raise LookupError(f"{target!r} is not a destination such as 10.0.0.0/8")
    return family, raw, bits


def find(source: Source, address: Address) -> Route:
    """The route of the main table with the lowest metric; FileNotFoundError when there is none."""
    family, destination, length = _prefix(address)
    found = [
        one for one in _main(source, family)
        if one.head[1] == length and one.get(_DST) == destination
    ]  # fmt: skip
    if not found:
        raise FileNotFoundError(2, f"the main table has no route to {address.target}")
    return min(found, key=lambda one: one.word(_PRIORITY))


def _main(source: Source, family: int) -> Iterator[Route]:
    """The unicast routes of the main table."""
    reply = routes(source, family)
    for kind, start, end in messages(reply):
        head = reply[start : start + 12]
        if kind == NEWROUTE and head[4] == _MAIN and head[7] == _UNICAST:
            parts = attributes(reply, start + 12, end)
            yield Route(head, tuple((number, reply[at:to]) for number, at, to in parts))


def with_mtu(source: Source, nic: str) -> Iterator[str]:
    """The `route.mtu` settings that the kernel changes with the MTU of that interface.

    Those of IPv6 routes (rt6_mtu_change_route() in net/ipv6/route.c); of several to one
    destination the first alone has an address.
    """
    try:
        indices = {index for index, name in names(source).items() if name == nic}
        found = [
            one for one in _main(source, socket.AF_INET6)
            if one.word(_OIF) in indices and _NUMBERS["mtu"] in one.metrics()
        ]  # fmt: skip
    except (OSError, ValueError):
        return
    for raw, length in dict.fromkeys((one.get(_DST), one.head[1]) for one in found):
        target = f"{socket.inet_ntop(socket.AF_INET6, raw)}/{length}" if raw else "default6"
        yield f"route.mtu@{target}"


def read(source: Source, address: Address) -> str:
    """The metric, or `none`."""
    raw = find(source, address).metrics().get(_NUMBERS[address.name])
    if raw is None:
        return "none"
    if address.name == "congctl":
        return raw.rstrip(b"\0").decode("ascii", "replace")
    value = _u32(raw)
    if address.name == "quickack":
        return "on" if value else "off"
    return str(value)


def write(host: Host, address: Address, value: str) -> None:
    """Send the route back with the metric changed."""
    route = find(host.source, address)
    metrics = route.metrics()
    number_ = _NUMBERS[address.name]
    metrics.pop(number_, None)
    locked = _u32(metrics.pop(_LOCK, bytes(4))) & ~(1 << number_)
    if value != "none":
        raw = struct.pack("=I", _number(value)) if address.name != "congctl" else b""
        metrics[number_] = raw or value.encode() + b"\0"
        locked |= (address.name == "rto_min") << number_  # TCP uses it only if it is locked
    if locked:
        metrics[_LOCK] = struct.pack("=I", locked)
    inner = b"".join(attribute(n, raw) for n, raw in sorted(metrics.items()))
    flags = struct.unpack_from("=I", route.head, 8)[0] & _ONLINK  # the other flags are states
    body = route.head[:8] + struct.pack("=I", flags)
    for number_, raw in route.parts:
        if number_ not in (_METRICS, _CACHE):
            body += attribute(number_, raw)
    if inner:
        body += attribute(_METRICS | NESTED, inner)
    left = _expires(route)
    if left:
        body += attribute(_EXPIRES, struct.pack("=I", left))
    host.change("route", NEWROUTE, body, _REPLACE)


def _expires(route: Route) -> int:
    """Seconds that a router's announcement is still valid; 0: for ever (struct rta_cacheinfo)."""
    cache = route.get(_CACHE)
    ticks = struct.unpack_from("=i", cache, 8)[0] if len(cache) >= 12 else 0
    return max(0, int(ticks) // os.sysconf("SC_CLK_TCK"))


def _number(value: str) -> int:
    return {"on": 1, "off": 0}[value] if value in ("on", "off") else int(value)


def validate(source: Source, address: Address, value: str) -> None:  # noqa: ARG001
    """ValueError for a number above 32 bits."""
    if address.name != "congctl" and value != "none" and not 0 <= _number(value) < 1 << 32:
        raise ValueError(f"{address} is a number below 2^32, not {value}")


def _ip(address: Address) -> tuple[str, ...]:
    return ("ip", *(["-6"] if _prefix(address)[0] == socket.AF_INET6 else []), "route")


def _destination(address: Address) -> str:
    return "default" if address.target == "default6" else address.target


def commands(source: Source, address: Address, value: str) -> tuple[Command, ...]:
    """`ip route change` with all attributes of the route: it removes those that are not given."""
    try:
        route = find(source, address)
    except OSError:
        route = Route(bytes(12), ())
    metrics = route.metrics()
    known = {n for name, n in _NUMBERS.items() if n in metrics and name != "congctl"}
    locked = _u32(metrics.pop(_LOCK, bytes(4)))
    own = _NUMBERS[address.name]
    if _expires(route) or set(dict(route.parts)) - _SAID or set(metrics) - known - {own}:
        return portable(source, address, value)
    words = [*_ip(address), "change", _destination(address), *_way(source, route)]
    values = {
        name: str(_u32(metrics[n])) + ("ms" if name == "rto_min" else "")
        for name, n in _NUMBERS.items() if n in known - {own}
    }  # fmt: skip
    values |= {} if value == "none" else {address.name: _word(address, value)}
    for name, word in values.items():
        locks = locked >> _NUMBERS[name] & 1 and name not in ("rto_min", address.name)
        words += [name, *(["lock"] if locks else []), word]
    return (Command(tuple(words)),)


def _word(address: Address, value: str) -> str:
    if address.name == "quickack":
        return str(_number(value))
    return value + ("ms" if address.name == "rto_min" else "")


def _u32(raw: bytes) -> int:
    (number,) = struct.unpack("=I", raw[:4])
    return int(number)


def _way(source: Source, route: Route) -> list[str]:
    """How it leaves, who made it, how far it reaches."""
    words = []
    for lead, number_ in (("via", _GATEWAY), ("src", _SOURCE)):
        raw = route.get(number_)
        if raw:
            family = socket.AF_INET6 if len(raw) == 16 else socket.AF_INET
            words += [lead, socket.inet_ntop(family, raw)]
    nic = names(source).get(route.word(_OIF))
    words += ["dev", nic] if nic else []
    priority = route.word(_PRIORITY)
    words += ["metric", str(priority)] if priority else []
    tos, protocol, scope = route.head[3], route.head[5], route.head[6]
    words += ["tos", str(tos)] if tos else []
    words += ["proto", _PROTOCOLS.get(protocol, str(protocol))] if protocol else []
    words += ["scope", _SCOPES.get(scope, str(scope))] if scope else []
    return [*words, *(["onlink"] if struct.unpack_from("=I", route.head, 8)[0] & _ONLINK else [])]


# The route as that host has it, with one word replaced. `linkdown` and the like are states.
_THERE = """read -r route << END
$(ip "$1" -oneline route show exact "$2" table main)
END
family=$1 name=$3 value=$4
set -f
set -- $route
to=$1 rest=
while shift && [ $# -gt 0 ]; do
  case $1 in
    "$name") shift; [ "$1" != lock ] || shift ;;
    rto_min) shift; [ "$1" != lock ] || shift; rest="$rest rto_min $1" ;;
    expires) shift; rest="$rest expires ${1%sec}" ;;
    linkdown) ;;
    dead) ;;
    "\\\\") ;;
    *) rest="$rest $1" ;;
  esac
done
ip "$family" route change "$to" ${value:+"$name" "$value"} $rest"""


def portable(source: Source, address: Address, value: str) -> tuple[Command, ...]:  # noqa: ARG001
    """The command for another host, where the gateway differs."""
    family = "-6" if _prefix(address)[0] == socket.AF_INET6 else "-4"
    word = "" if value == "none" else _word(address, value)
    words = (family, _destination(address), address.name, word)
    return (Command(("sh", "-c", _THERE, "sh", *words)),)


def shows(source: Source, address: Address) -> tuple[str, ...]:  # noqa: ARG001
    """`ip route show`."""
    return (*_ip(address), "show", _destination(address))


def normal(address: Address, value: str) -> str:
    """The canonical number, on/off, name, or `none`; ValueError for anything else."""
    word = value.strip()
    if word == "none":
        return word
    if address.name == "quickack":
        return switch(word)
    if address.name == "congctl":
        if not word.replace("_", "").isalnum() or len(word) > 15:
            raise ValueError(f"{value!r} is not a congestion control")
        return word
    return number(word)


def identity(source: Source, address: Address) -> str:
    """Metric, next hop and interface of the route: another route to the target differs in one."""
    route = find(source, address)
    return f"{route.word(_PRIORITY)} {route.get(_GATEWAY).hex()} {route.word(_OIF)}"


def limits(source: Source, address: Address) -> Limits:
    """The range of the kernel's field."""
    read(source, address)
    if address.name == "quickack":
        return Limits(default="none", choices=("on", "off", "none"))
    return Limits(default="none")
