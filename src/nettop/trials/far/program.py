"""Run one program, forward its output, and end it when nettop ends."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Iterable

from nettop.trials.far.listener import address_of, open_socket, text
from nettop.trials.far.protocol import children, pin, send, stopping, watch_input

if TYPE_CHECKING:
    from nettop.trials.far.schema import HelperOptions

PR_SET_PDEATHSIG = 1  # include/uapi/linux/prctl.h
STARTS = 30.0  # seconds for a server to listen
TABLES = ("tcp", "tcp6", "udp", "udp6")  # of /proc/net
# how a program is ended, and the seconds that it has after each signal
ENDS = ((signal.SIGINT, 2.0), (signal.SIGTERM, 1.0), (signal.SIGKILL, 1.0))


def free_port(wanted: int, at: str) -> int:
    """`wanted` if it is free for TCP and UDP at this address, else a port that the kernel picks."""
    for port in (wanted, 0):
        try:
            with open_socket({"at": at, "port": port}, socket.SOCK_STREAM) as tcp:
                free = int(tcp.getsockname()[1])
                with open_socket({"at": at, "port": free}, socket.SOCK_DGRAM):
                    return free
        except OSError:
            continue
    return wanted


def listening(port: int) -> bool:
    """Whether a socket of this network namespace listens on `port` (/proc/net/tcp, udp)."""
    ending = ":%04X" % port
    for table in TABLES:
        try:
            with open("/proc/net/" + table) as lines:
                next(lines, "")
                for line in lines:
                    words = line.split()
                    listens = words[3] == "0A" if table.startswith("tcp") else True
                    if words[1].endswith(ending) and listens:
                        return True
        except OSError:
            continue
    return False


def prepare() -> None:
    """In the child: begin a process group, and be killed when the parent ends."""
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def forward(stream: Iterable[str], error: bool) -> None:
    """Send every line of the program as a message."""
    for line in stream:
        if error:
            send(err=line.rstrip("\n"))
        else:
            send(out=line.rstrip("\n"))


def main(options: "HelperOptions") -> None:
    """Run `argv` on `cpus`. With `port`, replace `{port}` and `{address}` in `argv`.

    The program is to listen there; the address is `at`. With `wait`, report the port only when the
    program listens on it.
    """
    watch_input()
    pin(options.get("cpus"))
    port, address = 0, ""
    wanted = options.get("port")
    if wanted:
        try:
            address = address_of(options)
        except OSError as error:
            send(error=error.strerror or str(error))
            return
        port = free_port(int(wanted), address)
        address = text(address)
    argv = [
        str(word).replace("{port}", str(port)).replace("{address}", address)
        for word in options["argv"]
    ]
    try:
        program = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            errors="replace",
            preexec_fn=prepare,
        )
    except OSError as error:
        # a folder of PATH that may not be searched gives EACCES, though no folder has the program
        if isinstance(error, FileNotFoundError) or not shutil.which(argv[0]):
            send(absent=argv[0])
        else:
            send(error="{}: {}".format(argv[0], error.strerror))
        return
    children.append(program.pid)
    readers = [
        threading.Thread(target=forward, args=(program.stdout, False), daemon=True),
        threading.Thread(target=forward, args=(program.stderr, True), daemon=True),
    ]
    for reader in readers:
        reader.start()
    if options.get("wait"):
        deadline = time.monotonic() + STARTS
        while program.poll() is None and time.monotonic() < deadline and not listening(port):
            time.sleep(0.02)
    send(port=port, pid=program.pid)
    while program.poll() is None:
        if stopping.wait(0.05):
            end(program)
    for reader in readers:
        reader.join(2)
    send(exit=program.returncode)


def end(program: "subprocess.Popen[str]") -> None:
    """Interrupt the program, so that a tool prints its summary; kill it if it does not end."""
    for number, seconds in ENDS:
        try:
            os.killpg(program.pid, number)
            program.wait(seconds)
        except subprocess.TimeoutExpired:
            continue
        except OSError:
            pass
        return
