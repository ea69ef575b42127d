"""Dropped packets by reason and place: the tracepoint skb:kfree_skb, with a reason from 5.17 on.

include/net/dropreason-core.h describes the reasons; without them the place is all that is known, as
on Linux 5.15 and before. The program counts each dropped packet by reason, place, network
namespace, interface it came by, protocol and local port; of a packet that stands for several
segments it counts these. Of the first packet of a key, and of a reason in each moment, it keeps
both ends, and the hardware addresses of what arrived in an Ethernet frame; those of most packets
are told. It copies nothing else to user space, writes no file and does not run for other packets.
Of a reason that comes more than `MANY` times in a second on a CPU, one of `OF` further packets is
counted, for all of them: the others cost less than half. The numbers of the reasons and the offsets
of what it reads differ between kernels, so they are taken from the type information of the running
kernel.
"""

import errno
import os
import struct
import sys
from collections import Counter as Sums
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from ipaddress import ip_address
from typing import Final
from urllib.parse import quote

from . import assembler as a
from . import attached, btf, call, counting, rights
from .counting import HEADER, IP, IP6, PORTED, Packet, protocol, read
from .symbols import Symbols

_PLAIN: Final = "/=@,."  # of names of programs: not quoted
_UNSAID: Final = ("NO_REASON ", "NOT_SPECIFIED ")  # the place alone explains these
_NEVER: Final = frozenset({"NOT_DROPPED_YET", "CONSUMED", "MAX", "SUBSYS_MASK"})
_KEY: Final = struct.Struct("=QIIIHBxHxxI")  # place, reason, namespace, interface, protocol,
_SIZE: Final = _KEY.size  # number of the transport protocol, port, device
_ENDS: Final = struct.Struct("=16s16s2s2s6s6s")  # behind it: addresses, ports, hardware addresses
_WHOLE: Final = _SIZE + _ENDS.size
_KEPT: Final = 1024  # packets of which both ends are kept: the last ones
_AT: Final = -16 - _WHOLE  # of the key on the stack
_PLACE, _REASON, _SPACE, _FROM, _ETHER, _TRANSPORT, _PORT, _DEVICE = 0, 8, 12, 16, 20, 22, 24, 28
_SOURCE, _TO, _PORTS, _FRAME = _SIZE, _SIZE + 16, _SIZE + 32, _SIZE + 36
_ETHERNET: Final = 14  # bytes of the header: both addresses, and the protocol
_FRAMED: Final = tuple((at - _ETHERNET, _FRAME + at, 2) for at in range(0, 12, 2))  # both
_ENDED: Final = {  # addresses in a header: what is copied of it, to where, and how many bytes
    IP: ((12, _SOURCE, 4), (16, _TO, 4)),
    IP6: ((8, _SOURCE, 8), (16, _SOURCE + 8, 8), (24, _TO, 8), (32, _TO + 8, 8)),
}  # fmt: skip
_SIZES: Final = range(20, 41, 4)  # bytes of a header: one of IPv4 may have options
_FIELDS: Final = (
    "dev", "sk", "skb_iif", "protocol", "network_header", "mac_header", "end", "head",
)  # fmt: skip
MANY: Final = 10_000  # packets of a reason in a second on a CPU, beyond which it is sampled
OF: Final = 16  # packets, of which one is counted then: a power of two
_SECOND: Final = 30 - counting.PART  # bits from a part of time to a second, 2 ** 30 ns
_BUSY: Final = 256  # reasons, with their places, that are told apart by how often they come
# of the stack: the number of a reason in `rates`, later the part of time; 1: sampled; the time
_RATE, _WEIGHT, _NOW = -8, -4, -16
_SOCKET: Final = 3  # of the arguments of the tracepoint: the receiving socket, since Linux 6.11
_LEAST: Final = 0x70000000  # of a namespace's number, from 0xEFFFFFF8 on (include/linux/nsfs.h)
_HIGHEST: Final = 0xE  # or 0xF: its highest four bits

_SAMPLED: Final = (
    f"more than {MANY:,} packets a second are dropped for one reason on one core: beyond these, "
    f"one of {OF} is counted, for all"
)


