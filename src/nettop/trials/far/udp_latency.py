"""Request and response over UDP: one end sends requests and measures, the other answers."""

import os
import socket
import struct
import time
from typing import TYPE_CHECKING, Dict, List, Optional

from nettop.trials.far.listener import admit, empty, knock, open_socket
from nettop.trials.far.offload import Refusal, busy_poll
from nettop.trials.far.protocol import pin, send, stopping, watch_input

if TYPE_CHECKING:
    from nettop.trials.far.schema import HelperOptions, Message

TIMESTAMPNS = 35  # SO_TIMESTAMPNS: receive time stamp of the kernel, as ancillary data
PATIENCE = 0.5  # seconds after which an answer counts as lost
STAMPED = 0.5  # seconds of exchanges with the time stamp of the kernel


def answer(options: "HelperOptions") -> None:
    """Send every datagram of the other end back."""
    try:
        listening = open_socket(options, socket.SOCK_DGRAM)
    except OSError as error:
        send(error=error.strerror or str(error))
        return
    with listening as sock:
        busy_poll(sock, options)
        send(port=sock.getsockname()[1])
        if not admit(sock, options):
            return
        sock.settimeout(None)
        room = bytearray(65536)
        view = memoryview(room)
        receive, transmit = sock.recv_into, sock.send
        size, reply = 0, view[:0]
        while True:
            try:
                got = receive(room)
                if got != size:  # a view is a fifth of the instructions
                    size, reply = got, view[:got]
                transmit(reply)
            except OSError:
                continue


def ask(options: "HelperOptions") -> None:
    """Measure each size for `seconds` or `count` exchanges; report the times as a histogram."""
    family = socket.AF_INET6 if options.get("v6") else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        busy_poll(sock, options)
        try:
            sock.connect((options["to"], int(options["port"] or 0)))
        except OSError as error:
            send(error="cannot reach {}: {}".format(options["to"], error.strerror or error))
            return
        if not knock(sock, bytes.fromhex(options["token"])):
            send(error="{} does not answer: is there a firewall?".format(options["to"]))
            return
        sock.settimeout(None)
        timeout = struct.pack("ll", 0, int(PATIENCE * 1e6))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeout)
        for size in options["sizes"]:
            exchange(sock, int(size), 0.2, None)  # fills the caches and the neighbour table
            send(**exchange(sock, int(size), float(options["seconds"]), options.get("count")))
            if stopping.is_set():
                return


def exchange(sock: socket.socket, size: int, seconds: float, count: "Optional[int]") -> "Message":
    """Round trips as the program sees them, and some that end at the kernel's time stamp.

    Only the clock, two system calls and their calls from Python lie between the two clock readings.
    """
    request = bytearray(os.urandom(min(size, 64)) + bytes(max(0, size - 64)))
    room = bytearray(65536)
    clock, transmit, receive = time.perf_counter, sock.send, sock.recv_into
    stamp = struct.Struct("I").pack_into
    number, lost = 0, 0
    numbered = size >= 4
    until = clock() + seconds
    bins: Dict[int, int] = {}
    while True:
        number += 1
        if numbered:
            stamp(request, 0, number & 0xFFFFFFFF)
        begun = clock()
        if begun > until or (count and number > count) or stopping.is_set():
            break
        try:
            transmit(request)
            receive(room)
            took = clock() - begun
        except OSError:
            lost += 1
            continue
        if numbered and room[:4] != request[:4]:
            lost += 1  # a late answer to an earlier request
            empty(sock)
            continue
        index = int(took * 1e7)  # bins of 0.1 µs
        bins[index] = bins.get(index, 0) + 1
    stamps = [] if lost else stamped(sock, request, room)
    return {
        "size": size, "requests": number - 1, "lost": lost, "histogram": sorted(bins.items()),
        "stamped": stamps,
    }  # fmt: skip


def stamped(sock: socket.socket, request: bytearray, room: bytearray) -> List[float]:
    """Times from before the send to the kernel's receive time stamp, in µs, sorted.

    Of at most 2000 exchanges, as many as begin within `STAMPED` seconds: a long path allows few.
    Only these are stamped, since a stamp costs the kernel time.
    """
    times = []
    sock.setsockopt(socket.SOL_SOCKET, TIMESTAMPNS, 1)
    until = time.time() + STAMPED
    for _ in range(2000):
        begun = time.time()
        if begun > until:
            break
        try:
            sock.send(request)
            _, ancillary, _, _ = sock.recvmsg_into([room], 64)
        except OSError:
            continue
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == TIMESTAMPNS and len(data) == 16:
                seconds, nanoseconds = struct.unpack("qq", data)
                times.append(round(1e6 * (seconds + nanoseconds / 1e9 - begun), 2))
    sock.setsockopt(socket.SOL_SOCKET, TIMESTAMPNS, 0)
    return sorted(times)


def copying() -> float:
    """Seconds to copy one byte in memory, measured on more than the caches hold."""
    source, target = bytearray(32 << 20), bytearray(32 << 20)
    best = 1.0
    for _ in range(3):
        begun = time.perf_counter()
        target[:] = source
        best = min(best, time.perf_counter() - begun)
    return best / len(source)


def main(options: "HelperOptions") -> None:
    """Send requests to `to` and report; without it, answer."""
    watch_input()
    pin(options.get("cpus"))
    try:
        if options.get("to"):
            ask(options)
            send(copying=copying())
        else:
            answer(options)
    except Refusal as refusal:
        send(error=str(refusal))
