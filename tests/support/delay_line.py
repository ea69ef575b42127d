"""A path with a round trip between two namespaces, where the kernel has no sch_netem.

    delay_line.py HERE THERE RTT_MS MTU

Replaces `eth0` of both namespaces by tun devices (Documentation/networking/tuntap.rst) with the
addresses of `veth`. A process for each direction reads packets from one device and writes them to
the other half a round trip later. Packets keep the offloads of their sender (IFF_VNET_HDR): TCP
passes in pieces of up to 64 KB, which are never cut to the MTU. What exceeds HELD is dropped, as in
the buffer of a router. Prints `ready`; ends with its parent, and the devices with it.
"""

import fcntl
import os
import select
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from veth import FAR, NEAR

# linux/if_tun.h
SET_DEVICE, SET_OFFLOAD = 0x400454CA, 0x400454D0
TUN, NO_HEADER, OFFLOAD_HEADER = 0x0001, 0x1000, 0x4000
CHECKSUM, TCP4, TCP6 = 0x01, 0x02, 0x04
PACKET: Final = 10 + 65535  # struct virtio_net_hdr and the longest packet
HELD: Final = 256 << 20  # bytes on the way in one direction
AT_ONCE: Final = 64  # packets read before the next ones are due


def device(name: str) -> int:
    """A tun device; its file, which does not block."""
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    flags = TUN | NO_HEADER | OFFLOAD_HEADER
    fcntl.ioctl(file, SET_DEVICE, struct.pack("16sH22x", name.encode(), flags))
    fcntl.ioctl(file, SET_OFFLOAD, CHECKSUM | TCP4 | TCP6)
    return file


def place(name: str, space: str, address: str, mtu: int) -> int:
    """The device as `eth0` of a namespace; its file."""
    file = device(name)
    _ip("link", "set", name, "netns", space, "name", "eth0")
    _ip("-n", space, "addr", "add", f"{address}/24", "dev", "eth0")
    _ip("-n", space, "link", "set", "eth0", "mtu", f"{mtu}", "txqueuelen", "10000", "up")
    return file


class Line:
    """Packets on the way, each due `delay` seconds after it came; beyond `most` bytes: lost."""

    def __init__(self, delay: float, most: int = HELD) -> None:
        self.delay, self.most, self.size = delay, most, 0
        self.way: deque[tuple[float, bytes]] = deque()

    def take(self, packet: bytes, now: float) -> None:
        """A packet enters, if there is room."""
        if self.size + len(packet) <= self.most:
            self.size += len(packet)
            self.way.append((now + self.delay, packet))

    def due(self, now: float) -> Iterator[bytes]:
        """The packets that arrive until `now`."""
        while self.way and self.way[0][0] <= now:
            packet = self.way.popleft()[1]
            self.size -= len(packet)
            yield packet

    def wait(self, now: float) -> float | None:
        """Seconds until the next packet is due; None: none is on the way."""
        return max(0.0, self.way[0][0] - now) if self.way else None


def relay(source: int, target: int, delay: float, clock: Callable[[], float]) -> None:
    """Move packets in one direction, without end."""
    line = Line(delay)
    while True:
        for packet in line.due(clock()):
            try:
                os.write(target, packet)
            except (BlockingIOError, OSError):
                continue  # the other end is down or full: lost
        select.select([source], [], [], line.wait(clock()))
        for _ in range(AT_ONCE):
            try:
                line.take(os.read(source, PACKET), clock())
            except BlockingIOError:
                break


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def path(here: str, there: str, rtt_ms: float, mtu: int) -> Iterator[None]:
    """The delay line between two namespaces, while the block runs."""
    argv = [sys.executable, __file__, here, there, f"{rtt_ms:g}", f"{mtu}"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        try:
            if running.stdout.readline() != b"ready\n":
                raise SystemExit("the delay line did not start")
            yield
        finally:
            assert running.stdin is not None
            running.stdin.close()


def main() -> None:
    """Make the devices and move packets until standard input ends."""
    here, there, rtt_ms, mtu = sys.argv[1:]
    _ip("-n", here, "link", "del", "eth0")  # the veth pair: its other end goes with it
    near = place(f"dn{os.getpid()}", here, NEAR, int(mtu))
    far = place(f"df{os.getpid()}", there, FAR, int(mtu))
    delay = float(rtt_ms) / 2000
    children = []
    for source, target in ((near, far), (far, near)):
        child = os.fork()
        if not child:
            relay(source, target, delay, time.monotonic)
        children.append(child)
    print("ready", flush=True)
    sys.stdin.read()
    for child in children:
        os.kill(child, 15)


if __name__ == "__main__":
    main()