class Counter:
    """The loaded program and its counts; OSError if it cannot be loaded."""

    def __init__(self) -> None:
        """Load and attach the program; an error closes everything opened so far."""
        self._names, self._subsystems, programs = _known()
        self._symbols, self._dropping = Symbols(), attached.Dropping()
        self._counting = counting.Counting(_SIZE, "nettop_drops")
        try:
            moments = self._counting.keep_moments("nettop_moments")
            self._packets = self._counting.keep(
                call.table(_WHOLE, _KEPT, "nettop_packets", kind=call.LATEST)
            )
            tables = {"counts": self._counting.table, "packets": self._packets}
            # the first has the packets left out, others the second and the packets of a reason
            self._rates = self._counting.keep(
                call.table(4, 1 + _BUSY, "nettop_rates", kind=call.EACH_CPU)
            )
            tables |= {"moments": moments, "rates": self._rates}
            self._attach(programs, tables)
            self._counting.begin()
        except BaseException:
            self.close()
            raise

    def _attach(self, programs: Sequence[tuple[int, a.Parts]], tables: Mapping[str, int]) -> None:
        """Attach the first program; the next where the kernel refuses it."""
        (number, code), *others = programs
        try:
            program = call.program(a.assemble(code, **tables), "nettop_drops", number)
            self._counting.keep(program)
            self._counting.keep(_attach(program, number))
        except OSError:
            if not others:
                raise
            self._attach(others, tables)

    def text(self) -> str:
        """The seconds, then a line `REASON COUNT PLACE WHERE INTERFACE PROTOCOL PORT` for each.

        `;BY` follows REASON where programs may have dropped it, as of `attached`.
        `SOURCE PORT TO PORT` of one of these packets follow, if both ends of one were kept, then
        the hardware addresses of its frame, `TO SENDER`, if there are any.
        WHERE is `here` for the namespace of this thread, `elsewhere` for another one, or `unknown`.
        INTERFACE is a number: it came by it, or was to leave by it. What is elsewhere has `-` for
        what follows. Lines of moments follow, see `counting.told`; one with `!` says that a part is
        sampled, or why places are hidden, without which some drops cannot be explained.
        """
        counts, own = self._counting.counts(), counting.here()
        keys = {key: _KEY.unpack(key) for key in counts if key != call.REST * _SIZE}
        self._symbols.learn(key[0] for key in keys.values())
        sums, ends = Sums[str](), self._ends()
        told: dict[str, tuple[int, str]] = {}
        for raw, (place, reason, space, came_by, ether, transport, port, device) in keys.items():
            name, word, at = self._name(reason), protocol(transport, ether), came_by or device
            symbol = self._symbols.name(place)
            by = self._dropping.programs(name, symbol, word, port, at) if space == own else ""
            more = f";{quote(by, safe=_PLAIN)}" if by else ""
            line = f"{name}{more} {{}} {symbol or '-'}"
            if space == own:
                line += f" here {at or '-'} {word} {port or '-'}"
                told[line] = max(told.get(line, (0, "")), ends.get(raw, (0, "")))
            else:
                line += f" {'elsewhere' if space else 'unknown'} - - -"
            sums[line] += counts[raw]
        rest = counts.get(call.REST * _SIZE, 0)
        lines = [
            line.format(count) + told.get(line, (0, ""))[1] for line, count in sorted(sums.items())
        ]
        lines += [f"OTHER {rest} - unknown - - -"] if rest else []
        hidden = any(line.startswith(_UNSAID) and " {} - " in line for line in sums)
        said = [rights.hidden()] if hidden and self._symbols.hidden else []
        said += [_SAMPLED] if call.total(self._rates) else []
        lines += [f"! {'; '.join(said)}"] if said else []
        moments = self._counting.moments()
        lines += counting.told(moments, lambda what: self._name(*struct.unpack("=I", what)))
        return "\n".join([f"{self._counting.seconds():.3f}", *lines, ""])

    def _ends(self) -> dict[bytes, tuple[int, str]]:
        """By key the hosts of most packets: how often they were kept, and both ends of a packet."""
        sums, words = Sums[bytes](), {}
        for raw, count in call.contents(self._packets, _WHOLE, _KEPT).items():
            *hosts, own, other, door, sender = _ENDS.unpack_from(raw, _SIZE)
            six = raw[_ETHER : _ETHER + 2] == IP6.to_bytes(2, sys.byteorder)
            source, to = (ip_address(one if six else one[:4]) for one in hosts)
            ports = int.from_bytes(own, "big"), int.from_bytes(other, "big")
            sums[raw[:_PORTS]] += count
            frame = f" {door.hex(':')} {sender.hex(':')}" if any(door) else ""
            words[raw[:_PORTS]] = f" {source} {ports[0]} {to} {ports[1]}{frame}"
        found: dict[bytes, tuple[int, str]] = {}
        for raw, count in sums.items():
            key = raw[:_SIZE]
            found[key] = max(found.get(key, (0, "")), (count, words[raw]))
        return found

    def _name(self, reason: int) -> str:
        """The reason's name; one of a subsystem has the number that this gives it."""
        system = self._subsystems.get(reason >> 16, "UNKNOWN")
        return self._names.get(reason) or f"{system}_{reason & 0xFFFF}"

    def close(self) -> None:
        """Detach the program; the kernel frees its memory."""
        self._counting.close()


