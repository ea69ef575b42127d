"""Three namespaces for `ways.py`: how they are joined, filtered and tried."""

import ctypes
import json
import os
import select
import socket
import struct
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple

import nft_bytes as nft
from hang import until
from netlink_bytes import message

from nettop.host.netlink.codec import attribute

CLIENT, HOST, SERVER = (f"nt-ways-{one}{os.getpid()}" for one in "chs")
SERVES: Final = {4: "10.93.0.2", 6: "fd93::2"}
BEYOND: Final = {4: "10.97.0.7", 6: "fd97::7"}  # of the server too, behind its first address
NOBODY: Final = {4: "10.93.0.99", 6: "fd93::99"}
INSIDE: Final = {4: "10.93.0.1", 6: "fd93::1"}  # of the host, towards the server
OUTSIDE: Final = {4: "10.94.0.1", 6: "fd94::1"}  # of the host, towards the client
CLIENTS: Final = {4: "10.94.0.2", 6: "fd94::2"}
PORTS: Final = (7000, 7001)
WAIT, LONG = 0.35, 3.0  # seconds: all is on this machine
_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_NETWORK: Final = 0x40000000  # CLONE_NEWNET
_HOOKS: Final = {"prerouting": 0, "input": 1, "forward": 2, "output": 3, "postrouting": 4}


def run(words: str, *, check: bool = True) -> bool:
    """Run a command; whether it succeeded. RuntimeError where it must."""
    done = subprocess.run(words.split(), capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"{words}: {done.stderr}")
    return not done.returncode


def clear() -> None:
    """Delete the namespaces."""
    for name in (CLIENT, HOST, SERVER):
        run(f"ip netns del {name}", check=False)


def lay_out() -> None:
    """The three hosts, joined and sound; each carrier is seen."""
    for name in (CLIENT, HOST, SERVER):
        run(f"ip netns add {name}")
    run(f"ip link add eth0 netns {HOST} type veth peer eth0 netns {SERVER}")
    run(f"ip link add eth1 netns {HOST} type veth peer eth0 netns {CLIENT}")
    up = ["link set eth0 up", "link set lo up"]
    batches = {
        HOST: [*_addresses(INSIDE, "eth0"), *_addresses(OUTSIDE, "eth1"), "link set eth1 up", *up],
        CLIENT: [*_addresses(CLIENTS, "eth0"), *up, *_gateways(OUTSIDE)],
        SERVER: ["link set eth0 address 02:00:00:00:00:02", *_addresses(SERVES, "eth0"), *up,
                 f"addr add {BEYOND[4]}/32 dev lo", f"addr add {BEYOND[6]}/128 dev lo",
                 *_gateways(INSIDE)],
    }  # fmt: skip
    for name, lines in batches.items():
        words = ["ip", "-n", name, "-batch", "-"]
        subprocess.run(words, input="\n".join(lines), text=True, check=True)
    until(lambda: all(map(_carries, (HOST, HOST, CLIENT, SERVER), ("eth0", "eth1", *["eth0"] * 2))))


def _addresses(known: dict[int, str], device: str) -> list[str]:
    return [f"addr add {known[4]}/24 dev {device}", f"addr add {known[6]}/64 dev {device} nodad"]


def _gateways(known: dict[int, str]) -> list[str]:
    return [f"route add default via {one}" for one in known.values()]


def _carries(name: str, device: str) -> bool:
    words = ["ip", "-n", name, "-j", "link", "show", device]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return bool(json.loads(done.stdout)[0]["operstate"] == "UP")


def _enter(name: str) -> None:
    """Move this process into a namespace."""
    with open(f"/run/netns/{name}") as place:
        if _LIBC.setns(place.fileno(), _NETWORK):
            raise OSError(ctypes.get_errno(), name)


def apart(name: str, task: Callable[[], object]) -> Any:
    """What a task returns in a namespace, as JSON keeps it, in a process of its own."""
    reads, writes = os.pipe()
    pid = os.fork()
    if not pid:
        code = 1
        try:
            _enter(name)
            os.write(writes, json.dumps(task()).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writes)
    with open(reads, "rb") as pipe:
        said = pipe.read()
    if os.waitpid(pid, 0)[1]:
        raise RuntimeError(f"a task in {name} failed")
    return json.loads(said)


