"""Memory to memory over TCP: a source and a sink, many streams, in either direction."""

import socket
import struct
import threading
import time
from typing import Any, Dict, List

from nettop.trials.far.link import listen, pin, say, stopping

CONGESTION = 13  # TCP_CONGESTION
MAXSEG = 2  # TCP_MAXSEG


class Counted:
    """One connection and the bytes that passed through it."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.bytes = 0
        self.done = False

    def swallow(self, length: int) -> None:
        """Receive into the same memory until the other side ends."""
        room = memoryview(bytearray(length))
        receive = self.sock.recv_into
        try:
            while True:
                got = receive(room)
                if not got:
                    break
                self.bytes += got
        except OSError:
            pass
        self.done = True

    def pour(self, length: int, until: float, pace: float) -> None:
        """Send the same memory until `until`, at `pace` bytes a second (0: as fast as it goes)."""
        record = memoryview(bytes(length))
        send = self.sock.send
        clock = time.monotonic
        begun = clock()
        try:
            while clock() < until and not stopping.is_set():
                self.bytes += send(record)
                if pace:
                    ahead = self.bytes / pace - (clock() - begun)
                    if ahead > 0.001:
                        time.sleep(ahead)
            self.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        self.done = True


def state(sock: socket.socket) -> Dict[str, int]:
    """tcp_info: round trips in µs, window in segments, retransmitted segments (linux/tcp.h).

    The least round trip is told by Linux 4.6 and later.
    """
    try:
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 152)
    except OSError:
        return {}
    if len(info) < 104:
        return {}
    words = struct.unpack("24I", info[8:104])
    found = {"rtt": words[15], "cwnd": words[18], "mss": words[2], "retrans": words[23]}
    if len(info) >= 152:
        found["min_rtt"] = struct.unpack("I", info[148:152])[0]
    return found


def prepare(sock: socket.socket, options: Dict[str, Any]) -> None:
    """What has to be set before connecting or listening."""
    if options.get("window"):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, int(options["window"]))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(options["window"]))
    if options.get("mss"):
        sock.setsockopt(socket.IPPROTO_TCP, MAXSEG, int(options["mss"]))
    if options.get("congestion"):
        sock.setsockopt(socket.IPPROTO_TCP, CONGESTION, str(options["congestion"]).encode())


def accept(options: Dict[str, Any], count: int) -> List[socket.socket]:
    """Listen, say where, take `count` connections."""
    family = socket.AF_INET6 if options.get("v6") else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        prepare(door, options)
        try:
            door.bind(("", int(options.get("port") or 0)))
        except OSError as error:
            say(error="port {}: {}".format(options.get("port"), error.strerror))
            return []
        door.listen(count)
        say(port=door.getsockname()[1])
        door.settimeout(20)
        found: List[socket.socket] = []
        try:
            while len(found) < count:
                sock, _ = door.accept()
                sock.settimeout(None)
                found.append(sock)
        except OSError:
            say(error="nobody connected within 20 s: is there a firewall?")
        return found


def connect(options: Dict[str, Any], count: int) -> List[socket.socket]:
    """`count` connections to the listening end."""
    found: List[socket.socket] = []
    family = socket.AF_INET6 if options.get("v6") else socket.AF_INET
    for _ in range(count):
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            prepare(sock, options)
            sock.settimeout(10)
            sock.connect((options["to"], int(options["port"])))
        except OSError as error:
            say(error="cannot connect to {}: {}".format(options["to"], error.strerror or error))
            return []
        sock.settimeout(None)
        found.append(sock)
    return found


def main(options: Dict[str, Any]) -> None:
    """`to` connects, else listens; `pours` of the `streams` connections send, the rest receive.

    Which connection does what is told by one byte that the connecting end sends first.
    """
    listen()
    pin(options.get("cpus"))
    streams = int(options["streams"])
    try:
        socks = connect(options, streams) if options.get("to") else accept(options, streams)
    except OSError as error:
        say(error="{}: {}".format(error.strerror, options.get("congestion") or "socket"))
        return
    if len(socks) < streams:
        return
    roles = []
    for number, sock in enumerate(socks):
        if options.get("to"):
            pours = number < int(options["pours"])
            sock.sendall(b"<" if pours else b">")
        else:
            pours = sock.recv(1) == b">"
        roles.append(pours)
    work = [Counted(sock) for sock in socks]
    length = int(options.get("length") or 131072)
    pace = float(options.get("rate") or 0) / 8 / max(1, sum(roles))
    begun = time.monotonic()
    until = begun + float(options["seconds"])
    for each, pours in zip(work, roles):
        todo = (each.pour, (length, until, pace)) if pours else (each.swallow, (length,))
        threading.Thread(target=todo[0], args=todo[1], daemon=True).start()
    report(work, roles, begun, until)


def report(work: List[Counted], roles: List[bool], begun: float, until: float) -> None:
    """Each second what passed, and everything at the end."""
    last, before = begun, 0
    retrans = 0
    number = 0
    while True:
        number += 1
        while time.monotonic() < begun + number and not all(each.done for each in work):
            time.sleep(0.005)
        now = time.monotonic()
        got = sum(each.bytes for each, pours in zip(work, roles) if not pours)
        states = [state(each.sock) for each, pours in zip(work, roles) if pours]
        sent = sum(s.get("retrans", 0) for s in states)
        say(
            start=last - begun, seconds=now - last, received=got - before,
            retransmits=sent - retrans, states=states,
        )  # fmt: skip
        last, before, retrans = now, got, sent
        if all(each.done for each in work) or now > until + 10:
            break
    say(
        total=sum(each.bytes for each, pours in zip(work, roles) if not pours),
        poured=sum(each.bytes for each, pours in zip(work, roles) if pours),
        lasted=last - begun,
    )