@cache  # the types of a kernel are long: what is made of them is kept, not they
def _known() -> tuple[dict[int, str], dict[int, str], tuple[tuple[int, a.Parts], ...]]:
    """The names of reasons and subsystems, and the programs for the running kernel.

    Each has the number of its tracepoint, 0 for a raw one; that which reads without calls is first.
    """
    data = counting.types()
    types, never = btf.Types(data), _no_drops(data)
    programs = [(0, _code(types, never, direct=False))]
    with suppress(KeyError):
        if number := types.tracepoint("kfree_skb") if _tells_null(types) else 0:
            programs.insert(0, (number, _code(types, never, direct=True)))
    return names(data), subsystems(data), tuple(programs)


def names(data: bytes) -> dict[int, str]:
    """The names of the drop reasons by number, from BTF; NO_REASON on a kernel without them."""
    return {n: name for n, name in _reasons(data).items() if name not in _NEVER}


def subsystems(data: bytes) -> dict[int, str]:
    """The names of the subsystems that have reasons of their own, e.g. OPENVSWITCH."""
    try:
        found = btf.enumeration(data, "skb_drop_reason_subsys")
    except KeyError:
        return {}
    return {n: name.removeprefix("SKB_DROP_REASON_SUBSYS_") for n, name in found.items()}


def _no_drops(data: bytes) -> list[int]:
    """The reasons with which the kernel frees a packet that it has used."""
    return [n for n, name in _reasons(data).items() if name in _NEVER]


def _reasons(data: bytes) -> dict[int, str]:
    """All reasons by number, those that are no drops too."""
    try:
        found = btf.enumeration(data, "skb_drop_reason", "SKB_")
    except KeyError:
        return {0: "NO_REASON"}
    except ValueError as error:
        raise OSError(errno.EINVAL, str(error)) from None
    short = {
        number: name.removeprefix("SKB_").removeprefix("DROP_REASON_")
        for number, name in found.items()
    }
    return {n: name for n, name in sorted(short.items()) if n >= 0}


def _attach(handle: int, number: int = 0) -> int:
    try:
        return call.attach(handle, "" if number else "kfree_skb")
    except OSError as error:
        if error.errno in {errno.EINVAL, errno.ENOENT}:
            raise OSError(error.errno, "this kernel has no tracepoint skb:kfree_skb") from None
        raise


def _tells_null(types: btf.Types) -> bool:
    """Whether the verifier knows that there may be no receiving socket (Linux 6.13).

    One that does not removes what the program does then, and accepts this fault in it.
    """
    if _arguments(types) <= _SOCKET:
        return True
    code = a.assemble((
        *a.load(a.R2, a.R1, 8 * _SOCKET), *a.when(a.R2, "!=", 0, "out"), *a.move(a.R0, a.R9),
        "out", *a.end(),
    ))  # fmt: skip
    try:
        os.close(call.program(code, "nettop_null", types.tracepoint("kfree_skb")))
    except OSError as error:
        return error.errno == errno.EACCES
    return False


