"""What this host knows beyond the error of a call: who or what it is that refuses.

A port that is held, a reader that takes nothing, a rule of the packet filter that dropped packets
to the same end, a filter of system calls, BPF programs of the control group, and the MTU.
rules/call-cases.toml has the words of each.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from ..collect._counted import Words
from ..collect.failed_calls import ABROAD, DEVICE, OPENED, PEER, SIZE, case
from ..collect.nftables import Row as NftablesRow
from ..frame.rates import Frame
from ..terms.text import NAMED, few
from ..terms.units import many
from .call_ends import LOW, RESERVED, by_argument, by_end
from .counters import grown
from .flow_words import owners, total
from .peers import program, setting
from .program_causes import PROGRAMMED, route_programs
from .used_ports import BINDS, SENDS, holder, none_left
from .way.chains import filtered
from .way.flow import FILTERED, Host

TRANSPORTS: Final = ("tcp", "udp")  # whose sockets are read
DATAGRAM: Final = "datagram"  # one that ICMP answers, whose sender is not known
_DNS: Final = "53"
HEADERS: Final = 28  # bytes, of IPv4 and UDP
HEADERS6: Final = 48  # bytes, of IPv6 and UDP
STEP: Final = 128  # bytes: sizes are counted in steps, as `bpf.arguments`
LARGEST: Final = 65_507  # bytes of a UDP datagram of IPv4
_SECCOMP: Final = "seccomp"
ROUTED: Final = ("ENETUNREACH", "EHOSTUNREACH")  # which a filter of calls may answer as well
_CONFINED: Final = "confined"  # the program may not gain rights: so a sandbox begins
_SETTING: Final = re.compile(r"\bnet(?:\.[a-z0-9_]+)+")
SCTP: Final = "sctp"
TUN: Final = "TUNSETIFF="  # begins the argument of a program that takes a TUN or TAP interface
LATE: Final = ("connection", "recvfrom", "recvmsg", "read", "readv")  # no route of here refuses
# what ICMP alone brings beside `ROUTED`: icmp_err_convert[], icmpv6_err_convert()
TOLD: Final = {4: ("EHOSTDOWN", "ENONET", "ENOPROTOOPT"), 6: ("EACCES", "EPROTO")}
REFUSED: Final = ("connection", "ECONNREFUSED")  # by a reset, or by ICMP
ALIKE: Final = 0.8  # ICMP messages for each call that fails, from which these may be the cause
ABSENT: Final = "NEIGH_FAILED"  # the reason of drops for a neighbour that does not answer
_QUEUE: Final = "net.unix.max_dgram_qlen"

Ends = Counter[tuple[str, str]]  # address and port → calls


def exact(
    said: Words, call: str, error: str, ends: Ends, argument: str, by: str, frame: Frame
) -> tuple[Words, tuple[str, ...]]:  # fmt: skip
    """The words with what is known beyond them; and the rules that refuse, or the reader's pid."""
    address, port = ends.most_common(1)[0][0]
    if (none := none_left(said, call, error, (address, port), argument, frame)) is not None:
        return none, ()
    if call in BINDS and error == "EADDRINUSE" and port.isdecimal():
        return _held(said, (address, int(port)), argument, frame), ()
    if call == DATAGRAM and port == _DNS:
        means = f"No name server answers at {address}: nothing reads its port {_DNS}"
        return said._replace(means=means), ()
    if argument.startswith(PEER) and (error == "EAGAIN" or by.startswith(ABROAD)):
        return _unix(said, call, argument, by, frame)
    if argument.startswith((DEVICE, TUN)):
        return _of_device(said, error, argument, frame), ()
    if error == "EMSGSIZE" and argument.startswith(SIZE):
        size, _, protocol = argument.removeprefix(SIZE).partition(",")
        if protocol == SCTP:
            return case(said, "whole", size=int(size)), ()
        return _large(said, int(size), address, frame), ()
    if error == "EPERM" and (forbidden := _forbidden(said, call, address, port, frame)) is not None:
        return forbidden
    if by == _CONFINED:
        return _boxed(said, call, address, port, frame), ()
    if error in ROUTED:
        by = by if _stands(address, frame) else ""
    if by := by.removesuffix(f",{_CONFINED}"):
        family = _offered(argument, frame) if error == "EAFNOSUPPORT" else ""
        return _refused(said, by, address if error in ROUTED else "", family), ()
    found = by_end(by_argument(said, call, error, argument), call, error, (address, port), frame)
    return _led(said, call, error, (address, port), frame) if found == said else found, ()


