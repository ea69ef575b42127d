"""Send datagrams: paced one by one, or in batches as fast as the kernel accepts (sendmmsg)."""

import ctypes
import os
import socket
import struct
import time
from typing import TYPE_CHECKING, Dict, List

from nettop.trials.far.listener import knock
from nettop.trials.far.offload import SOL_UDP, UDP_SEGMENT, Refusal, switch
from nettop.trials.far.protocol import pin, send, stopping, watch_input
from nettop.trials.far.sample import cores, read

if TYPE_CHECKING:
    from nettop.trials.far.schema import HelperOptions

BATCH = 64
TICK = 0.001  # seconds between paced batches
HEAD = struct.Struct("!II")  # point, sequence number


class Vector(ctypes.Structure):
    """struct iovec."""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class Msghdr(ctypes.Structure):
    """struct msghdr."""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint32),
        ("vectors", ctypes.c_void_p),
        ("vector_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class Mmsghdr(ctypes.Structure):
    """struct mmsghdr: a msghdr, with its padding, and the number of bytes sent."""

    _fields_ = (("header", Msghdr), ("sent", ctypes.c_uint))


def paced(sock: socket.socket, size: int, point: int, count: int, spacing: float) -> int:
    """Send `count` numbered datagrams, `spacing` seconds apart (busy waiting); the number sent."""
    room = bytearray(max(size, HEAD.size))
    view = memoryview(room)[: max(size, HEAD.size)]
    clock, transmit, pack = time.perf_counter, sock.send, HEAD.pack_into
    due = clock()
    done = 0
    for number in range(count):
        pack(room, 0, point, number)
        while clock() < due:
            pass
        due += spacing
        try:
            transmit(view)
            done += 1
        except OSError:
            continue
    return done


def segmented(
    sock: socket.socket, size: int, point: int, count: int, spacing: float, segments: int
) -> int:
    """As `paced`, but so many datagrams a call, which the kernel or the NIC cuts (UDP_SEGMENT).

    `spacing` is the mean distance of two datagrams. Refusal if the first call fails.
    """
    size = max(size, HEAD.size)
    switch(sock, SOL_UDP, UDP_SEGMENT, size, "UDP_SEGMENT")
    room = bytearray(size * segments)
    clock, transmit, pack = time.perf_counter, sock.send, HEAD.pack_into
    due = clock()
    done = 0
    for first in range(0, count, segments):
        number = min(segments, count - first)
        for each in range(number):
            pack(room, each * size, point, first + each)
        while clock() < due:
            pass
        due += spacing * number
        try:
            transmit(memoryview(room)[: number * size])
            done += number
        except OSError as error:
            if not done:
                raise Refusal("this kernel refuses UDP_SEGMENT: " + str(error.strerror)) from None
    return done


def flood(sock: socket.socket, size: int, seconds: float, rate: float) -> int:
    """Send equal datagrams in batches for `seconds`, at most `rate` per second (0: unlimited).

    Returns the number sent. It sleeps between paced batches of about one millisecond, so that
    other programs on its core run. It does not catch up after a delay, because a burst would be
    lost for another reason.
    """
    payload = ctypes.create_string_buffer(os.urandom(min(size, 64)), max(1, size))
    vector = Vector(ctypes.addressof(payload), size)
    batch = (Mmsghdr * BATCH)()
    for message in batch:
        message.header.vectors = ctypes.addressof(vector)
        message.header.vector_count = 1
    sendmmsg = ctypes.CDLL(None, use_errno=True).sendmmsg
    number = sock.fileno()
    clock = time.perf_counter
    step = max(1, min(BATCH, int(rate * TICK)))
    begun = clock()
    done = skipped = 0
    while not stopping.is_set():
        now = clock() - begun
        if now >= seconds:
            break
        want = BATCH
        if rate:
            due = int(rate * now) - done - skipped
            if due < step:
                time.sleep((done + skipped + step) / rate - now)
                continue
            skipped += max(0, due - 2 * BATCH)
            want = min(BATCH, due)
        sent = sendmmsg(number, batch, want, 0)
        if sent > 0:
            done += sent
    return done


def busy(before: Dict[str, List[int]], after: Dict[str, List[int]]) -> float:
    """Percent busy of the busiest core between two readings of /proc/stat."""
    top = 0.0
    for cpu, old in before.items():
        steps = [new - was for new, was in zip(after.get(cpu, old), old)]
        whole = sum(steps)
        if whole > 0:
            top = max(top, 100.0 * (whole - steps[3] - steps[4]) / whole)
    return round(top, 1)


def connect(to: str, port: int, v6: bool) -> socket.socket:
    """A datagram socket connected to the other end."""
    sock = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
    sock.connect((to, port))
    return sock


def main(options: "HelperOptions") -> None:
    """Send each of `points` and report it; with a `token`, wait for the other end first."""
    watch_input()
    pin(options.get("cpus"))
    try:
        sock = connect(options["to"], int(options["port"] or 0), bool(options.get("v6")))
    except OSError as error:
        send(error="cannot reach {}: {}".format(options["to"], error.strerror or error))
        return
    token = options.get("token")  # none: the datagrams are captured, not received
    if token and not knock(sock, bytes.fromhex(token)):
        send(error="{} does not answer: is there a firewall?".format(options["to"]))
        return
    for number, point in enumerate(options["points"]):
        size = int(point["size"])
        before = cores(read("/proc/stat"))
        begun = time.perf_counter()
        segments = int(options.get("segments") or 1)
        if "spacing" in point and segments > 1:
            try:
                sent = segmented(
                    sock, size, number, int(point["count"]), float(point["spacing"]),
                    max(1, min(segments, 65507 // max(size, HEAD.size))),
                )  # fmt: skip
            except Refusal as refusal:
                send(error=str(refusal))
                return
        elif "spacing" in point:
            sent = paced(sock, size, number, int(point["count"]), float(point["spacing"]))
        else:
            sent = flood(sock, size, float(point["seconds"]), float(point.get("rate") or 0))
        lasted = time.perf_counter() - begun
        load = busy(before, cores(read("/proc/stat")))
        send(point=number, size=size, sent=sent, lasted=lasted, busy=load)
        if stopping.wait(float(options.get("pause", 0.1))):
            return