def _code(types: btf.Types, no_drops: Iterable[int], *, direct: bool) -> a.Parts:
    """The program: R6 is the packet, R7 to R9 what is read of it.

    `direct`: it is one of its tracepoint alone, and reads the kernel's structures without a call.
    """
    arguments = _arguments(types)
    reason, socket = arguments > 2, arguments > _SOCKET
    packet = Packet(types, _FIELDS, _AT, direct=direct)
    field, got = packet.field, a.load if direct else read
    header = packet.at - HEADER  # of the stack: the header of the network, and the ports of IPv6

    def number(of: int) -> a.Parts:
        """R7, a structure, becomes the number of the namespace at that offset; 0 without one."""
        return (*got(a.R7, a.R7, of), *got(a.R7, a.R7, types.offset("net", "ns.inum"), 4))

    return (
        *a.move(a.R9, a.R1),
        *a.load(a.R6, a.R9, 0), *a.load(a.R7, a.R9, 8),
        *(a.load(a.R8, a.R9, 16) if reason else a.number(a.R8, 0)), *a.low_half(a.R8),
        *(part for one in no_drops for part in a.when(a.R8, "==", one, "out")),
        *_sampled(),
        *(part for at in range(0, _WHOLE, 8) for part in a.put(a.R10, _AT + at, 0)),
        *a.store(a.R10, _AT + _PLACE, a.R7), *a.store(a.R10, _AT + _REASON, a.R8, 4),
        *(a.load(a.R9, a.R9, 24) if socket else a.number(a.R9, 0)),
        *packet.copied(),
        *a.move(a.R7, a.R9), *a.when(a.R7, "!=", 0, "socket"),
        # a packet that came from another namespace has the socket of its sender until ip_rcv()
        *field(a.R7, "dev"), *number(types.offset("net_device", "nd_net.net")),
        *a.move(a.R8, a.R7), *a.change(a.R8, ">>", 28),  # a union: it may be another thing
        *a.when(a.R8, ">=", _HIGHEST, "space"),
        *field(a.R7, "sk"), *a.when(a.R7, "!=", 0, "socket"),
        *field(a.R7, "dev"), *a.when(a.R7, "==", 0, "nowhere"),
        # a datagram in its socket has another thing there: who reads it is running
        *counting.space(types, _AT + _SPACE), *a.go("nowhere"),
        "socket", *number(types.offset("sock", "__sk_common.skc_net.net")),
        *a.when(a.R7, "<", _LEAST, "nowhere"),
        "space", *a.store(a.R10, _AT + _SPACE, a.R7, 4),
        "nowhere", *field(a.R7, "skb_iif"), *a.store(a.R10, _AT + _FROM, a.R7, 4),
        *a.when(a.R7, "!=", 0, "protocol"),  # no interface has taken it yet, or it is sent
        *field(a.R7, "dev"), *a.move(a.R8, a.R7),
        *number(types.offset("net_device", "nd_net.net")),
        *a.when(a.R7, "<", _LEAST, "protocol"),
        *got(a.R7, a.R8, types.offset("net_device", "ifindex"), 4),
        *a.store(a.R10, _AT + _DEVICE, a.R7, 4),
        "protocol",
        *field(a.R7, "protocol"), *a.swapped(a.R7), *a.store(a.R10, _AT + _ETHER, a.R7, 2),
        *a.when(a.R7, "==", IP6, "internet"), *a.when(a.R7, "!=", IP, "segments"),
        "internet", *packet.transport(header, _ETHERNET),
        *a.store(a.R10, _AT + _TRANSPORT, a.R8, 1),
        *a.when(a.R7, "==", IP6, "six"), *_laid(header, _ENDED[IP]), *a.go("ends"),
        "six", *_laid(header, _ENDED[IP6]),
        "ends", *(part for one in PORTED for part in a.when(a.R8, "==", one, "ported")),
        *a.go("frame"),
        # at places that are known beforehand: Linux 5.4 refuses others
        "ported", *a.load(a.R8, a.R10, _AT + _FROM, 4),
        *(part for size in _SIZES for part in (
            *a.when(a.R9, "!=", size, f"not {size}"), *_laid(header, ((size, _PORTS, 4),)),
            *a.load(a.R7, a.R10, header + size, 2), *a.when(a.R8, "==", 0, "port"),
            *a.load(a.R7, a.R10, header + size + 2, 2), *a.go("port"),  # received: the second
            f"not {size}",
        )),
        *a.go("frame"),  # an IPv4 header with more options
        "port", *a.swapped(a.R7), *a.store(a.R10, _AT + _PORT, a.R7, 2),
        "frame", *a.load(a.R7, a.R10, _AT + _FROM, 4), *a.when(a.R7, "==", 0, "segments"),
        *field(a.R7, "network_header"), *field(a.R8, "mac_header"),
        *a.change(a.R8, "+", _ETHERNET), *a.same(a.R7, a.R8, "ethernet"), *a.go("segments"),
        "ethernet", *_laid(header, _FRAMED),
        "segments", *field(a.R8, "end"), *field(a.R9, "head"), *a.add(a.R8, a.R9),
        *read(a.R7, a.R8, types.offset("skb_shared_info", "gso_segs"), 2),
        *a.when(a.R7, "!=", 0, "weight"), *a.number(a.R7, 1),
        "weight", *a.load(a.R1, a.R10, _WEIGHT, 4), *a.when(a.R1, "==", 0, "count"),
        *a.change(a.R7, "*", OF), "count",
        *counting.moment(
            header - 16 - counting.MOMENT, _AT + _REASON, _AT + _SPACE, a.R7, _kept("moment"), _RATE
        ),
        *counting.added(_AT, _SIZE, a.R7, _kept("key")),
        "out", *a.end(),
    )  # fmt: skip


