"""Request and response over UDP: one end asks and takes the time, the other answers at once."""

import os
import socket
import struct
import time
from typing import Any, Dict, List

from nettop.trials.far.listener import admit, empty, knock, opened
from nettop.trials.far.protocol import listen, pin, say, stopping

TIMESTAMPNS = 35  # SO_TIMESTAMPNS: when the kernel took the packet in, as ancillary data
PATIENCE = 0.5  # seconds after which an answer is lost


def answer(options: Dict[str, Any]) -> None:
    """Send every datagram of the other end back."""
    try:
        listening = opened(options, socket.SOCK_DGRAM)
    except OSError as error:
        say(error=error.strerror)
        return
    with listening as sock:
        say(port=sock.getsockname()[1])
        if not admit(sock, options):
            return
        sock.settimeout(None)
        room = bytearray(65536)
        view = memoryview(room)
        receive, send = sock.recv_into, sock.send
        while True:
            try:
                send(view[: receive(room)])
            except OSError:
                continue


def ask(options: Dict[str, Any]) -> None:
    """For each size: exchanges for `seconds`, or `count` of them; the times as a histogram."""
    family = socket.AF_INET6 if options.get("v6") else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect((options["to"], int(options["port"])))
        except OSError as error:
            say(error="cannot reach {}: {}".format(options["to"], error.strerror or error))
            return
        if not knock(sock, bytes.fromhex(options["token"])):
            say(error="{} does not answer: is there a firewall?".format(options["to"]))
            return
        sock.settimeout(None)
        timeout = struct.pack("ll", 0, int(PATIENCE * 1e6))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeout)
        sock.setsockopt(socket.SOL_SOCKET, TIMESTAMPNS, 1)
        for size in options["sizes"]:
            exchange(sock, int(size), 0.2, None)  # caches and neighbours warm
            found = exchange(sock, int(size), float(options["seconds"]), options.get("count"))
            say(size=int(size), **found)
            if stopping.is_set():
                return


def exchange(sock: socket.socket, size: int, seconds: float, count: Any) -> Dict[str, Any]:
    """Round trips as the program sees them, and some up to where the kernel had the answer.

    Only the clock, the two system calls and their call from Python lie between the two readings.
    """
    request = bytearray(os.urandom(min(size, 64)) + bytes(max(0, size - 64)))
    room = bytearray(65536)
    clock, send, receive = time.perf_counter, sock.send, sock.recv_into
    stamp = struct.Struct("I").pack_into
    number, lost = 0, 0
    numbered = size >= 4
    until = clock() + seconds
    seen: Dict[int, int] = {}
    while True:
        number += 1
        if numbered:
            stamp(request, 0, number & 0xFFFFFFFF)
        begun = clock()
        if begun > until or (count and number > count) or stopping.is_set():
            break
        try:
            send(request)
            receive(room)
            took = clock() - begun
        except OSError:
            lost += 1
            continue
        if numbered and room[:4] != request[:4]:
            lost += 1  # the answer to an earlier question, late
            empty(sock)
            continue
        place = int(took * 1e7)  # bins of 0.1 µs
        seen[place] = seen.get(place, 0) + 1
    kernel = [] if lost else stamped(sock, request, room)
    return {"asked": number - 1, "lost": lost, "histogram": sorted(seen.items()), "kernel": kernel}


def stamped(sock: socket.socket, request: bytearray, room: bytearray) -> List[float]:
    """Some exchanges from before the send to the kernel's own receive time stamp, in µs, sorted."""
    found = []
    for _ in range(2000):
        begun = time.time()
        try:
            sock.send(request)
            _, ancillary, _, _ = sock.recvmsg_into([room], 64)
        except OSError:
            continue
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == TIMESTAMPNS and len(data) == 16:
                seconds, nanoseconds = struct.unpack("qq", data)
                found.append(round(1e6 * (seconds + nanoseconds / 1e9 - begun), 2))
    return sorted(found)


def copying() -> float:
    """Seconds to copy a byte in memory, far beyond the caches: what a byte costs the memory."""
    source, target = bytearray(32 << 20), bytearray(32 << 20)
    best = 1.0
    for _ in range(3):
        begun = time.perf_counter()
        target[:] = source
        best = min(best, time.perf_counter() - begun)
    return best / len(source)


def main(options: Dict[str, Any]) -> None:
    """Ask when told where `to`, answer otherwise."""
    listen()
    pin(options.get("cpus"))
    if options.get("to"):
        ask(options)
        say(copying=copying())
    else:
        answer(options)
