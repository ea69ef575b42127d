"""Listening sockets of an end: on the address of the test only, for the other end only.

The other end is identified by its address and by a token that nettop passes to both ends over
standard input. Connections of others are closed at once, their datagrams are dropped.
"""

import errno
import hmac
import os
import select
import socket
import time
from typing import TYPE_CHECKING, Dict, List, Set, Tuple, Union

from nettop.trials.far.protocol import stopping

if TYPE_CHECKING:
    from nettop.trials.far.schema import HelperOptions

    Address = Union[Tuple[str, int], Tuple[str, int, int, int]]

PATIENCE = 20.0  # seconds to wait for the next connection of the other end
KNOCK = 0.25  # seconds to wait for the answer to a datagram before sending it again
STRANGERS = 64  # connections without a token yet, beyond those expected


def plain(address: str) -> str:
    """The canonical text of an IP address, without the interface of a link-local one."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.inet_ntop(family, socket.inet_pton(family, address.partition("%")[0]))


def scope(address: str) -> int:
    """The index of the interface with a link-local address (/proc/net/if_inet6); 0 for others."""
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


def socket_address(address: str, port: int) -> "Address":
    """The argument of bind() for an address of this end."""
    return (address, port, 0, scope(address)) if ":" in address else (address, port)


def text(address: str) -> str:
    """An address of this end as argument of a program: a link-local one names its interface."""
    index = scope(address)
    return "{}%{}".format(address, socket.if_indextoname(index)) if index else address


def address_of(options: "HelperOptions") -> str:
    """The address to listen on: `at`, or behind NAT the address that ssh reached (sshd(8)).

    OSError if this end has neither.
    """
    wanted = plain(options["at"])
    reached = os.environ.get("SSH_CONNECTION", "").split()[2:3]
    for address in [wanted] + [plain(host) for host in reached]:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(socket_address(address, 0))
            except OSError as error:
                if error.errno != errno.EADDRNOTAVAIL:
                    raise
                continue
            if (":" in address) == (":" in wanted):
                return address
    raise OSError(errno.EADDRNOTAVAIL, wanted + " is not an address of this end")


def open_socket(options: "HelperOptions", kind: int) -> socket.socket:
    """A socket of this kind bound to the address of the test and to `port` (0: any free port).

    OSError names the port.
    """
    address = address_of(options)
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
    try:
        if kind == socket.SOCK_STREAM:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(socket_address(address, int(options.get("port") or 0)))
    except OSError as error:
        sock.close()
        raise OSError(
            error.errno, "port {}: {}".format(options.get("port"), error.strerror)
        ) from None
    return sock


def peers(options: "HelperOptions") -> Set[str]:
    """The addresses of the other end: `of`, and behind NAT the address that ssh saw."""
    client = os.environ.get("SSH_CONNECTION", "").split()[:1]
    return {plain(address) for address in [options["of"], *client]}


def accept(
    listening: socket.socket, options: "HelperOptions", count: int
) -> List[Tuple[socket.socket, bytes]]:
    """`count` connections of the other end, each with the byte that it sent after its token.

    Fewer if none comes for `PATIENCE` seconds, or if nettop sends `stop`.
    """
    hosts, token = peers(options), bytes.fromhex(options["token"])
    listening.setblocking(False)
    ready = select.poll()
    ready.register(listening, select.POLLIN)
    waiting: Dict[int, Tuple[socket.socket, bytearray]] = {}
    accepted: List[Tuple[socket.socket, bytes]] = []
    until = time.monotonic() + PATIENCE
    while len(accepted) < count and time.monotonic() < until and not stopping.is_set():
        for number, _ in ready.poll(100):
            if number == listening.fileno():
                try:
                    sock, sender = listening.accept()
                except OSError:
                    continue
                if plain(sender[0]) not in hosts or len(waiting) >= count + STRANGERS:
                    sock.close()
                    continue
                sock.setblocking(False)
                waiting[sock.fileno()] = sock, bytearray()
                ready.register(sock, select.POLLIN)
                continue
            sock, received = waiting[number]
            try:
                data = sock.recv(len(token) + 1 - len(received))
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            received += data
            if data and len(received) <= len(token):
                continue
            ready.unregister(number)
            del waiting[number]
            if data and hmac.compare_digest(bytes(received[:-1]), token):
                sock.setblocking(True)
                accepted.append((sock, bytes(received[-1:])))
                until = time.monotonic() + PATIENCE
            else:
                sock.close()
    for sock, _ in waiting.values():
        sock.close()
    return accepted


def admit(sock: socket.socket, options: "HelperOptions") -> bool:
    """Wait for the token of the other end, answer it and connect the socket to its sender.

    False if nettop sends `stop` first.
    """
    hosts, token = peers(options), bytes.fromhex(options["token"])
    sock.settimeout(0.1)
    while not stopping.is_set():
        try:
            data, sender = sock.recvfrom(2048)
        except OSError:
            continue
        if plain(sender[0]) in hosts and hmac.compare_digest(data, token):
            sock.connect(sender)
            empty(sock)  # datagrams of others
            sock.send(token)
            return True
    return False


def knock(sock: socket.socket, token: bytes) -> bool:
    """Send the token to the connected address until the other end answers; False if it does not."""
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
        except OSError:  # no listener there, or a firewall
            stopping.wait(KNOCK)
    sock.settimeout(before)
    return known


def empty(sock: socket.socket) -> None:
    """Discard all datagrams that the socket holds."""
    try:
        while True:
            sock.recv(65536, socket.MSG_DONTWAIT)
    except OSError:
        return