def _sampled() -> a.Parts:
    """Leave out what comes too often, of the reason R8 at the place R7; both are kept."""
    return (
        *a.call(a.CLOCK), *a.change(a.R0, ">>", counting.PART), *a.store(a.R10, _NOW, a.R0),
        *a.move(a.R1, a.R7), *a.change(a.R1, ">>", 4), *a.add(a.R1, a.R8),
        *a.change(a.R1, "&", _BUSY - 1), *a.change(a.R1, "+", 1), *a.store(a.R10, _RATE, a.R1, 4),
        *a.put(a.R10, _WEIGHT, 0, 4),
        *a.map_of(a.R1, "rates"), *a.stack(a.R2, _RATE), *a.call(a.LOOKUP),
        *a.when(a.R0, "==", 0, "out"),
        *a.load(a.R1, a.R10, _NOW), *a.store(a.R10, _RATE, a.R1, 4), *a.change(a.R1, ">>", _SECOND),
        *a.load(a.R2, a.R0, 0, 4), *a.same(a.R1, a.R2, "now"),
        *a.store(a.R0, 0, a.R1, 4), *a.put(a.R0, 4, 0, 4),
        "now", *a.load(a.R1, a.R0, 4, 4), *a.change(a.R1, "+", 1), *a.store(a.R0, 4, a.R1, 4),
        *a.when(a.R1, "<=", MANY, "whole"), *a.put(a.R10, _WEIGHT, 1, 4),
        *a.change(a.R1, "&", OF - 1), *a.when(a.R1, "==", 0, "whole"),
        *a.put(a.R10, _RATE, 0, 4),
        *a.map_of(a.R1, "rates"), *a.stack(a.R2, _RATE), *a.call(a.LOOKUP),
        *a.when(a.R0, "==", 0, "out"),
        *a.load(a.R1, a.R0), *a.change(a.R1, "+", 1), *a.store(a.R0, 0, a.R1), *a.go("out"),
        "whole",
    )  # fmt: skip


def _laid(header: int, parts: Iterable[tuple[int, int, int]]) -> a.Parts:
    """Copy parts of the header on the stack to the key; it uses R7."""
    return tuple(part for of, to, long in parts for part in (
        *a.load(a.R7, a.R10, header + of, long), *a.store(a.R10, _AT + to, a.R7, long),
    ))  # fmt: skip


def _kept(first: str) -> a.Parts:
    """Keep both ends of the packet, the first of a moment or of a key, if they are known."""
    return (
        *a.load(a.R1, a.R10, _AT + _TRANSPORT, 1), *a.when(a.R1, "==", 0, f"no ends of {first}"),
        *counting.latest("packets", _AT, a.R7, label=first), f"no ends of {first}",
    )  # fmt: skip


def _arguments(types: btf.Types) -> int:
    """Of the tracepoint: the packet and the place, and more on kernels that tell more."""
    try:
        return types.arguments("kfree_skb")
    except KeyError:  # before Linux 5.5 the types do not have tracepoints
        return 2
