"""Whether memory stays flat: the screen of a live host on which everything churns.

    python tests/benchmarks/memory_flat.py [--frames 6000] [--trace]

`nettop` runs on a pseudo-terminal, ten samples a second, in a network and a process namespace of
its own. There the weather changes all the time: processes start and end under new names, TCP and
UDP flows come and go, veth pairs are added and removed and no name returns. The terminal is
resized, and all panes are shown in turn. Needs root; changes nothing outside of the namespaces.

Prints the resident size, the blocks that Python holds and the bytes that the C library holds.
What grows after the first 3,000 samples is the result: `--frames 21600` is 36 minutes. Memory that
grows while the blocks do not is fragmentation. Asserts nothing (`tests/tui/test_memory.py` counts).
"""

import argparse
import ctypes
import fcntl
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

INTERVAL = 0.1  # seconds between samples
SETTLED = 3_000  # samples after which nothing may grow
EVERY = 300  # samples between two lines of the report
SPACES = "unshare --net --pid --mount --fork --kill-child --mount-proc".split()
SIZES = ((120, 40), (80, 24), (200, 60), (100, 30), (160, 45), (60, 20))
KEYS = "1jjk2jj<3j>z4jjIk5jj\r\x1bj6[]7j8j3R\x09"
PATTERN = "{:>7} samples {:7.2f} MiB resident {:>9} blocks {:7.2f} MiB of malloc {:>8} objects"


class Malloc(ctypes.Structure):
    """struct mallinfo2 of glibc 2.33: bytes from sbrk, in mmap, in use, free, …"""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
        ).split()
    )


def allocated() -> float:
    """Memory allocated by the C library, MiB; NaN if it does not report it."""
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return float("nan")
    ask.restype = Malloc
    told = ask()
    return float(told.uordblks + told.hblkhd) / 2**20


def resident() -> float:
    """Resident size of this process, MiB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


# -- the churn ------------------------------------------------------------------------------------


def weather() -> None:
    """Processes, flows and interfaces that come and go, until killed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    server = socket.create_server(("127.0.0.1", 0), backlog=64)
    threading.Thread(target=_serve, args=(server,), daemon=True).start()
    flows: list[tuple[float, socket.socket]] = []
    devices: list[int] = []
    for step in count():
        due = time.monotonic() + 0.25
        _process(step)
        for _ in range(3):
            flow = socket.create_connection(server.getsockname())
            flow.send(bytes(40_000))
            flows.append((due + step % 7, flow))
            datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            datagrams.connect(server.getsockname())
            flows.append((due + step % 3, datagrams))
        for _, flow in flows:
            with suppress(OSError):
                flow.send(b"still here")
        for ends, flow in flows:
            if ends < due:
                flow.close()
        flows = [one for one in flows if one[0] >= due]
        if step % 4 == 0:
            devices.append(step)
            gone = [devices.pop(0)] if len(devices) > 4 else []
            _links(step, gone)
        time.sleep(max(0.0, due - time.monotonic()))


def _serve(server: socket.socket) -> None:
    """Read and discard the data of every connection."""
    ready = select.poll()
    taken: dict[int, socket.socket] = {}
    ready.register(server, select.POLLIN)
    while True:
        for number, _ in ready.poll():
            if number == server.fileno():
                flow, _ = server.accept()
                taken[flow.fileno()] = flow
                ready.register(flow, select.POLLIN)
            elif not _read(taken[number]):
                ready.unregister(number)
                taken.pop(number).close()


def _read(flow: socket.socket) -> bytes:
    try:
        return flow.recv(1 << 20)
    except OSError:
        return b""


def _process(step: int) -> None:
    """Two processes of a new name: one works for a moment, one sleeps and holds a socket."""
    for which in "ab":
        if os.fork():
            continue
        Path("/proc/self/comm").write_text(f"job-{step}{which}")
        end = time.monotonic() + 0.02
        while which == "a" and time.monotonic() < end:
            pass
        held = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        held.bind(("127.0.0.1", 0))
        time.sleep(step % 5)
        os._exit(0)


def _links(new: int, gone: list[int]) -> None:
    """A veth pair of new names comes, an old one goes."""
    batch = [f"link add v{new} type veth peer name w{new}", f"link set v{new} up",
             f"link set w{new} up", f"addr add 10.1.{new % 250}.1/32 dev v{new}",
             *(f"link del v{old}" for old in gone)]  # fmt: skip
    subprocess.run(["ip", "-force", "-batch", "-"], input="\n".join(batch), text=True, check=False)


