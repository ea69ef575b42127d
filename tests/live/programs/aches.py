"""Programs of the fifth ward of strangers: `python aches.py KIND …`.

wall FAMILY HOOK WORD…   one rule of nf_tables without a counter, and it stays: tcp:PORT udp:PORT
                         icmp:TYPE icmpv6 new over:N (a second) count:N (connections), then drop
translate FIRST LAST     masquerade TCP to these ports; it stays
xdp IF NUMBER            a program at IF that drops one packet of NUMBER that arrive
sieve PORT               read datagrams by a socket whose own filter drops a quarter of them
portions PORT            answer requests in three writes, without TCP_NODELAY
needs ADDRESS PORT       a request of 100 bytes, the whole answer, the next request
gulps PORT [RCVBUF]      read all datagrams, IPv4 and IPv6
puffs ADDRESS PORT NUMBER PER_S [BYTES]   so many datagrams at once, PER_S times a second
hasty ADDRESS PORT PER_S datagrams from a socket that does not wait
dials ADDRESS PORT PER_S [KEPT]   connections at a pace; each is closed when KEPT others have begun
knocks ADDRESS PORT NUMBER PER_S  so many connections at once, PER_S times a second
rests ADDRESS PORT NUMBER   so many connections that say nothing
queries ADDRESS PER_S    a socket and a datagram to port 53 for each name
flaps IF UP DOWN         so many seconds each
quota PERCENT COMMAND…   in a control group that may use so much of one CPU
purse BYTES COMMAND…     in a control group whose TCP sockets may hold so many bytes
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

from live.programs.ills import _listener, _paced

ASKED, PARTS = 100, (120, 300, 200)  # bytes of a request, and of the parts of its answer
FAMILIES = {"inet": 1, "ip": 2}
HOOKS = {"prerouting": 0, "input": 1, "forward": 2, "output": 3, "postrouting": 4}
GROUPS = Path("/sys/fs/cgroup")
SO_ATTACH_FILTER, UDP_SEGMENT = 26, 103
RANDOM = 0xFFFFF038  # SKF_AD_OFF + SKF_AD_RANDOM, linux/filter.h
BPF = {"x86_64": 321, "aarch64": 280}  # the number of the system call


def wall(family: str, hook: str, *words: str) -> None:
    """As a line of nft: `nft add rule FAMILY t c WORDS`."""
    parts = [one for word in words for one in _meant(word)]
    _rule(FAMILIES[family], b"filter", HOOKS[hook], 0, parts)


def translate(first: str, last: str) -> None:
    """ip protocol tcp masquerade to :FIRST-LAST."""
    ports = [
        _expression("immediate", _be32(1, register), _nest(2, _attribute(1, _be16(port))))
        for register, port in ((1, first), (2, last))
    ]
    masked = _expression("masq", _be32(1, 2), _be32(2, 1), _be32(3, 2))  # the ports are told
    _rule(FAMILIES["ip"], b"nat", HOOKS["postrouting"], 100, [*_protocol(6), *ports, masked])


def xdp(name: str, number: str) -> None:
    """XDP_DROP is 1, XDP_PASS 2; the link ends with this program."""
    lines = ((0x85, 0, 7), (0x94, 0, int(number)), (0x15, 2, 0),  # random; modulo; is it 0?
             (0xB7, 0, 2), (0x95, 0, 0), (0xB7, 0, 1), (0x95, 0, 0))  # fmt: skip
    code = b"".join(struct.pack("=BBhi", what, 0, jump, value) for what, jump, value in lines)
    kept = [ctypes.create_string_buffer(text) for text in (code, b"GPL")]
    program = _bpf(5, struct.pack("=IIQQ", 6, len(lines), *map(ctypes.addressof, kept)))
    link = _bpf(28, struct.pack("=IIII", program, socket.if_nametoindex(name), 37, 0))
    time.sleep(600)
    os.close(link)


def sieve(port: str) -> None:
    """Classic BPF: a random number decides."""
    s = _datagrams(port)
    lines = ((0x20, 0, 0, RANDOM), (0x25, 1, 0, 1 << 30), (6, 0, 0, 0), (6, 0, 0, 0xFFFFFFFF))
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
    s.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                 struct.pack("@HP", len(lines), ctypes.addressof(code)))  # fmt: skip
    while True:
        s.recv(65536)


def portions(port: str) -> None:
    """Head, body, tail: a write each."""
    one = _listener(port).accept()[0]
    while one.recv(ASKED):
        for part in PARTS:
            one.sendall(bytes(part))


def needs(address: str, port: str) -> None:
    """One request after the other."""
    s = _reached(address, port)
    while True:
        s.sendall(bytes(ASKED))
        s.recv(sum(PARTS), socket.MSG_WAITALL)


def gulps(port: str, size: str = "0") -> None:
    """With 0 the size of the buffer is the kernel's."""
    s = _datagrams(port)
    if size != "0":
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(size))
    while True:
        s.recv(65536)