def _led(said: Words, call: str, error: str, end: tuple[str, str], frame: Frame) -> Words:
    """Of what no route of this host refuses: ICMP says it, or a route for others leads there."""
    to = end[0]
    told = error in (*ROUTED, *TOLD[6 if ":" in to.removeprefix("::ffff:") else 4])
    by = "afar" if told and call in (*LATE, *SENDS) else ""
    by = "rejected" if (call, error) == REFUSED else by
    sure = told and call in LATE
    if by and (sure or _answered(call, error, frame)) and (hop := _afar(to, frame)):
        return case(said, by, to=to, hop=hop)
    led = error in ROUTED and _others_reach(*end, error, frame)
    return case(said, "led", to=to) if led else said


def _answered(call: str, error: str, frame: Frame) -> bool:
    """Whether as many messages of ICMP arrive as such calls fail."""
    tables = frame.tables
    heard = total(entry.rate("ip_unreachable") for entry in tables.get("snmp", ())) or 0.0
    failed = total(grown(entry, "events") for entry in tables.get("failed_calls", ())
                   if (entry.now.call, entry.now.error) == (call, error))  # fmt: skip
    return bool(failed) and heard >= ALIKE * (failed or 0.0)


def _others_reach(address: str, port: str, error: str, frame: Frame) -> bool:
    """Whether the kernel has a route there; if a neighbour or a rule may fail: who connects."""
    apart = any(row.protocol or row.ports for row in frame.rows("routing_rules"))
    opened = (row for row in frame.rows("failed_calls") if row.address == address
              and not (apart and row.port != port))  # fmt: skip
    reached = (error == "ENETUNREACH" and not apart) or any(
        row.error == OPENED and row.events for row in opened
    )
    return reached and _stands(address, frame)


def _afar(address: str, frame: Frame) -> str:
    """The next hop to where ICMP says that nothing leads; empty: ARP may have said so.

    Drops are counted, and none is for a neighbour that does not answer (net/core/neighbour.c,
    neigh_invalidate()), nor does a packet wait for one.
    """
    plain = address.removeprefix("::ffff:")
    here = (row for row in frame.rows("ways") if row.to == plain and not row.arrives)
    way = next((row for row in here if not row.error and row.interface), None)
    if way is None or "drop_reasons" not in frame.tables:
        return ""
    hop = way.gateway or plain
    silent = any(row.address in (hop, plain) for row in frame.rows("unresolved")) or any(
        row.reason == ABSENT and row.to == plain for row in frame.rows("drop_reasons")
    )
    return "" if silent else f"{hop} on {way.interface}"


def _offered(argument: str, frame: Frame) -> str:
    """The family of a socket that the kernel has, because an address here is of it."""
    here = {"AF_INET6" if row.family == 6 else "AF_INET" for row in frame.rows("addresses")}
    return next((one for one in here if argument.startswith(f"{one},")), "")


def _forbidden(
    said: Words, call: str, address: str, port: str, frame: Frame
) -> tuple[Words, tuple[str, ...]] | None:  # fmt: skip
    """What drops on this host what is sent there: rules of the filter, or programs of the route."""
    rules = _rules(address, port, frame) if call in SENDS else []
    if rules:
        told = few((one.told for one in rules), NAMED)
        names = tuple(one.name for one in rules[:NAMED])
        return case(said, "filtered", filters=told, show=rules[0].shown), names
    if found := _programs(address, port, frame):
        return case(said, "programmed", programs=found), ()
    return None


def _unix(
    said: Words, call: str, argument: str, by: str, frame: Frame
) -> tuple[Words, tuple[str, ...]]:  # fmt: skip
    """Of a Unix socket: its reader, its backlog, or who has its name elsewhere."""
    if by.startswith(ABROAD):
        return _abroad(said, argument, by.removeprefix(ABROAD)), ()
    if call in SENDS:
        return _unread(said, argument, frame)
    return (_overflows(said, argument, frame) if call == "connect" else said), ()


def _boxed(said: Words, call: str, address: str, port: str, frame: Frame) -> Words:
    """A program that began a sandbox may have forbidden itself what nothing here refuses."""
    low = next((row.value for row in frame.rows("sysctls") if row.name == RESERVED), "")
    reserved = call in BINDS and port.isdecimal() and int(port) < int(low or LOW)
    routed = any(row.error for row in frame.rows("ways") if row.to == address)
    return said if reserved or routed else case(said, "boxed")


