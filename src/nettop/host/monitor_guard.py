"""The process that starts the drop monitor and stops it, and the monitor's messages.

net/core/drop_monitor.c, include/uapi/linux/net_dropmon.h. The monitor belongs to no process, and a
socket that is closed does not stop it. So this one waits until its standard input ends, as it does
when the process that wants the monitor ends, however that happens. Where the guard is killed, that
process stops the monitor; SIGKILL of both leaves it on.

`ALERT` is a sum of places, of any kernel; `PACKET` (Linux 5.4) one packet, since 5.18 with its
reason. No message names the network namespace. They become lines of the table of drops; ValueError
for a damaged message.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import struct
import sys
from collections import Counter as Sums
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from .bpf.counting import IP, IP6, PORTED, protocol
from .netlink.codec import (
    Attributes,
    Field,
    Request,
    Table,
    attribute,
    attributes,
    decode,
    encode,
    messages,
    numbered,
)
from .netlink.kernel import Kernel

if TYPE_CHECKING:
    from subprocess import Popen

_STARTED: Final = b"!"
_ROOM: Final = 256  # bytes: what the guard writes is shorter
_END: Final = 5.0  # seconds until it must have stopped the monitor


def ask(kernel: Kernel, family: str, command: int, body: bytes, table: Table) -> Attributes:
    """The attributes of the first message that answers."""
    answer = kernel.ask(Request(family, command, body, f"{family}/{command}"))
    found = [decode(answer, start + 4, end, table) for _, start, end in messages(answer)]
    return found[0] if found else {}


@cache
def last_attribute() -> int:
    """The number of the last attribute that the kernel's monitor knows; 0 before Linux 5.4.

    -1 without a monitor. It is asked once: the kernel looks for the module each time.
    """
    with closing(Kernel()) as kernel, suppress(FileNotFoundError):
        # CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, CTRL_ATTR_MAXATTR
        name = attribute(2, FAMILY.encode() + b"\0")
        return int(ask(kernel, "nlctrl", 3, name, {5: Field("most")}).get("most", 0))
    return -1


def started(*, each: bool) -> Callable[[], None]:
    """Start the monitor by a guard; what stops it. OSError has the kernel's number."""
    import subprocess

    words = [sys.executable, "-I", "-m", __name__, *(["each"] if each else [])]
    pipe = subprocess.PIPE
    guard = subprocess.Popen(
        words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True, cwd="/",
    )  # fmt: skip
    said = os.read(guard.stdout.fileno(), _ROOM) if guard.stdout else b""
    if said[:1] != _STARTED:
        _ended(guard)
        number = said[0] if said else errno.ECHILD
        raise OSError(number, os.strerror(number))
    return partial(_end, guard, said[1:])


def _end(guard: Popen[bytes], before: bytes) -> None:
    """Let the guard stop the monitor; if it was killed, stop it here."""
    if (_ended(guard) or 0) < 0:
        with closing(Kernel()) as kernel, suppress(OSError):
            _stop(kernel, before)


def _ended(guard: Popen[bytes]) -> int | None:
    """End its input, and wait for its exit code."""
    from subprocess import TimeoutExpired

    for pipe in filter(None, (guard.stdin, guard.stdout)):
        pipe.close()
    with suppress(TimeoutExpired):  # it goes on alone
        guard.wait(_END)
    return guard.returncode


def _stop(kernel: Kernel, before: bytes) -> None:
    """Stop the monitor, and restore its settings if it has some."""
    kernel.change(FAMILY, STOP, b"")
    if before:
        kernel.change(FAMILY, CONFIG, before)


def main(words: Sequence[str]) -> None:
    """The guard: start the monitor, stop it when standard input ends, restore its settings.

    It writes `!` and those settings, or the number of the error.
    """
    kernel, before = Kernel(), b""
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)
    try:
        if last_attribute():  # else it is older than its settings
            known = ask(kernel, FAMILY, CONFIG_GET, b"", SETUP)
            before = encode(SETUP, known)
            each = {"alert_mode": EACH, "trunc_len": LENGTH}
            wanted = {**known, **(each if words else {"alert_mode": SUMMARY})}
            kernel.change(FAMILY, CONFIG, encode(SETUP, wanted))
        try:
            kernel.change(FAMILY, START, b"")
        except OSError:
            if before:
                kernel.change(FAMILY, CONFIG, before)
            raise
        with suppress(OSError):  # nobody reads it any more
            os.write(1, _STARTED + before)
            while os.read(0, 1):
                pass
        _stop(kernel, before)
    except OSError as error:
        with suppress(OSError):
            os.write(1, bytes([error.errno or errno.EIO]))


