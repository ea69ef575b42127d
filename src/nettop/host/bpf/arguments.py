"""What a call that fails was given, beside an address: the argument that often decides.

    socket      family, type and protocol
    setsockopt  the option, and the name of TCP_CONGESTION and TCP_ULP
    sendto      MSG_FASTOPEN
    write …     the size where it was too large (in steps of `STEP`), of several parts the first;
                and the protocol of the socket, unless it is UDP
    bind …      the protocol of the socket where the port is in use, as of listen
    sendmsg     the first control message where one was refused
    any         of a TCP connection that timed out, its TCP_USER_TIMEOUT
    any         where there is no device, the index of that of the socket, as `ifindex=7`
    connect     where no port is free, the socket's own range of them
    any         of a Unix datagram socket the reader's inode, as `peer=8213`
    connect     the end of the path of a Unix socket
    poll        the number of descriptors, as `nfds=100`

One number of eight bytes, which `words` reads; a name lies where the address is, which these calls
do not have. Where this interpreter has no name for a number, the number is told.
"""

import errno
import socket
import struct
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from enum import IntEnum
from typing import Final, TypeAlias

from . import DEVICE, PEER, RANGE, SIZE
from . import assembler as a
from .btf import Types
from .counting import copied, read

STEP: Final = 128  # bytes: sizes are counted in steps, so that a program has few keys
NAME: Final = 16  # bytes: TCP_CA_NAME_MAX, TCP_ULP_NAME_MAX
_NAMED: Final = ((6, 13), (6, 31))  # level and number: TCP_CONGESTION, TCP_ULP
_FASTOPEN: Final = 0x20000000  # MSG_FASTOPEN
_TYPE: Final = 0xF  # of the type of a socket; flags lie above
_PREFIXES: Final = {0: "IP_", 1: "SO_", 6: "TCP_", 17: "UDP_", 41: "IPV6_"}  # options, by level
_MORE: Final = {(1, 1): "SCM_RIGHTS", (1, 2): "SCM_CREDENTIALS"}  # control messages
_OPTIONS: Final = {(0, 2): "IP_TTL", (6, 13): "TCP_CONGESTION", (6, 31): "TCP_ULP",
                   (17, 103): "UDP_SEGMENT", (1, 25): "SO_BINDTODEVICE",
                   (1, 32): "SO_SNDBUFFORCE", (1, 33): "SO_RCVBUFFORCE", (1, 46): "SO_BUSY_POLL",
                   (1, 61): "SO_TXTIME", (1, 69): "SO_PREFER_BUSY_POLL",
                   (1, 70): "SO_BUSY_POLL_BUDGET", (6, 19): "TCP_REPAIR",
                   (0, 39): "IP_ADD_SOURCE_MEMBERSHIP", (0, 41): "IP_MSFILTER",
                   (0, 42): "MCAST_JOIN_GROUP", (0, 46): "MCAST_JOIN_SOURCE_GROUP",
                   (0, 48): "MCAST_MSFILTER"}  # fmt: skip
POLLS: Final = {"poll": (7, -1), "ppoll": (271, 73)}  # as of `names.SYSTEM_CALLS`
MESSAGES: Final = ("sendmsg", "sendmmsg")  # their address and control message lie in a structure
_CONTROL: Final = 32  # bytes from the begin of struct user_msghdr to msg_control
_GONE: Final = (errno.ENODEV, errno.ENXIO)  # of a socket that is bound to a device
_PARTS: Final = 16  # … to msg_iov
Jumps: TypeAlias = Callable[[str, Collection[str]], a.Parts]


def _user(to: int, size: int, offset: int = 0, base: int = a.R7) -> a.Parts:
    """Copy `size` bytes at `base` + `offset` of the program's memory to the stack."""
    return copied(to, base, offset, size, a.READ_USER)


def option(places: Mapping[int, int], argument: int, name: int) -> a.Parts:
    """Store the option, and its name at `name`; R6 has the registers with `places` of arguments."""
    return (
        *read(a.R7, a.R6, places[1]), *a.store(a.R10, argument, a.R7, 2),
        *read(a.R7, a.R6, places[2]), *a.store(a.R10, argument + 2, a.R7, 2),
        *read(a.R7, a.R6, places[4]), *a.store(a.R10, argument + 4, a.R7, 4),
        *a.load(a.R7, a.R10, argument, 4),
        *(part for level, number in _NAMED
          for part in a.when(a.R7, "==", level | number << 16, "named")),
        *a.go("count"),
        "named", *read(a.R7, a.R6, places[3]),
        *_user(name, NAME), *a.go("count"),
    )  # fmt: skip