@contextmanager
def serving(name: str, binds: Sequence[str]) -> Iterator[None]:
    """A process in a namespace that accepts at each port, and answers datagrams."""
    reads, writes = os.pipe()
    ready, says = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.close(writes)
            _enter(name)
            _serve(reads, says, binds)
        finally:
            os._exit(0)
    for end in (reads, says):
        os.close(end)
    os.read(ready, 1)
    os.close(ready)
    try:
        yield
    finally:
        os.close(writes)
        os.waitpid(pid, 0)


def _serve(until_closed: int, says: int, binds: Sequence[str]) -> None:
    doors = [one for bind, port in zip(binds, PORTS, strict=True) for one in _doors(bind, port)]
    os.write(says, b"x")
    while True:
        watched: list[Any] = [until_closed, *doors]
        ready = select.select(watched, [], [])[0]
        if until_closed in ready:
            return
        for one in ready:
            if one.type == socket.SOCK_STREAM:
                one.accept()[0].close()
                continue
            data, peer = one.recvfrom(64)
            with suppress(OSError):
                one.sendto(data, peer)


def _doors(bind: str, port: int) -> list[socket.socket]:
    """The sockets of one port: ADDRESS%DEVICE, "" for any, "v6only", "none", or several addresses.

    An address that the host lost gets none.
    """
    if " " in bind:
        return [one for part in bind.split() for one in _doors(part, port)]
    address, _, device = bind.partition("%")
    made = []
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM) if bind != "none" else ():
        six = address in ("", "::", "v6only") or ":" in address
        one = socket.socket(socket.AF_INET6 if six else socket.AF_INET, kind)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if address in ("", "v6only"):
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, address == "v6only")
        if device:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
        with suppress(OSError):
            one.bind(("::" if address in ("", "v6only") else address, port))
            if kind == socket.SOCK_STREAM:
                one.listen(8)
            made.append(one)
    return made


def attempt(to: str, port: int, wait: float, *, udp: bool) -> str:
    """What a connection, or a datagram that wants an answer, meets: "open", or the error."""
    family = socket.AF_INET6 if ":" in to else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM if udp else socket.SOCK_STREAM) as door:
            door.settimeout(WAIT if udp else wait)
            door.connect((to, port))
            if udp:
                _answered(door, int(wait / WAIT))
    except TimeoutError:
        return "no answer"
    except OSError as error:
        return str(error)
    return "open"


def _answered(door: socket.socket, times: int) -> None:
    """Ask until an answer comes; TimeoutError after so many questions."""
    for left in reversed(range(times)):
        door.send(b"x")
        try:
            door.recv(8)
        except TimeoutError:
            if not left:
                raise
        else:
            return


class Rule(NamedTuple):
    """One rule of nf_tables: a port, a protocol, any packet, or the policy of the hook."""

    hook: str
    match: str
    does: str  # drop accept dnat redirect masquerade
    to: str = ""
    form: str = "cmp"  # how a port is compared: `FORMS`


def filtered(rules: Sequence[Rule]) -> bool:
    """Set the rules in this namespace; whether the kernel took them."""
    if not rules:
        return True
    parts = [message(0xA00, struct.pack(">BBH", nft.INET, 0, 0) + nft.text(1, "t"))]
    filters = [rule for rule in rules if not rule.to]
    for hook in dict.fromkeys(rule.hook for rule in filters):
        drops = any(rule.hook == hook and rule.match == "policy" for rule in filters)
        parts.append(nft.chain(hook, _HOOKS[hook], nft.DROP if drops else nft.ACCEPT))
    for rule in rules:
        if rule.to:
            parts += _translation(rule)
        elif rule.match != "policy":
            code = nft.DROP if rule.does == "drop" else nft.ACCEPT
            form = rule.form if rule.match.isdigit() else "cmp"
            name = f"s{len(parts)}"
            parts += _set(name, int(rule.match), form, code) if form in _SETS else []
            ends = b"" if form == "map" else nft.counter() + nft.verdict(code)
            parts.append(nft.rule(rule.hook, 0, _match(rule.match, form, name), ends))
    batch = struct.pack(">BBH", 0, 0, 10)
    begin, end = message(0x10, batch), message(0x11, batch)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as door:
        door.bind((0, 0))
        asked = [_flags(one, 0x405) for one in parts]  # request, answer, create
        door.send(b"".join((_flags(begin, 1), *asked, _flags(end, 1))))
        return not any(struct.unpack_from("=i", door.recv(65536), 16)[0] for _ in asked)


