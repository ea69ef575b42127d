"""Programs that accept connections well or badly, and read: KIND PORT ….

slow-reader PORT PER_S       accept one connection and read PER_S bytes a second
paging-reader PORT MEGABYTES read a stream; between reads touch pages of a file of that size
not-accepting PORT           listen with a backlog of 2 and accept nothing
out-of-files PORT            listen, accept until 64 files are open, and keep them
accepts-slowly PORT BACKLOG PER_S
stopped PORT                 listen, accept one connection, then stop as by SIGSTOP
keeps PORT                   accept, and close nothing
closes PORT                  accept and read; close when the client does
local-only PORT              listen at 127.0.0.1 only
forgotten-listener PORT      two sockets listen on one port, and one of them is forgotten
many-listeners PORT NUMBER   so many listening sockets, from PORT on
signed PORT ADDRESS          listen with a TCP MD5 key for one neighbour (RFC 2385)
greets PORT                  TCP_DEFER_ACCEPT where the server speaks first
"""

import contextlib
import os
import random
import resource
import signal
import socket
import struct
import time

from live.programs.shared import kind, listener, server

TCP_MD5SIG = 14  # linux/tcp.h


@server
def slow_reader(port: str, per_s: str) -> None:
    """Read less than arrives."""
    s = socket.create_server(("", int(port)))
    connection, _ = s.accept()
    while connection.recv(int(int(per_s) * 0.05)):
        time.sleep(0.05)


@server
def paging_reader(port: str, megabytes: str) -> None:
    """As a server whose data no longer fits in its memory."""
    import mmap
    import tempfile

    size = int(megabytes) << 20
    with tempfile.TemporaryFile(dir="/var/tmp") as file:
        for _ in range(int(megabytes)):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
        pages = mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ)
        pages.madvise(mmap.MADV_RANDOM)
        door, _ = listener(port).accept()
        while door.recv(65536):
            for _ in range(64):
                pages[random.randrange(size)]


@server
def not_accepting(port: str) -> None:
    """Let the accept queue fill."""
    s = socket.create_server(("", int(port)), backlog=2)
    time.sleep(600)
    s.close()


@server
def out_of_files(port: str) -> None:
    """Accept until no descriptor is left, then try again and again."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    s = socket.create_server(("", int(port)), backlog=128)
    kept = []
    while True:
        try:
            kept.append(s.accept())
        except OSError:
            time.sleep(0.1)


@server
def accepts_slowly(port: str, backlog: str, per_s: str) -> None:
    """Take a connection now and then."""
    s = listener(port, int(backlog))
    while True:
        s.accept()[0].close()
        time.sleep(1 / float(per_s))


@server
def stopped(port: str) -> None:
    """As in a debugger."""
    door = listener(port, 16)
    door.accept()
    os.kill(os.getpid(), signal.SIGSTOP)


@server
def keeps(port: str) -> None:
    """Clients may go, their sockets stay."""
    door, kept = listener(port, 1024), []
    while True:
        kept.append(door.accept()[0])


@server
def closes(port: str) -> None:
    """Serve one client after the other."""
    s = listener(port, 1024)
    kept = []
    while True:
        connection, _ = s.accept()
        connection.setblocking(False)
        kept.append(connection)
        for one in kept[:]:
            with contextlib.suppress(BlockingIOError):
                if not one.recv(65536):
                    kept.remove(one)
                    one.close()


@server
def local_only(port: str) -> None:
    """Others are refused."""
    door = socket.create_server(("127.0.0.1", int(port)))
    while True:
        door.accept()[0].close()


@server
def forgotten_listener(port: str) -> None:
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


@kind
def many_listeners(port: str, number: str) -> None:
    """As many services of one host."""
    kept = [listener(str(int(port) + one)) for one in range(int(number))]
    time.sleep(600)
    kept.clear()


@server
def signed(port: str, address: str) -> None:
    """struct tcp_md5sig, linux/tcp.h."""
    s = socket.create_server(("", int(port)))
    neighbour = struct.pack("=HH", socket.AF_INET, 0) + socket.inet_aton(address)
    key = b"secret"
    option = struct.pack("=128sBBHi80s", neighbour, 0, 0, len(key), 0, key)
    s.setsockopt(socket.IPPROTO_TCP, TCP_MD5SIG, option)
    while True:
        s.accept()


@server
def greets(port: str) -> None:
    """Nobody is accepted before he has said something, and he waits to be greeted."""
    door = listener(port)
    door.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 30)
    while True:
        connection, _ = door.accept()
        with contextlib.suppress(OSError):
            connection.sendall(b"220 ready\r\n")
        connection.close()
