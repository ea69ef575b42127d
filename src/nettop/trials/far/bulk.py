"""Transfer from memory or a file to memory or a file over TCP: many streams, either direction.

The sender reads one file, the receiver writes one.
"""

import contextlib
import os
import select
import socket
import struct
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Dict, Iterator, List, Optional, Tuple

from nettop.trials.far.listener import PATIENCE, STRANGERS, accept, open_socket
from nettop.trials.far.offload import Refusal, ZeroCopy, busy_poll
from nettop.trials.far.protocol import pin, send, stopping, watch_input

if TYPE_CHECKING:
    from nettop.trials.far.schema import HelperOptions

CONGESTION = 13  # TCP_CONGESTION
MAXSEG = 2  # TCP_MAXSEG
RECORD = 128 << 10  # bytes of a write of one connection, or of a paced one
RECORDS = 512 << 10  # of several connections: fewer turns cost a fifth less CPU time


ROUND = 1 << 30  # bytes that are written before the same blocks are written again
FLUSH = 64 << 20  # bytes between two waits for the device
ROOM = 2 * ROUND  # bytes that must be free


@contextlib.contextmanager
def told(path: str) -> Iterator[None]:
    """An error of the file system as a Refusal."""
    try:
        yield
    except OSError as error:
        raise Refusal("{}: {}".format(path, error.strerror)) from None