FAMILY: Final = "NET_DM"
ALERT, CONFIG, START, STOP, PACKET, CONFIG_GET, STATS_GET = 1, 2, 3, 4, 5, 6, 8
SUMMARY, EACH = 0, 1  # NET_DM_ALERT_MODE_SUMMARY, NET_DM_ALERT_MODE_PACKET
GROUP: Final = 1  # NET_DM_GRP_ALERT: net/netlink/genetlink.c keeps this number for it
REASON: Final = 23  # a kernel whose last attribute is lower gives no reasons
LENGTH: Final = 96  # bytes of a packet: the headers of link and network, and the ports
SETUP: Final = {1: Field("alert_mode", "B"), 9: Field("trunc_len"), 11: Field("queue_len")}
REPORT: Final = {
    2: Field("pc", "Q"), 3: Field("symbol", "text"), 4: Field("in_port", "nest", numbered(0, "at")),
    6: Field("proto", "H"), 7: Field("payload", "raw"), REASON: Field("reason", "text"),
}  # fmt: skip
STATS: Final = {12: Field("stats", "nest", {0: Field("dropped", "Q")})}
_POINT: Final = struct.Struct("=QI")  # struct net_dm_drop_point
_ETHERNET: Final = 14  # bytes of its header: to, from, protocol
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_OF: Final = re.compile(r"_*(tcp|udp)")  # functions that see no other protocol


def lines(
    datagram: bytes, place: Callable[[int], str], hosts: Mapping[int, bytes], *, alone: bool
) -> Sums[str]:
    """The lines of a message, with `{}` for the count, and their counts.

    `place` names a function by address. `hosts`: the hardware addresses of this network namespace
    by number of the interface. A packet that came to one of them, or is sent from one, is here;
    every packet is if there is no other namespace (`alone`).
    """
    found = Sums[str]()
    for _, start, end in messages(datagram):
        command = datagram[start] if end - start >= 4 else 0
        if command == ALERT:
            for address, count in _points(datagram, start + 4, end):
                name = place(address)
                of = match[1] if (match := _OF.match(name)) else "-"
                found[_line("NO_REASON", name, f"- {of} -", here=alone)] += count
        elif command == PACKET:
            found[_packet(decode(datagram, start + 4, end, REPORT), place, hosts, alone)] += 1
    return found


def _line(reason: str, place: str, rest: str, *, here: bool) -> str:
    return f"{reason} {{}} {place or '-'} {'here ' + rest if here else 'unknown - - -'}"


def _points(data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Places and counts (struct net_dm_alert_msg); place 0 is a device's own count, no packet."""
    for number, first, last in attributes(data, start, end):
        if number == 0 and last - first >= 4:
            entries = int.from_bytes(data[first : first + 4], sys.byteorder)
            for at in range(min(entries, (last - first - 4) // _POINT.size)):
                address, count = _POINT.unpack_from(data, first + 4 + at * _POINT.size)
                if address:
                    yield address, count


def _packet(
    report: Attributes, place: Callable[[int], str], hosts: Mapping[int, bytes], alone: bool
) -> str:
    raw, ether = report.get("payload", b""), report.get("proto", 0)
    came_by = report.get("in_port", {}).get("at", 0)
    to, sender, link = raw[:6], raw[6:12], raw[12:_ETHERNET] == ether.to_bytes(2, "big")
    leaves = next((at for at, own in hosts.items() if link and own == sender), 0)
    here = alone or bool(leaves if not came_by else link and hosts.get(came_by) == to)
    transport, ports = _transport(raw[_ETHERNET:] if link else raw, ether)
    port = ports[2:4] if came_by else ports[:2]
    rest = f"{came_by or leaves or '-'} {protocol(transport, ether)} "
    rest += str(int.from_bytes(port, "big") or "-")
    # the kernel names the place whatever kptr_restrict is; a long name is cut off
    name = re.split(r"[.+]", symbol := report.get("symbol", ""))[0]
    name = name if "+" in symbol and _NAME.fullmatch(name) else place(report.get("pc", 0))
    reason = report.get("reason", "")
    return _line(reason if _NAME.fullmatch(reason) else "NO_REASON", name, rest, here=here)


def _transport(packet: bytes, ether: int) -> tuple[int, bytes]:
    """Number of the transport protocol, and the ports as they are sent; 0 and none without them."""
    if ether == IP and len(packet) >= 20:
        number, header = packet[9], (packet[0] & 0xF) * 4
        first = not int.from_bytes(packet[6:8], "big") & 0x1FFF
    elif ether == IP6 and len(packet) >= 40:
        number, header, first = packet[6], 40, True
    else:
        return 0, b""
    return number, packet[header : header + 4] if first and number in PORTED else b""


if __name__ == "__main__":
    main(sys.argv[1:])
