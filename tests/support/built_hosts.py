"""Large hosts that are built live: connections, interfaces and processes, in namespaces.

Needs root. One process may open some thousands of files only, so that connections are spread over
several pairs of a server and a client, each with a port of its own. Everything is removed at the
end of the context.
"""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator

NEAR, FAR = f"bench{os.getpid()}a", f"bench{os.getpid()}b"
IN_NEAR, IN_FAR = ["ip", "netns", "exec", NEAR], ["ip", "netns", "exec", FAR]
SPARE = 50  # files of one process that are not connections

SERVER = """
    import selectors, socket, sys
    listening = socket.create_server(("0.0.0.0", int(sys.argv[1])), backlog=4096)
    listening.setblocking(False)
    ready = selectors.DefaultSelector()
    ready.register(listening, selectors.EVENT_READ)
    print("up", flush=True)
    while True:
        for key, _ in ready.select():
            try:
                if key.fileobj is listening:
                    near = listening.accept()[0]
                    near.setblocking(False)
                    ready.register(near, selectors.EVENT_READ)
                elif not key.fileobj.recv(65536):
                    ready.unregister(key.fileobj)
                    key.fileobj.close()
            except OSError:
                pass
"""
CLIENT = """
    import socket, sys, time
    port, count, rate = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    made = []
    for _ in range(count):
        try:
            made.append(socket.create_connection(("10.78.0.2", port)))
        except OSError:
            break
    print(len(made), flush=True)
    at = 0
    while True:
        for _ in range(int(len(made) * rate / 10)):
            made[at % len(made)].send(b"x" * 400)
            at += 1
        time.sleep(0.1 if rate else 100)
"""
SLEEPERS = """
    import os, sys, time
    made = 0
    for _ in range(int(sys.argv[1])):
        try:
            if os.fork() == 0:
                time.sleep(100000)
            made += 1
        except OSError:
            break
    print(made, flush=True)
    time.sleep(100000)
"""


def ip(*words: str) -> None:
    """Run ip(8)."""
    subprocess.run(["ip", *words], check=True)


@contextlib.contextmanager
def program(prefix: list[str], text: str, *arguments: str) -> Iterator[str]:
    """Run a Python program in the background; gives its first line."""
    argv = [*prefix, sys.executable, "-c", textwrap.dedent(text), *arguments]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True) as one:
        try:
            assert one.stdout is not None
            yield one.stdout.readline().strip()
        finally:
            os.killpg(one.pid, signal.SIGKILL)


@contextlib.contextmanager
def namespaces() -> Iterator[None]:
    """Two network namespaces with a veth pair between them."""
    try:
        ip("netns", "add", NEAR)
        ip("netns", "add", FAR)
        ip("-n", NEAR, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", FAR)
        for name, address in ((NEAR, "10.78.0.1/16"), (FAR, "10.78.0.2/16")):
            ip("-n", name, "address", "add", address, "dev", "eth0")
            for link in ("lo", "eth0"):
                ip("-n", name, "link", "set", link, "up")
        yield
    finally:
        for name in (NEAR, FAR):
            subprocess.run(["ip", "netns", "delete", name], check=False)


@contextlib.contextmanager
def connections(count: int, rate: float, first_port: int = 7000) -> Iterator[str]:
    """Connections from NEAR to FAR, each with `rate` messages a second."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1] - SPARE
    resource.setrlimit(resource.RLIMIT_NOFILE, (most + SPARE, most + SPARE))
    made = 0
    with contextlib.ExitStack() as stack:
        for number, begin in enumerate(range(0, count, most)):
            port, part = str(first_port + number), min(most, count - begin)
            stack.enter_context(program(IN_FAR, SERVER, port))
            told = stack.enter_context(program(IN_NEAR, CLIENT, port, str(part), str(rate)))
            made += int(told or 0)
        yield f"{made:,} connections" + (f", {rate:g} messages/s each" if rate else " at rest")


@contextlib.contextmanager
def interfaces(count: int) -> Iterator[str]:
    """So many veth interfaces in NEAR, in pairs."""
    lines = [
        f"link add v{n} type veth peer name w{n}\nlink set v{n} up\nlink set w{n} up\n"
        for n in range(count // 2)
    ]
    subprocess.run(["ip", "-n", NEAR, "-batch", "-"], input="".join(lines), text=True, check=True)
    time.sleep(15)  # until router solicitations and duplicate address detection have ended
    yield f"{count // 2 * 2:,} interfaces"


@contextlib.contextmanager
def processes(count: int) -> Iterator[str]:
    """So many processes that sleep, in a PID namespace."""
    with program(["unshare", "--pid", "--fork", "--kill-child"], SLEEPERS, str(count)) as made:
        yield f"{int(made or 0):,} processes"