# -- nettop, counting -----------------------------------------------------------------------------


def counting(report: int, trace: bool) -> None:
    """Run the screen; every EVERY samples, write what it holds in memory to the file `report`."""
    import gc

    from nettop.cli import main
    from nettop.tui import engine
    from nettop.views.observer import Observer

    step = engine.Engine._step
    samples = count(1)
    if trace:
        import tracemalloc

        kept = {}

    def counted(self: engine.Engine, observer: Observer) -> None:
        step(self, observer)
        number = next(samples)
        if number % EVERY == 0 or number == 1:
            told = PATTERN.format(
                number, resident(), sys.getallocatedblocks(), allocated(), len(gc.get_objects())
            )
            os.write(report, f"{told}\n".encode())
        if trace and number == SETTLED // 3:
            tracemalloc.start(12)
        if trace and number in (SETTLED, 2 * SETTLED):
            kept[number] = tracemalloc.take_snapshot()
        if trace and number == 2 * SETTLED:
            for way in ("lineno", "traceback"):
                grown = kept[number].compare_to(kept[SETTLED], way)
                for one in grown[:25]:
                    lines = "\n   ".join(one.traceback.format()[-6:])
                    os.write(report, f"+{one.size_diff} in {one.count_diff}\n   {lines}\n".encode())

    engine.Engine._step = counted  # type: ignore[method-assign]
    sys.exit(main(["top", "--interval", str(INTERVAL)]))


def observed(frames: int, home: str, trace: bool) -> None:
    """Run nettop on a terminal; resize it and type keys until the report is long enough."""
    settings = Path(home, "nettop")
    settings.mkdir(parents=True, exist_ok=True)
    # ten samples a second cost more than the default budget, which would take them less often
    (settings / "config.toml").write_text("budget = 100\n")
    hear, tell = os.pipe()
    os.set_inheritable(tell, True)
    inside = [sys.executable, __file__, *(["--trace"] if trace else []), "--counting", str(tell)]
    pid, tty = pty.fork()
    if pid == 0:
        os.environ.update(
            TERM="xterm-256color", LANG="C.UTF-8", HOME=home, NETTOP_STATE=home,
            XDG_STATE_HOME=home, XDG_CONFIG_HOME=home,
        )  # fmt: skip
        os.execv(sys.executable, inside)
    os.close(tell)
    keys, sizes = count(), count()
    pressed = resized = time.monotonic()
    told, first, last = 0, 0.0, 0.0
    while told < frames:
        for ready in select.select([tty, hear], [], [], 0.5)[0]:
            data = os.read(ready, 1 << 16)
            if ready == tty:
                for _ in range(data.count(b"\x1b[6n")):
                    os.write(tty, b"\x1b[1;1R")
                continue
            print(data.decode(), end="", flush=True)
            for words in map(str.split, data.decode().splitlines()):
                if words[1:2] == ["samples"]:
                    told, last = int(words[0]), float(words[2])
                    first = last if told <= SETTLED else first
        now = time.monotonic()
        if now - pressed > 2:
            pressed = now
            os.write(tty, KEYS[next(keys) % len(KEYS)].encode())
        if now - resized > 15:
            resized = now
            width, height = SIZES[next(sizes) % len(SIZES)]
            fcntl.ioctl(tty, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    print(f"{last - first:+.2f} MiB since sample {min(SETTLED, told)}")


def main() -> None:
    """Make the namespaces, start the churn, run nettop and print its memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=6_000, help="samples to take")
    parser.add_argument("--trace", action="store_true", help="tell which lines hold more")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--counting", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.counting is not None:
        counting(args.counting, args.trace)
    elif not args.inside:
        if os.geteuid() != 0:
            raise SystemExit("needs root: it makes namespaces")
        os.execvp(SPACES[0], [*SPACES, sys.executable, *sys.argv, "--inside"])
    else:
        subprocess.run(["mount", "-t", "sysfs", "none", "/sys"], check=True)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        changing = os.fork()
        if changing == 0:
            weather()
        with tempfile.TemporaryDirectory() as home:
            observed(args.frames, home, args.trace)
        os.kill(changing, signal.SIGKILL)


if __name__ == "__main__":
    main()
