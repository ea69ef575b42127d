"""A process that has imported nettop and forks one process for each request: see warm.py.

Its argument is the file descriptor of a socket. A message on it has the words, the environment, the
folder and the numbers of the open streams as JSON, with a socket for the answers and a file
descriptor for each of those streams. The answers are the process id and, when the process has
ended, its exit code as `subprocess` gives it. The server ends when the socket is closed.
"""

import atexit
import ctypes
import fcntl
import gc
import json
import os
import pkgutil
import resource
import select
import signal
import socket
import sys
import termios
import threading
import traceback
from importlib import import_module
from typing import IO, Final, NoReturn, TypedDict

import nettop
from nettop import __main__ as program
from nettop.config import rules_folder
from nettop.host.recording import Replay, load
from nettop.views.observer import Observer, watch

PDEATHSIG: Final = 1  # include/uapi/linux/prctl.h
NEWNET, NEWNS = 1 << 30, 1 << 17  # include/uapi/linux/sched.h
RECURSIVE, SLAVE, DETACH = 1 << 14, 1 << 19, 2  # include/uapi/linux/mount.h, umount2(2)
COLD: Final = {"far", "_build_hook", "__main__"}  # modules that are no part of a command


class Request(TypedDict):
    """A process to start."""

    words: list[str]  # of a command; or -c and Python code, with its own words
    environment: dict[str, str]
    folder: str
    open: list[int]  # of 0, 1 and 2
    terminal: bool  # stdin is the controlling terminal of a new session
    memory: int  # bytes of address space at most; 0: no bound
    netns: str  # the name of a network namespace, or a process; empty: that of the server
    sysfs: bool  # /sys shows that namespace


def prepare() -> None:
    """Import every module, and judge a recording: the rules are parsed and compiled."""
    for module in pkgutil.walk_packages(nettop.__path__, "nettop."):
        if not COLD & set(module.name.split(".")):
            import_module(module.name)
    for _ in watch(Observer(Replay(load(str(rules_folder() / "demo.host.gz")))), 1.0):
        pass
    gc.collect()
    gc.freeze()  # a new process does not walk and copy all this


def stream(number: int, mode: str, errors: str) -> IO[str] | None:
    """The stream as Python opens it at its start; None for a closed file descriptor."""
    try:
        lines = 1 if number == 2 else -1  # stderr is never held back
        return open(number, mode, lines, encoding="utf-8", errors=errors, closefd=False)
    except OSError:
        return None


def enter(name: str, sysfs: bool) -> None:
    """Enter a network namespace; with `sysfs` as `ip netns exec` does (iproute2): /sys shows it.

    Of a process (a number) its mounts are entered too.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if name.isdigit():
        if libc.setns(os.pidfd_open(int(name)), NEWNET | NEWNS):
            raise OSError(ctypes.get_errno(), f"cannot enter process {name}")
        return
    with open(f"/run/netns/{name}") as file:
        failed = libc.setns(file.fileno(), NEWNET)
    if sysfs:
        failed = failed or libc.unshare(NEWNS)
        failed = failed or libc.mount(b"", b"/", b"none", RECURSIVE | SLAVE, None)
        failed = failed or libc.umount2(b"/sys", DETACH)
        failed = failed or libc.mount(name.encode(), b"/sys", b"sysfs", 0, None)
    if failed:
        raise OSError(ctypes.get_errno(), f"cannot enter {name}")


def as_a_job() -> None:
    """Be a job of a shell: this process group has a member whose parent is in another group.

    Otherwise the group is orphaned, and the kernel stops none of its processes for SIGTSTP.
    """
    group = os.getpid()
    ready, told = os.pipe()
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(PDEATHSIG, signal.SIGKILL)
        os.setpgid(0, 0)
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(PDEATHSIG, signal.SIGKILL)
            os.setpgid(0, group)
            os.write(told, b"!")
        os.closerange(0, 1 << 16)
        while True:
            signal.pause()
    os.read(ready, 1)
    os.close(ready)
    os.close(told)


def become(request: Request, received: list[int]) -> None:
    """Take the streams, the environment, the folder and the words of the request."""
    os.closerange(0, 3)
    for number, descriptor in zip(request["open"], received, strict=True):
        os.dup2(descriptor, number)
    os.closerange(3, 1 << 16)
    if request["terminal"]:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        as_a_job()
    if request["netns"]:
        enter(request["netns"], request["sysfs"])
    if request["memory"]:
        resource.setrlimit(resource.RLIMIT_AS, (request["memory"],) * 2)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = [program.__file__, *request["words"]]
    for name, number, mode, errors in (
        ("stdin", 0, "r", "surrogateescape"),
        ("stdout", 1, "w", "surrogateescape"),
        ("stderr", 2, "w", "backslashreplace"),
    ):
        opened = stream(number, mode, errors)
        setattr(sys, name, opened)
        setattr(sys, f"__{name}__", opened)


def serve(requests: socket.socket) -> bool:
    """True in each new process; False at the end."""
    poll = select.poll()
    poll.register(requests, select.POLLIN)
    running: dict[int, tuple[int, socket.socket]] = {}
    while True:
        for descriptor, _ in poll.poll():
            if descriptor != requests.fileno():
                poll.unregister(descriptor)
                os.close(descriptor)
                child, answers = running.pop(descriptor)
                code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                answers.sendall(b"%d\n" % code)
                answers.close()
                continue
            text, received, _, _ = socket.recv_fds(requests, 1 << 20, 4)
            if not text:
                return False
            child = os.fork()
            if child == 0:
                become(json.loads(text), received[1:])
                return True
            for one in received[1:]:
                os.close(one)
            answers = socket.socket(fileno=received[0])
            answers.sendall(b"%d\n" % child)
            watched = os.pidfd_open(child)
            running[watched] = child, answers
            poll.register(watched, select.POLLIN)


def end(code: int) -> NoReturn:
    """End as Python does, but do not take the modules apart: it takes 0.1 s."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for file in (sys.stdout, sys.stderr):
        try:
            file.flush()
        except OSError:
            code = 120  # that of Python
    os._exit(code)


def main() -> int:
    """Run a command of nettop, or Python code as `python -c` does; the exit code."""
    if sys.argv[1:2] != ["-c"]:
        return program.main()
    code = sys.argv.pop(2)
    del sys.argv[0]
    try:
        exec(code, {"__name__": "__main__"})
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    prepare()
    if serve(socket.socket(fileno=int(sys.argv[1]))):
        end(main())