def puffs(address: str, port: str, number: str, per_s: str, size: str = "1000") -> None:
    """Several are one call: the kernel cuts them."""
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    if number != "1":
        s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, int(size))
    s.connect((address, int(port)))
    for _ in _paced(float(per_s)):
        with contextlib.suppress(OSError):
            s.send(bytes(int(number) * int(size)))


def hasty(address: str, port: str, per_s: str) -> None:
    """What the socket does not take at once is lost."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((address, int(port)))
    for _ in _paced(float(per_s)):
        with contextlib.suppress(OSError):
            s.send(bytes(1000), socket.MSG_DONTWAIT)


def dials(address: str, port: str, per_s: str, kept: str = "100") -> None:
    """Whether they come about or not."""
    begun: list[socket.socket] = []
    for _ in _paced(float(per_s)):
        begun.append(_begun(address, port))
        if len(begun) > int(kept):
            begun.pop(0).close()


def knocks(address: str, port: str, number: str, per_s: str) -> None:
    """As after a restart of something that all clients wait for."""
    begun: list[socket.socket] = []
    for _ in _paced(float(per_s)):
        begun += [_begun(address, port) for _ in range(int(number))]
        while len(begun) > 4 * int(number):
            begun.pop(0).close()


def rests(address: str, port: str, number: str) -> None:
    """A pool of connections at night."""
    kept = [_reached(address, port) for _ in range(int(number))]
    time.sleep(600)
    del kept


def queries(address: str, per_s: str) -> None:
    """The answer has a tenth of a second; then the next name."""
    for _ in _paced(float(per_s)):
        with contextlib.suppress(OSError), socket.socket(type=socket.SOCK_DGRAM) as s:
            s.settimeout(0.1)
            s.connect((address, 53))
            s.send(bytes(40))
            s.recv(2048)


def flaps(name: str, up: str, down: str) -> None:
    """A loose plug."""
    while True:
        for state, seconds in (("up", up), ("down", down)):
            subprocess.run(["ip", "link", "set", name, state], check=False)
            time.sleep(float(seconds))


def quota(percent: str, *command: str) -> None:
    """Of the first version of control groups."""
    _grouped("cpu", {"cpu.cfs_period_us": 100000, "cpu.cfs_quota_us": 1000 * int(percent)}, command)


def purse(size: str, *command: str) -> None:
    """Of the first version; TCP's own memory only."""
    _grouped("memory", {"memory.kmem.tcp.limit_in_bytes": int(size)}, command)


def _grouped(controller: str, told: dict[str, int], command: tuple[str, ...]) -> None:
    """Run the command in a group; a process in a session of its own removes that afterwards."""
    where = GROUPS / controller
    if not where.exists():  # `ip netns exec` has a /sys of its own, without them
        words = ["mount", "-t", "cgroup", "-o", controller, "none", str(where := GROUPS)]
        subprocess.run(words, check=True)
    group = where / f"fif-{os.getpid()}"
    group.mkdir()
    for name, value in told.items():
        (group / name).write_text(str(value))
    if not os.fork():
        os.setsid()
        parent = os.getppid()
        while Path(f"/proc/{parent}").exists() and os.getppid() == parent:
            time.sleep(0.2)
        for _ in range(50):
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.2)
        os._exit(0)
    (group / "cgroup.procs").write_text(str(os.getpid()))
    os.execvp(command[0], command)


