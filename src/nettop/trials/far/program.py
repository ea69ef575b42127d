"""Run one program, forward its output, and end it when nettop ends."""

import ctypes
import os
import signal
import socket
import subprocess
import threading
import time
from typing import Any, Dict

from nettop.trials.far.listener import opened, place, text
from nettop.trials.far.protocol import children, listen, pin, say, stopping

PR_SET_PDEATHSIG = 1  # include/uapi/linux/prctl.h


def free_port(wanted: int, at: str) -> int:
    """`wanted` when nobody has it there for TCP and UDP, else one the kernel picks."""
    for port in (wanted, 0):
        try:
            with opened({"at": at, "port": port}, socket.SOCK_STREAM) as tcp:
                found = int(tcp.getsockname()[1])
                with opened({"at": at, "port": found}, socket.SOCK_DGRAM):
                    return found
        except OSError:
            continue
    return wanted


def listening(port: int, tables: Any = ("tcp", "tcp6", "udp", "udp6")) -> bool:
    """Whether some socket of this network namespace waits on `port` (/proc/net/tcp and its kin)."""
    ending = ":%04X" % port
    for table in tables:
        try:
            with open("/proc/net/" + table) as lines:
                next(lines, "")
                for line in lines:
                    words = line.split()
                    waits = words[3] == "0A" if table.startswith("tcp") else True
                    if words[1].endswith(ending) and waits:
                        return True
        except OSError:
            continue
    return False


def prepare() -> None:
    """In the child: own process group, and death with its parent."""
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def pass_on(stream: Any, name: str) -> None:
    """Every line the program prints, as a message."""
    for line in stream:
        say(**{name: line.rstrip("\n")})


def main(options: Dict[str, Any]) -> None:
    """`argv`, `cpus`, whether to `wait` for it to listen on the `port` wanted and the address `at`.

    The words `{port}` and `{address}` in it become what it is to listen on.
    """
    listen()
    pin(options.get("cpus"))
    port, address = 0, ""
    if options.get("port"):
        try:
            address = place(options)
        except OSError as error:
            say(error=error.strerror)
            return
        port = free_port(int(options["port"]), address)
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
    except FileNotFoundError:
        say(absent=argv[0])
        return
    except OSError as error:
        say(error="{}: {}".format(argv[0], error.strerror))
        return
    children.append(program.pid)
    readers = [
        threading.Thread(target=pass_on, args=(program.stdout, "out"), daemon=True),
        threading.Thread(target=pass_on, args=(program.stderr, "err"), daemon=True),
    ]
    for reader in readers:
        reader.start()
    if options.get("wait"):
        patience = time.monotonic() + 30
        while program.poll() is None and time.monotonic() < patience and not listening(port):
            time.sleep(0.02)
    say(port=port, pid=program.pid)
    while program.poll() is None:
        if stopping.wait(0.05):
            end(program)
    for reader in readers:
        reader.join(2)
    say(exit=program.returncode)


def end(program: Any) -> None:
    """Interrupt (tools then print their summary), and kill what does not listen."""
    for number, patience in ((signal.SIGINT, 2.0), (signal.SIGTERM, 1.0), (signal.SIGKILL, 1.0)):
        try:
            os.killpg(program.pid, number)
            program.wait(patience)
        except subprocess.TimeoutExpired:
            continue
        except OSError:
            pass
        return
