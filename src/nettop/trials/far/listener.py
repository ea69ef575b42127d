"""Listening sockets of an end: on the address of the test only, for the other end only.

The other end is identified by its address and by a token that nettop passes to both ends over
standard input. Other connections are closed at once, other datagrams are dropped.
"""

import errno
import hmac
import os
import select
import socket
import time
from typing import Any, Dict, List, Set, Tuple

from nettop.trials.far.protocol import stopping

PATIENCE = 20.0  # seconds without the other end after which nobody is waited for
KNOCK = 0.25  # seconds after which a datagram that was not answered is sent again
STRANGERS = 64  # connections whose token is waited for, beyond those wanted


def plain(address: str) -> str:
    """An IP address in its one spelling, without the interface of a link-local one."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.inet_ntop(family, socket.inet_pton(family, address.partition("%")[0]))


def scope(address: str) -> int:
    """The index of the interface that has a link-local address (/proc/net/if_inet6); else 0."""
    if not address.lower().startswith("fe80:"):
        return 0
    wanted = "".join("%02x" % byte for byte in socket.inet_pton(socket.AF_INET6, address))
    try:
        with open("/proc/net/if_inet6") as lines:
            for line in lines:
                words = line.split()
                if words[0] == wanted:
                    return int(words[1], 16)
    except OSError:
        pass
    return 0


def name(address: str, port: int) -> Tuple[Any, ...]:
    """What bind() takes for an address of this end."""
    return (address, port, 0, scope(address)) if ":" in address else (address, port)


def text(address: str) -> str:
    """An address of this end as programs take it: a link-local one names its interface."""
    index = scope(address)
    return "{}%{}".format(address, socket.if_indextoname(index)) if index else address


def place(options: Dict[str, Any]) -> str:
    """The address to listen on: the test's, `at`; OSError when this end has no such address.

    Where addresses are translated on the way (NAT) it is the one that ssh reached, sshd(8).
    """
    wanted = plain(options["at"])
    reached = os.environ.get("SSH_CONNECTION", "").split()[2:3]
    for address in [wanted] + [plain(one) for one in reached]:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(name(address, 0))
            except OSError as error:
                if error.errno != errno.EADDRNOTAVAIL:
                    raise
                continue
            if (":" in address) == (":" in wanted):
                return address
    raise OSError(errno.EADDRNOTAVAIL, wanted + " is not an address of this end")


def opened(options: Dict[str, Any], kind: int) -> socket.socket:
    """A socket of this kind on the test's address, at `port` when told; OSError says why not."""
    address = place(options)
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
    try:
        if kind == socket.SOCK_STREAM:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(name(address, int(options.get("port") or 0)))
    except OSError as error:
        sock.close()
        raise OSError(
            error.errno, "port {}: {}".format(options.get("port"), error.strerror)
        ) from None
    return sock


def others(options: Dict[str, Any]) -> Set[str]:
    """The addresses of the other end: as it told (`of`), and as ssh saw it (behind NAT)."""
    seen = os.environ.get("SSH_CONNECTION", "").split()[:1]
    return {plain(one) for one in [options["of"], *seen]}


def accept(
    door: socket.socket, options: Dict[str, Any], count: int
) -> List[Tuple[socket.socket, bytes]]:
    """`count` connections of the other end, each with the byte that it sent after its token.

    `door` listens already.
    Fewer when it does not come for `PATIENCE` seconds, or nettop says `stop`.
    """
    hosts, token = others(options), bytes.fromhex(options["token"])
    door.setblocking(False)
    ready = select.poll()
    ready.register(door, select.POLLIN)
    waiting: Dict[int, Tuple[socket.socket, bytearray]] = {}
    found: List[Tuple[socket.socket, bytes]] = []
    until = time.monotonic() + PATIENCE
    while len(found) < count and time.monotonic() < until and not stopping.is_set():
        for number, _ in ready.poll(100):
            if number == door.fileno():
                try:
                    sock, whence = door.accept()
                except OSError:
                    continue
                if plain(whence[0]) not in hosts or len(waiting) >= count + STRANGERS:
                    sock.close()
                    continue
                sock.setblocking(False)
                waiting[sock.fileno()] = sock, bytearray()
                ready.register(sock, select.POLLIN)
                continue
            sock, said = waiting[number]
            try:
                data = sock.recv(len(token) + 1 - len(said))
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            said += data
            if data and len(said) <= len(token):
                continue
            ready.unregister(number)
            del waiting[number]
            if data and hmac.compare_digest(bytes(said[:-1]), token):
                sock.setblocking(True)
                found.append((sock, bytes(said[-1:])))
                until = time.monotonic() + PATIENCE
            else:
                sock.close()
    for sock, _ in waiting.values():
        sock.close()
    return found


def admit(sock: socket.socket, options: Dict[str, Any]) -> bool:
    """Wait for the other end's token, answer it and hear nobody else from then on.

    False when nettop says `stop` before.
    """
    hosts, token = others(options), bytes.fromhex(options["token"])
    sock.settimeout(0.1)
    while not stopping.is_set():
        try:
            data, whence = sock.recvfrom(2048)
        except OSError:
            continue
        if plain(whence[0]) in hosts and hmac.compare_digest(data, token):
            sock.connect(whence)
            empty(sock)  # what others sent before
            sock.send(token)
            return True
    return False


def knock(sock: socket.socket, token: bytes) -> bool:
    """Send the token to the connected address until it comes back; False when it does not."""
    before = sock.gettimeout()
    sock.settimeout(KNOCK)
    until = time.monotonic() + PATIENCE / 2
    known = False
    while not known and time.monotonic() < until and not stopping.is_set():
        try:
            sock.send(token)
            known = hmac.compare_digest(sock.recv(2048), token)
        except socket.timeout:  # noqa: UP041 - Python 3.6
            continue
        except OSError:  # nobody listens there, or the way is closed
            stopping.wait(KNOCK)
    sock.settimeout(before)
    return known


def empty(sock: socket.socket) -> None:
    """Throw away what the socket holds."""
    try:
        while True:
            sock.recv(65536, socket.MSG_DONTWAIT)
    except OSError:
        return