def _reached(address: str, port: str) -> socket.socket:
    """Try again until the other end is there."""
    while True:
        with contextlib.suppress(OSError):
            return socket.create_connection((address, int(port)))
        time.sleep(0.1)


def _begun(address: str, port: str) -> socket.socket:
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    s.setblocking(False)
    s.connect_ex((address, int(port)))
    return s


def _datagrams(port: str) -> socket.socket:
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.bind(("::", int(port)))
    return s


def _bpf(command: int, told: bytes) -> int:
    attributes = ctypes.create_string_buffer(told.ljust(128, b"\0"), 128)
    call = ctypes.CDLL(None, use_errno=True).syscall
    done = call(BPF[os.uname().machine], command, attributes, len(attributes))
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(done)


def _meant(word: str) -> list[bytes]:
    """The expressions of a word of `wall`; everything goes by register 1."""
    name, _, value = word.partition(":")
    if name in ("tcp", "udp"):
        port = _expression("payload", _be32(1, 1), _be32(2, 2), _be32(3, 2), _be32(4, 2))
        return [*_protocol({"tcp": 6, "udp": 17}[name]), port, _equal(_be16(value))]
    if name == "icmp":
        kind = _expression("payload", _be32(1, 1), _be32(2, 2), _be32(3, 0), _be32(4, 1))
        return [*_protocol(1), kind, _equal(bytes([int(value)]))]
    if name == "icmpv6":
        return _protocol(58)
    if name == "new":
        return [_expression("ct", _be32(1, 1), _be32(2, 0)), _equal(struct.pack("=I", 8))]
    if name == "over":
        return [_expression("limit", _be64(1, value), _be64(2, 1), _be32(3, 5),
                            _be32(4, 0), _be32(5, 1))]  # fmt: skip
    if name == "count":
        return [_expression("connlimit", _be32(1, value), _be32(2, 1))]
    if name != "drop":
        raise ValueError(word)
    return [_expression("immediate", _be32(1, 0), _nest(2, _nest(2, _be32(1, 0))))]


def _rule(family: int, kind: bytes, hook: int, priority: int, parts: list[bytes]) -> None:
    """A table, a chain that accepts, a rule: in one batch."""
    table = _text(1, b"t")
    chain = (table, _text(3, b"c"), _nest(4, _be32(1, hook), _be32(2, priority)), _be32(5, 1),
             _text(7, kind))  # fmt: skip
    rule = (table, _text(2, b"c"), _nest(4, *(_nest(1, part) for part in parts)))
    wanted = ((0xA00, table), (0xA03, b"".join(chain)), (0xA06, b"".join(rule)))
    ends = [_message(kind_, 1, struct.pack(">BBH", 0, 0, 10)) for kind_ in (0x10, 0x11)]
    inner = [_message(k, 0xC05, struct.pack(">BBH", family, 0, 0) + body) for k, body in wanted]
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as door:
        door.bind((0, 0))
        door.settimeout(5)
        door.send(b"".join([ends[0], *inner, ends[1]]))
        for _ in inner:
            error = struct.unpack_from("=i", door.recv(65536), 16)[0]
            if error:
                raise OSError(-error, os.strerror(-error))


def _message(kind: int, flags: int, body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body


def _attribute(number: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), number) + value + bytes(-len(value) % 4)


def _nest(number: int, *parts: bytes) -> bytes:
    return _attribute(number | 0x8000, b"".join(parts))


def _text(number: int, value: bytes) -> bytes:
    return _attribute(number, value + b"\0")


def _be16(value: str | int) -> bytes:
    return struct.pack(">H", int(value))


def _be32(number: int, value: str | int) -> bytes:
    return _attribute(number, struct.pack(">I", int(value)))


def _be64(number: int, value: str | int) -> bytes:
    return _attribute(number, struct.pack(">Q", int(value)))


def _expression(name: str, *data: bytes) -> bytes:
    return _text(1, name.encode()) + _nest(2, *data)


def _equal(value: bytes) -> bytes:
    return _expression("cmp", _be32(1, 1), _be32(2, 0), _nest(3, _attribute(1, value)))


def _protocol(number: int) -> list[bytes]:
    return [_expression("meta", _be32(1, 1), _be32(2, 16)), _equal(bytes([number]))]


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