def valued(text: str, frame: Frame) -> str:
    """The text with the value behind each setting of this host that it names, commands apart."""
    known = {row.name: row.value for row in frame.rows("sysctls")}
    parts = text.split("`")
    parts[::2] = [
        _SETTING.sub(lambda one: f"{one[0]} ({known[one[0]]})" if one[0] in known else one[0], part)
        for part in parts[::2]
    ]
    return "`".join(parts)


def _held(said: Words, end: tuple[str, int], protocol: str, frame: Frame) -> Words:
    """Who has the port that cannot be bound; of either protocol where it is not known which."""
    of = (protocol,) if protocol in TRANSPORTS else () if protocol else TRANSPORTS
    holds = next(filter(None, (holder(frame, one, end[1], end[0]) for one in of)), None)
    if holds is None:
        closed = max((row.time_wait or 0 for row in frame.rows("snmp")), default=0)
        left = closed and protocol == "tcp" and "sockets_tcp" in frame.tables
        return (
            case(said, "lingers", port=end[1], count=many(closed, "connections")) if left else said
        )
    advice = f"{holds.change[0].upper()}{holds.change[1:]}."
    return said._replace(means=f"{said.means}: {holds.saw}", advice=advice)


def _unread(said: Words, argument: str, frame: Frame) -> tuple[Words, tuple[str, ...]]:
    """Which socket takes no more datagrams, and whose."""
    number, _, path = argument.removeprefix(PEER).partition(",")
    reader = owners(frame).get(int(number), "") if number.isdecimal() else ""
    if not (path or reader):
        return said, ()
    of = f" of {reader}" if reader else ""
    longest = next((row.value for row in frame.rows("sysctls") if row.name == _QUEUE), "")
    holds = f" ({_QUEUE}: {longest})" if longest.isdecimal() else ""
    pid = _number(reader)
    values = {"path": path or number, "of": of, "holds": holds, "reader": reader, "pid": pid}
    name = "unread-by" if reader else "unread"
    return case(said, name, queue=_QUEUE, **values), (pid,) if reader else ()


def _number(who: str) -> str:
    """The process number of NAME[PID]."""
    return who.rpartition("[")[2].rstrip("]")


def _overflows(said: Words, argument: str, frame: Frame) -> Words:
    """Whose Unix socket does not take the connection, and how many may wait there.

    unix_stream_connect() answers so while more wait than the backlog (net/unix/af_unix.c).
    """
    number, _, path = argument.removeprefix(PEER).partition(",")
    room = next((row.room for row in frame.rows("sockets_unix")
                 if str(row.inode) == number and row.type == "listen"), None)  # fmt: skip
    who = owners(frame).get(int(number), "") if number.isdecimal() else ""
    of = f" of {who}" if who else ""
    waits = "its backlog" if room is None else f"its backlog of {room}"
    return case(said, "overflows", path=path, of=of, waits=waits)


def _large(said: Words, size: int, address: str, frame: Frame) -> Words:
    """Why a message is too large: one that UDP could send in fragments may have none."""
    if size > LARGEST:
        return case(said, "longest", size=size, longest=LARGEST)
    mtu, most = _of_route(address, frame)
    if not mtu:
        links = [row for row in frame.rows("links") if row.mtu and row.mtu < size + HEADERS]
        mtu = ", ".join(f"{row.interface} {row.mtu}" for row in links[:3])
    fit = most - (HEADERS6 if ":" in address.removeprefix("::ffff:") else HEADERS)
    these = f"above {fit:,} bytes" if 0 < fit < size + STEP else f"of {size:,} bytes or more"
    of, more = f" ({mtu})" if mtu else "", _narrow(address, frame)
    return case(said, "large", these=these, of=of, more=more)


def _narrow(address: str, frame: Frame) -> str:
    """How to give a route back the MTU of its interface, where somebody wrote a smaller one."""
    mtus = {row.interface: row.mtu for row in frame.rows("links")}
    to = address.removeprefix("::ffff:")
    for row in (one for one in frame.rows("ways") if one.to == to and not one.source):
        most = mtus.get(row.interface or "") or 0
        if row.network and row.mtu and row.mtu < most and not row.learnt:
            six, via = "-6 " if ":" in to else "", f" via {row.gateway}" if row.gateway else ""
            return (
                f" If the path carries the {most:,} bytes of {row.interface}: `ip {six}route "
                f"change {row.network}{via} dev {row.interface}`, with the other words that `ip "
                f"{six}route show {row.network}` prints, but without its mtu."
            )
    return ""