def kind(places: Mapping[int, int], argument: int) -> a.Parts:
    """Store family, type and protocol of a socket."""
    return tuple(
        part for at, (to, size) in enumerate(((0, 2), (2, 2), (4, 4)))
        for part in (*read(a.R7, a.R6, places[at]), *a.store(a.R10, argument + to, a.R7, size))
    )  # fmt: skip


def descriptors(places: Mapping[int, int], argument: int) -> a.Parts:
    """Store how many descriptors poll(2) waits for."""
    return (*read(a.R7, a.R6, places[1]), *a.store(a.R10, argument, a.R7, 4))


def flags(places: Mapping[int, int], argument: int) -> a.Parts:
    """Store the flags of a datagram; R8 is the error."""
    return (
        *a.when(a.R8, "!=", errno.EOPNOTSUPP, "told"),
        *read(a.R7, a.R6, places[3]), *a.store(a.R10, argument, a.R7, 4), "told",
    )  # fmt: skip


def size(
    places: Mapping[int, int], argument: int, error: int, scratch: int, jumps: Jumps
) -> a.Parts:  # fmt: skip
    """Store the size of a message; `error` and `scratch` (16 bytes) lie on the stack.

    `jumps(label, calls)` goes to a label if the call is one of these.
    """
    return (
        *a.load(a.R7, a.R10, error, 2), *a.when(a.R7, "!=", errno.EMSGSIZE, "sized"),
        *read(a.R7, a.R6, places[1]),
        *jumps("parts", ("writev",)), *jumps("message parts", MESSAGES),
        *read(a.R7, a.R6, places[2]), *a.go("size"),
        "message parts", *_user(scratch, 8, _PARTS), *a.load(a.R7, a.R10, scratch),
        "parts", *a.put(a.R10, scratch + 8, 0), *_user(scratch, 16),
        *a.load(a.R7, a.R10, scratch + 8),
        "size", *a.change(a.R7, "&", -STEP), *a.store(a.R10, argument, a.R7, 4),
        "sized",
    )  # fmt: skip


def of_socket(types: Types, argument: int, error: int) -> a.Parts:
    """Store what the socket R6 says beyond the error, which is at `error`.

    That is its protocol (before Linux 5.6 a byte, and the type follows it), the device that it is
    bound to, or its own range of ports (Linux 6.3).
    """
    place, after = (types.offset("sock", f"sk_{name}") for name in ("protocol", "type"))
    bound, ports = types.offset("sock", "__sk_common.skc_bound_dev_if"), tuple[a.Part, ...]()
    with suppress(KeyError):
        ports = read(a.R7, a.R6, types.offset("inet_sock", "local_port_range"), 4)
    ports += a.store(a.R10, argument, a.R7, 4) if ports else ()
    return (
        *a.load(a.R7, a.R10, error, 2), *a.when(a.R7, "==", errno.EMSGSIZE, "protocol"),
        *(part for one in _GONE for part in a.when(a.R7, "==", one, "bound")),
        *a.when(a.R7, "==", errno.EADDRNOTAVAIL, "ports"),
        *a.when(a.R7, "!=", errno.EADDRINUSE, "no protocol"), "protocol",
        *read(a.R7, a.R6, place, 1 if after == place + 1 else 2),
        *a.store(a.R10, argument + 4, a.R7, 2), *a.go("no protocol"),
        "bound", *read(a.R7, a.R6, bound, 4), *a.store(a.R10, argument, a.R7, 4),
        *a.go("no protocol"), "ports", *ports, "no protocol",
    )  # fmt: skip


def message(places: Mapping[int, int], argument: int, scratch: int) -> a.Parts:
    """R7 = the address in a message; store its first control message; R8 is the error.

    `scratch` is a stack offset of 32 bytes.
    """
    return (
        *read(a.R7, a.R6, places[1]), *_user(scratch, 8), *_user(scratch + 8, 8, _CONTROL),
        *a.when(a.R8, "==", errno.EINVAL, "control"),
        *a.when(a.R8, "!=", errno.ETOOMANYREFS, "to"),
        "control", *a.load(a.R7, a.R10, scratch + 8), *a.when(a.R7, "==", 0, "to"),
        *_user(scratch + 16, 16),
        *a.load(a.R7, a.R10, scratch + 24, 4), *a.store(a.R10, argument, a.R7, 2),
        *a.load(a.R7, a.R10, scratch + 28, 4), *a.store(a.R10, argument + 2, a.R7, 2),
        "to", *a.load(a.R7, a.R10, scratch),
    )  # fmt: skip


