"""More programs at fault, and more packets that no socket sends: `python woes.py KIND …`.

nft FAMILY HOOK WHAT [NUMBER]  one rule of nf_tables, FAMILY inet, bridge or netdev (on eth0),
                       HOOK by number. WHAT: `every` drops one packet of NUMBER and counts,
                       `silently` does so without a counter, `track` looks at the state, `over`
                       drops what exceeds NUMBER packets a second
sources ADDRESS PORT PER_S     a datagram each from a port of its own
reuse PORT             two sockets listen on one port, and one of them is forgotten
joins GROUP PORT SLEEP         a multicast reader that pauses after each datagram
casts ADDRESS PORT PER_S       datagrams to a broadcast or multicast address
drips ADDRESS PORT BUFFER PER_S  datagrams from a small send buffer, never waiting for room
quota NAME PERCENT COMMAND     run in a cgroup of that name with a quota of one CPU
memory NAME BYTES COMMAND      run in a cgroup of that name with a limit of its socket memory
forget CONTROLLER NAME         remove an empty cgroup
talks ADDRESS PORT NUMBER      that many connections, of which one says something now and then
xdp IF EVERY           a program of XDP in generic mode that drops one packet of EVERY
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

FAMILIES = {"inet": 1, "ip": 2, "netdev": 5, "bridge": 7, "ip6": 10}


def nft(family: str, hook: str, what: str, number: str = "0") -> None:
    """Written at once; the rule stays when this program ends."""
    import nft_bytes as made
    from netlink_bytes import message

    from nettop.host.netlink.codec import attribute

    def asked(raw: bytes, flags: int = 0x405) -> bytes:  # NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE
        return raw[:6] + struct.pack("=H", flags) + raw[8:16] + bytes([FAMILIES[family]]) + raw[17:]

    drawn = made.expression("numgen", made.be32(1, 1), made.be32(2, max(1, int(number))),
                            made.be32(3, 1), made.be32(4, 0))  # fmt: skip
    first = made.expression(
        "cmp", made.be32(1, 1), made.be32(2, 0), made.nest(3, attribute(1, bytes(4)))
    )
    over = made.expression("limit", made.be64(1, int(number)), made.be64(2, 1), made.be32(3, 5),
                           made.be32(4, 0), made.be32(5, 1))  # fmt: skip
    expressions = {
        "over": (over, made.counter(), made.verdict(made.DROP)),
        "every": (drawn, first, made.counter(), made.verdict(made.DROP)),
        "silently": (drawn, first, made.verdict(made.DROP)),
        "track": (made.expression("ct", made.be32(1, 1), made.be32(2, 0)), made.counter()),
    }[what]
    device = [made.text(3, "eth0")] if family == "netdev" else []
    place = made.nest(4, made.be32(1, int(hook)), made.be32(2, 0), *device)
    head = struct.pack(">BBH", FAMILIES[family], 0, 0)
    table = message(0xA00, head + made.text(1, "t"))
    chain = message(0xA03, head + made.text(1, "t") + made.text(3, "c") + place
                    + made.text(7, "filter") + made.be32(5, made.ACCEPT))  # fmt: skip
    batch = struct.pack(">BBH", 0, 0, 10)
    begin, end = (raw[:6] + struct.pack("=H", 1) + raw[8:]
                  for raw in (message(0x10, batch), message(0x11, batch)))  # fmt: skip
    rule = made.rule("c", 0, *expressions)
    door = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
    door.bind((0, 0))
    door.settimeout(5)
    door.send(b"".join((begin, asked(table), asked(chain), asked(rule, 0xC05), end)))
    for _ in range(3):
        error = struct.unpack_from("=i", door.recv(65536), 16)[0]
        if error:
            raise OSError(-error, os.strerror(-error))


def sources(address: str, port: str, per_s: str) -> None:
    """Each of them is a connection to a firewall."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for _ in _paced(float(per_s)):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as s:
            s.sendto(bytes(100), (address, int(port)))