def _of_route(address: str, frame: Frame) -> tuple[str, int]:
    """The MTU to an address, with its route or interface in words; none: it is not known."""
    mtus = {row.interface: row.mtu for row in frame.rows("links")}
    for row in frame.rows("ways"):
        if row.to == address.removeprefix("::ffff:") and row.interface and not row.source:
            if row.mtu and row.network:
                learnt = "learnt, " if row.learnt else ""
                return f"{learnt}route {row.network} dev {row.interface}: {row.mtu}", row.mtu
            mtu = row.mtu or mtus.get(row.interface) or 0
            return (f"{row.interface} {mtu}" if mtu else ""), mtu
    return "", 0


def _rules(address: str, port: str, frame: Frame) -> list[NftablesRow]:
    """The rules of the packet filter that may have dropped packets to that end in this look."""
    dropped = [
        row for row in frame.rows("drop_reasons")
        if row.reason == FILTERED and row.where == "here" and row.packets
        and (row.to, str(row.to_port)) == (address.removeprefix("::ffff:"), port)
    ]  # fmt: skip
    return filtered(Host.of(frame), dropped) if dropped and port else []


def _programs(address: str, port: str, frame: Frame) -> str:
    """The BPF programs of the route, if packets to that end were dropped by them in this look."""
    to = address.removeprefix("::ffff:")
    dropped = any(
        row.place == PROGRAMMED and row.where == "here" and (row.to, str(row.to_port)) == (to, port)
        for row in frame.rows("drop_reasons")
    )  # fmt: skip
    return route_programs(Host.of(frame), to) if dropped else ""


def _stands(address: str, frame: Frame) -> bool:
    """Whether the kernel, asked for a route to the address, has one."""
    plain = address.removeprefix("::ffff:")
    rows = [row for row in frame.rows("ways") if row.to == plain and not row.arrives]
    return bool(rows) and not any(row.error for row in rows)


def _abroad(said: Words, argument: str, who: str) -> Words:
    """A name that a program of another network namespace has."""
    name = argument.removeprefix(PEER).partition(",")[2]
    return case(said, "abroad", socket=name, who=who, pid=_number(who))


def _of_device(said: Words, error: str, argument: str, frame: Frame) -> Words:
    if argument.startswith(DEVICE):
        return _without_device(said, int(argument.removeprefix(DEVICE)), frame)
    return _attached(said, argument.removeprefix(TUN), frame) if error == "EBUSY" else said


def _attached(said: Words, nic: str, frame: Frame) -> Words:
    """Which program has a TUN or TAP interface that another one wants."""
    rows = (row for row in frame.rows("tun_readers") if row.interface == nic)
    row = next(rows, None)
    if row is None:
        return said
    return case(said, "attached", reader=f"{row.name}[{row.pid}]", pid=row.pid, nic=nic)


def _without_device(said: Words, index: int, frame: Frame) -> Words:
    """A socket that is bound to a device, by number, which is gone or is another now."""
    links = {row.index: row for row in frame.rows("links")}
    if not links:
        return said
    if (link := links.get(index)) is not None:
        return case(said, "bound", nic=link.interface)
    return case(said, "gone", index=index)


def _refused(said: Words, by: str, to: str = "", family: str = "") -> Words:
    """What of the program itself, or of its control group, may have refused the call.

    `to`: an address to which a route stands, though the call says that there is none; `family` of
    addresses that the kernel has, though it says that it does not.
    """
    named = by.split(",")
    programs = [one for one in named if one != _SECCOMP]
    if programs:
        shown = " and ".join(map(program, programs[:3]))
        first, _, group = programs[0].partition("@")
        unit = group.rpartition("/")[2]
        asks = f"`systemctl show -p {setting(first)} {unit}` shows it." if setting(first) else (
            f"`bpftool prog show name {first}` and `bpftool cgroup tree` show it; ask who loads it."
        )  # fmt: skip
        return case(said, "grouped", programs=shown, asks=asks)
    if to:
        return case(said, "answered", to=to)
    if family:
        return case(said, "kept-out", family=family)
    return case(said, "sealed", low=said.means[:1].lower() + said.means[1:])