def address_long(places: Mapping[int, int], scratch: int, jumps: Jumps) -> a.Parts:
    """R8 = the length of the address that the program gave; R6 has its registers.

    `scratch`, a stack offset of eight bytes, is overwritten, and `jumps` as in `size`.
    """
    return (
        *jumps("long message", MESSAGES), *jumps("long datagram", ("sendto",)),
        *read(a.R8, a.R6, places[2]), *a.go("long"),
        "long datagram", *read(a.R8, a.R6, places[5]), *a.go("long"),
        "long message", *read(a.R8, a.R6, places[1]), *_user(scratch, 4, 8, a.R8),
        *a.load(a.R8, a.R10, scratch, 4), "long",
    )  # fmt: skip


def path_end(places: Mapping[int, int], argument: int) -> a.Parts:
    """Store the last eight bytes of the path that the program gave; R6 has its registers."""
    return (
        *read(a.R7, a.R6, places[1]), *read(a.R8, a.R6, places[2]), *a.change(a.R8, "&", 0xFF),
        *a.when(a.R8, "<=", 10, "short"), *a.add(a.R7, a.R8), *_user(argument, 8, -8),
        "short",
    )  # fmt: skip


def words(call: str, error: int, argument: int, name: bytes, *, local: bool) -> str:
    """The argument of a call in a word without a space; empty where it has none.

    `local`: of a Unix socket; then it is the inode of the other end.
    """
    if local and call not in ("socket", "setsockopt", "connect"):
        return f"{PEER}{argument}" if argument else ""
    low, high, rest = struct.unpack("=HHI", struct.pack("=Q", argument))
    low_half, high_half = argument & 0xFFFFFFFF, rest & 0xFFFF
    if call == "socket":
        family = _named(socket.AddressFamily, "AF_", low)
        kind = _named(socket.SocketKind, "SOCK_", high & _TYPE)
        return ",".join((family, kind, _protocol(low, rest)))
    if call == "setsockopt":
        told = name[: min(rest, NAME)].split(b"\0", 1)[0].decode("ascii", "replace")
        shown = "".join(one if one.isprintable() and one != " " else "?" for one in told)
        return _option(low, high) + (f"={shown}" if (low, high) in _NAMED else "")
    if call in POLLS:
        return f"nfds={low_half}"
    if error in _GONE:
        return f"{DEVICE}{low_half}" if low_half else ""
    if error == errno.EADDRNOTAVAIL and call in ("connect", "bind"):
        return f"{RANGE}{low}-{high}" if low_half else ""
    if error == errno.ETIMEDOUT:
        return f"TCP_USER_TIMEOUT={argument}" if argument else ""
    if call in ("bind", "listen"):
        return _transport(high_half)
    if error == errno.EMSGSIZE:
        other = _transport(high_half)
        return f"{SIZE}{low_half}" + (f",{other}" if other != "udp" and other else "")
    if call == "sendto":
        return "MSG_FASTOPEN" if argument & _FASTOPEN else ""
    if call in MESSAGES and argument:
        return _MORE.get((low, high)) or _option(low, high)
    return ""


def _option(level: int, number: int) -> str:
    prefix = _PREFIXES.get(level, "")
    found = _OPTIONS.get((level, number)) or next(
        (name for name in dir(socket) if prefix and name.startswith(prefix)
         and not name.startswith(("IP_DEFAULT", "IP_MAX")) and getattr(socket, name) == number), ""
    )  # fmt: skip
    return found or f"{level}/{number}"


def _named(every: type[IntEnum], begin: str, number: int) -> str:
    """The name of a number; with the beginning of the names where it has none."""
    try:
        return every(number).name
    except ValueError:
        return f"{begin}{number}"


_TRANSPORTS: Final = {6: "tcp", 17: "udp", 132: "sctp", 136: "udplite"}


def _transport(number: int) -> str:
    return _TRANSPORTS.get(number, "")


_INTERNET: Final = (socket.AF_INET, socket.AF_INET6)
_PROTOCOLS: Final = {33: "DCCP", 132: "SCTP", 136: "UDPLITE", 262: "MPTCP"}


def _protocol(family: int, number: int) -> str:
    """By its name where it is one of IP."""
    if family not in _INTERNET:
        return str(number)
    for name in (one for one in dir(socket) if one.startswith("IPPROTO_")):
        if getattr(socket, name) == number and name not in ("IPPROTO_MAX", "IPPROTO_HOPOPTS"):
            return name
    known = _PROTOCOLS.get(number)
    return f"IPPROTO_{known}" if known else str(number)