def reuse(port: str) -> None:
    """A worker has died, its socket is still open in its parent."""
    both = []
    for _ in range(2):
        s = socket.socket(socket.AF_INET6)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        s.bind(("::", int(port)))
        s.listen(64)
        both.append(s)
    while True:
        both[0].accept()[0].close()


def joins(group: str, port: str, sleep: str) -> None:
    """Take a datagram, think."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", int(port)))
    to = socket.inet_aton(group) + socket.inet_aton("10.94.0.1")
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, to)
    while True:
        s.recv(65536)
        time.sleep(float(sleep))


def casts(address: str, port: str, per_s: str) -> None:
    """To all at once."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("10.94.0.2"))
    for _ in _paced(float(per_s)):
        s.sendto(bytes(200), (address, int(port)))


def drips(address: str, port: str, buffer: str, per_s: str) -> None:
    """What does not fit is lost."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, int(buffer))
    for _ in _paced(float(per_s)):
        with contextlib.suppress(OSError):
            s.sendto(bytes(1200), socket.MSG_DONTWAIT, (address, int(port)))


def quota(name: str, percent: str, *command: str) -> None:
    """cgroup v1, controller cpu."""
    place = _cgroup("cpu", name)
    (place / "cpu.cfs_period_us").write_text("100000")
    (place / "cpu.cfs_quota_us").write_text(str(int(percent) * 1000))
    _into(place, command)


def memory(name: str, limit: str, *command: str) -> None:
    """cgroup v1, controller memory, sockets of TCP."""
    place = _cgroup("memory", name)
    (place / "memory.kmem.tcp.limit_in_bytes").write_text(limit)
    _into(place, command)


def forget(controller: str, name: str) -> None:
    """After its last process."""
    _cgroup(controller, name).rmdir()


def talks(address: str, port: str, number: str) -> None:
    """Nearly all are idle."""
    many = [socket.create_connection((address, int(port))) for _ in range(int(number))]
    for one in itertools.cycle(many):
        one.sendall(bytes(300))
        time.sleep(0.05)


def xdp(interface: str, every: str) -> None:
    """Attached until the interface goes."""
    import ctypes

    from nettop.host.bpf import call
    from nettop.host.bpf.call import instruction as do

    code = b"".join((
        do(0x85, value=7),  # a random number
        do(0x57, value=int(every) - 1), do(0x55, offset=2),  # of a power of two
        do(0xB7, value=1), do(0x95),  # XDP_DROP
        do(0xB7, value=2), do(0x95),  # XDP_PASS
    ))  # fmt: skip
    body, licence = (
        ctypes.create_string_buffer(code, len(code)),
        ctypes.create_string_buffer(b"GPL"),
    )
    handle = call._call(5, struct.pack("=IIQQ", 6, len(code) // 8, ctypes.addressof(body),
                                       ctypes.addressof(licence)))  # fmt: skip
    inner = struct.pack("=HHi", 8, 1, handle) + struct.pack("=HHI", 8, 3, 2)  # XDP_FLAGS_SKB_MODE
    rest = struct.pack("=BxHiII", 0, 0, socket.if_nametoindex(interface), 0, 0)
    rest += struct.pack("=HH", 4 + len(inner), 43 | 0x8000) + inner
    door = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    door.send(struct.pack("=IHHII", 16 + len(rest), 19, 5, 1, 0) + rest)
    error = struct.unpack_from("=i", door.recv(65536), 16)[0]
    if error:
        raise OSError(-error, os.strerror(-error))


def _cgroup(controller: str, name: str) -> Path:
    """A cgroup of v1; `ip netns exec` hides the mount, so it is mounted where only this is seen."""
    root = Path("/sys/fs/cgroup")
    mount = ["mount", "-t", "cgroup", "-o", controller, "cgroup", str(root)]
    subprocess.run(mount, check=True)
    (root / name).mkdir(exist_ok=True)
    return root / name


def _into(place: Path, command: tuple[str, ...]) -> None:
    (place / "tasks").write_text(str(os.getpid()))
    os.execvp(command[0], command)


def _paced(per_s: float) -> Iterator[int]:
    from live.programs.ills import _paced as paced

    return paced(per_s)


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