class Reading:
    """A file that is read again and again, from the device: read pages leave the page cache."""

    def __init__(self, path: str) -> None:
        self.path = path
        with told(path):
            self.file = os.open(path, os.O_RDONLY)
            if not os.pread(self.file, 1, 0):
                raise Refusal("{}: the file is empty".format(path))
            self.rewind()

    def rewind(self) -> None:
        """Begin again, without what the page cache has (posix_fadvise(2))."""
        os.posix_fadvise(self.file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.lseek(self.file, 0, os.SEEK_SET)

    def fill(self, memory: memoryview) -> memoryview:
        """The next part of the file, at most so much; Refusal."""
        with told(self.path):
            count = os.readv(self.file, [memory])
            if not count:
                self.rewind()
                count = os.readv(self.file, [memory])
        return memory[:count]


class Writing:
    """A new file in a folder, without a name: it is gone with the process, however that ends."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        with told(folder):
            free = os.statvfs(folder)
            if free.f_bavail * free.f_frsize < ROOM:
                raise Refusal("{}: less than {} GiB are free".format(folder, ROOM >> 30))
            self.file, name = tempfile.mkstemp(prefix="nettop-", dir=folder)
            os.unlink(name)
        self.written = self.unflushed = 0

    def store(self, memory: memoryview) -> None:
        """Write it, and now and then wait until the device has it; Refusal."""
        with told(self.folder):
            while len(memory):
                count = os.write(self.file, memory)
                memory = memory[count:]
                self.written += count
                self.unflushed += count
            if self.written >= ROUND:
                self.written = os.lseek(self.file, 0, os.SEEK_SET)
        if self.unflushed >= FLUSH:
            self.flush()

    def flush(self) -> None:
        """Wait until the device has all; Refusal."""
        with told(self.folder):
            os.fdatasync(self.file)
        self.unflushed = 0


def reading(path: Optional[str]) -> Optional[Reading]:
    """The file to read; None without one. Refusal."""
    return Reading(path) if path else None


def writing(folder: Optional[str]) -> Optional[Writing]:
    """The file to write; None without one. Refusal."""
    return Writing(folder) if folder else None


class Connection:
    """One connection and the number of bytes sent or received on it."""

    def __init__(
        self,
        sock: socket.socket,
        pours: bool,
        zero_copy: bool = False,
        source: Optional[Reading] = None,
        sink: Optional[Writing] = None,
    ) -> None:
        self.sock = sock
        self.pours = pours
        self.bytes = 0
        self.source, self.sink = source, sink
        self.refusal = ""
        self.zero_copy: Optional[ZeroCopy] = ZeroCopy(sock) if pours and zero_copy else None
        self.transmit = self.zero_copy.send if self.zero_copy else sock.send

    def move(self, memory: memoryview) -> bool:
        """Send or receive one record in `memory`; False if the other side has closed."""
        try:
            if self.source:
                data = self.source.fill(memory)
                self.sock.sendall(data)
                moved = len(data)
            else:
                moved = self.transmit(memory) if self.pours else self.sock.recv_into(memory)
            if self.sink:
                self.sink.store(memory[:moved])
        except BlockingIOError:
            return True
        except Refusal as refusal:  # of the disk
            self.refusal = str(refusal)
            return False
        except OSError:
            return False
        self.bytes += moved
        return moved > 0

    def over(self, until: float) -> bool:
        """Whether a sender has reached its time; a receiver reads until end of file.

        One that gets the CPU too late sends a record, so that no test moves nothing for that.
        """
        late = bool(self.bytes) and time.monotonic() >= until
        return self.pours and (late or stopping.is_set())

    def end(self) -> None:
        """End the sending direction (FIN), or wait until the device has what was received."""
        if self.sink:
            try:
                self.sink.flush()
            except Refusal as refusal:
                self.refusal = str(refusal)
        if self.pours:
            with contextlib.suppress(OSError):
                self.sock.shutdown(socket.SHUT_WR)


def alone(one: Connection, memory: memoryview, until: float, pace: float) -> None:
    """Move the only connection of a thread, at `pace` bytes per second (0: unlimited)."""
    begun = time.monotonic()
    while not one.over(until) and one.move(memory):
        if pace and one.pours:
            ahead = one.bytes / pace - (time.monotonic() - begun)
            if ahead > 0.001:
                time.sleep(ahead)
    one.end()


def in_turn(share: List[Connection], memory: memoryview, until: float) -> None:
    """Move the connections of a thread: each one that is ready moves one record.

    After one full record, wake only for full records (SO_RCVLOWAT): waking for less costs a third
    of the rate. A connection on a slow path that never had a full record is read as data arrives.
    """
    fast = set()
    held = {one.sock.fileno(): one for one in share}
    with select.epoll() as ready:
        for number, one in held.items():
            one.sock.setblocking(False)
            ready.register(number, select.EPOLLOUT if one.pours else select.EPOLLIN)
        while held:
            for number, _ in ready.poll():
                one = held[number]
                before = one.bytes
                if one.over(until) or not one.move(memory):
                    ready.unregister(number)
                    one.end()
                    del held[number]
                elif not one.pours and number not in fast and one.bytes - before == len(memory):
                    fast.add(number)
                    one.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, len(memory))


def begin(work: List[Connection], length: int, until: float, pace: float) -> List[threading.Thread]:
    """Start a thread per usable core; more would compete for the cores and the interpreter lock.

    A paced connection sleeps most of the time, one with a file waits: each has its own thread.
    """
    waits = pace or any(one.source or one.sink for one in work)
    cores = len(work) if waits else min(len(work), len(os.sched_getaffinity(0)))
    threads = []
    for number in range(cores):
        share = work[number::cores]
        memory = memoryview(bytearray(length))
        if len(share) > 1:
            thread = threading.Thread(target=in_turn, args=(share, memory, until), daemon=True)
        else:
            lone = (share[0], memory, until, pace)
            thread = threading.Thread(target=alone, args=lone, daemon=True)
        thread.start()
        threads.append(thread)
    return threads


def state(sock: socket.socket) -> Dict[str, int]:
    """tcp_info: round trips in µs, window in segments, retransmitted segments (linux/tcp.h).

    `min_rtt` needs Linux 4.6. Empty if the socket has no tcp_info.
    """
    try:
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 152)
    except OSError:
        return {}
    if len(info) < 104:
        return {}
    words = struct.unpack("24I", info[8:104])
    values = {"rtt": words[15], "cwnd": words[18], "mss": words[2], "retrans": words[23]}
    if len(info) >= 152:
        values["min_rtt"] = struct.unpack("I", info[148:152])[0]
    return values


def prepare(sock: socket.socket, options: "HelperOptions") -> None:
    """Set what must be set before connect() or listen()."""
    window, mss = options.get("window"), options.get("mss")
    congestion = options.get("congestion")
    busy_poll(sock, options)
    if window:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, window)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
    if mss:
        sock.setsockopt(socket.IPPROTO_TCP, MAXSEG, mss)
    if congestion:
        sock.setsockopt(socket.IPPROTO_TCP, CONGESTION, congestion.encode())


def accepted(options: "HelperOptions", count: int) -> List[Tuple[socket.socket, bool]]:
    """Listen, report the port, accept `count` connections; each with whether this end sends."""
    try:
        listening = open_socket(options, socket.SOCK_STREAM)
    except OSError as error:
        send(error=error.strerror or str(error))
        return []
    with listening:
        prepare(listening, options)
        listening.listen(max(count, STRANGERS))  # before the port is reported
        send(port=listening.getsockname()[1])
        sockets = accept(listening, options, count)
    if len(sockets) < count:
        send(error="no connection within {:.0f} s: is there a firewall?".format(PATIENCE))
    return [(sock, direction == b">") for sock, direction in sockets]


def connected(options: "HelperOptions", count: int) -> List[Tuple[socket.socket, bool]]:
    """`count` connections to the listening end; each with whether this end sends."""
    sockets: List[Tuple[socket.socket, bool]] = []
    token = bytes.fromhex(options["token"])
    family = socket.AF_INET6 if options.get("v6") else socket.AF_INET
    for number in range(count):
        pours = number < int(options["pours"])
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            prepare(sock, options)
            sock.settimeout(10)
            sock.connect((options["to"], int(options["port"] or 0)))
            sock.sendall(token + (b"<" if pours else b">"))
        except OSError as error:
            send(error="cannot connect to {}: {}".format(options["to"], error.strerror or error))
            return []
        except Refusal:
            sock.close()
            raise
        sock.settimeout(None)
        sockets.append((sock, pours))
    return sockets


def main(options: "HelperOptions") -> None:
    """Connect to `to`, or listen without it; `pours` of the `streams` connections send.

    The connecting end sends one byte after its token: `<` if it sends, `>` if it receives.
    """
    watch_input()
    pin(options.get("cpus"))
    streams = int(options["streams"])
    try:
        sockets = connected(options, streams) if options.get("to") else accepted(options, streams)
        zero_copy = bool(options.get("zero_copy"))
        file, into = options.get("file"), options.get("into")
        work = [
            Connection(
                sock, pours, zero_copy, reading(file if pours else None),
                writing(None if pours else into),
            )
            for sock, pours in sockets
        ]  # fmt: skip
    except Refusal as refusal:
        send(error=str(refusal))
        return
    except OSError as error:
        send(error="{}: {}".format(error.strerror, options.get("congestion") or "socket"))
        return
    if len(sockets) < streams:
        return
    pace = float(options.get("rate") or 0) / 8 / max(1, sum(one.pours for one in work))
    length = int(options.get("length") or record(streams, pace))
    begun = time.monotonic()
    until = begun + float(options["seconds"])
    report(work, begin(work, length, until, pace), begun, until)


def record(streams: int, pace: float) -> int:
    """Bytes of a write, if the user does not say."""
    return RECORD if streams == 1 or pace else RECORDS


def report(
    work: List[Connection], threads: List[threading.Thread], begun: float, until: float
) -> None:
    """Report each second what was received, and the totals at the end."""
    last, before = begun, 0
    retrans = 0
    number = 0
    while True:
        number += 1
        for thread in threads:
            thread.join(max(0.0, begun + number - time.monotonic()))
        now = time.monotonic()
        got = sum(one.bytes for one in work if not one.pours)
        states = [state(one.sock) for one in work if one.pours]
        sent = sum(s.get("retrans", 0) for s in states)
        send(
            start=last - begun, seconds=now - last, received=got - before,
            retransmits=sent - retrans, states=states,
        )  # fmt: skip
        last, before, retrans = now, got, sent
        if not any(thread.is_alive() for thread in threads) or now > until + 10:
            break
    refusals = [one.refusal for one in work if one.refusal]
    if refusals:
        send(error=refusals[0])
        return
    copies = [one.zero_copy for one in work if one.zero_copy]
    for one in copies:
        one.read()
    if copies:
        send(
            zero_copied=sum(one.sends for one in copies),
            copied=sum(one.copied for one in copies),
        )  # fmt: skip
    send(
        total=sum(one.bytes for one in work if not one.pours),
        poured=sum(one.bytes for one in work if one.pours),
        lasted=last - begun,
    )