def _flags(raw: bytes, flags: int) -> bytes:
    return raw[:6] + struct.pack("=H", flags) + raw[8:]


def _same(name: str, first: int, value: bytes, *more: bytes) -> bytes:
    """A load into a register, and the comparison with a value."""
    number = nft.be32(1, first) if name == "payload" else nft.be32(1, 1) + nft.be32(2, first)
    load = nft.expression(name, number, *more)
    return load + nft.expression(
        "cmp", nft.be32(1, 1), nft.be32(2, 0), nft.nest(3, attribute(1, value))
    )


FORMS: Final = ("cmp", "range", "set", "interval", "map")
_SETS: Final = {"set": 0, "interval": 4, "map": 8}  # NFT_SET_INTERVAL, NFT_SET_MAP
_SERVICE, _VERDICTS = 13, 0xFFFFFF00  # inet_service of nft, NFT_DATA_VERDICT


def _set(name: str, port: int, form: str, code: int) -> list[bytes]:
    """A set or map with a port; the interval has the port before as well."""
    head = struct.pack(">BBH", nft.INET, 0, 0) + nft.text(1, "t") + nft.text(2, name)
    kind = nft.be32(3, _SETS[form]) + nft.be32(4, _SERVICE) + nft.be32(5, 2)
    data = nft.be32(6, _VERDICTS) + nft.be32(7, 16) if form == "map" else b""

    def element(port: int, *more: bytes) -> bytes:
        return nft.nest(1, nft.nest(1, attribute(1, port.to_bytes(2, "big"))), *more)

    verdict = nft.nest(2, nft.nest(2, nft.be32(1, code)))
    elements = {
        "set": element(port),
        "interval": element(port - 1) + element(port + 1, nft.be32(3, 1)),
        "map": element(port, verdict),
    }
    return [
        message(0xA09, head + kind + data + nft.be32(10, 1)),
        message(0xA0C, head + nft.nest(3, elements[form])),
    ]


def _match(what: str, form: str = "cmp", name: str = "") -> bytes:
    if what.isdigit():  # the destination port: two bytes at two of the transport header
        place = nft.be32(2, 2), nft.be32(3, 2), nft.be32(4, 2)
        port = int(what).to_bytes(2, "big")
        if form == "cmp":
            return _same("payload", 1, port, *place)
        load = nft.expression("payload", nft.be32(1, 1), *place)
        if form == "range":
            ends = (nft.nest(number, attribute(1, port)) for number in (3, 4))
            return load + nft.expression("range", nft.be32(1, 1), nft.be32(2, 0), *ends)
        to = (nft.be32(3, 0),) if form == "map" else ()
        return load + nft.expression("lookup", nft.text(1, name), nft.be32(2, 1), *to)
    protocols = {"tcp": 6, "udp": 17}
    return _same("meta", 16, bytes([protocols[what]])) if what in protocols else b""


def _translation(rule: Rule) -> list[bytes]:
    """A chain of type nat with one rule for TCP of the family of its address."""
    six, name = ":" in rule.to, f"nat-{rule.hook}"
    place = nft.be32(1, _HOOKS[rule.hook]), nft.be32(2, -100 if rule.does != "masquerade" else 100)
    head = nft.text(1, "t") + nft.text(3, name) + nft.nest(4, *place) + nft.text(7, "nat")
    match = _same("meta", 15, bytes([10 if six else 2])) + _match("tcp") + _match(rule.match)
    family = socket.AF_INET6 if six else socket.AF_INET
    does = nft.expression("masq")
    if rule.does == "dnat":
        value = nft.nest(2, attribute(1, socket.inet_pton(family, rule.to)))
        does = nft.expression("immediate", nft.be32(1, 1), value) + nft.expression(
            "nat", nft.be32(1, 1), nft.be32(2, 10 if six else 2), nft.be32(3, 1)
        )
    elif rule.does == "redirect":
        other = PORTS[1 - PORTS.index(int(rule.match))].to_bytes(2, "big")
        value = nft.nest(2, attribute(1, other))
        does = nft.expression("immediate", nft.be32(1, 1), value)
        does += nft.expression("redir", nft.be32(1, 1))
    chain = message(0xA03, struct.pack(">BBH", nft.INET, 0, 0) + head)
    return [chain, nft.rule(name, 0, match, does)]
