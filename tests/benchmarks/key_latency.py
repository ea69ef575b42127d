"""The time from a key to its answer while every core is busy: nettop and htop in a terminal.

    python tests/benchmarks/key_latency.py [--seconds 20] [--busy 2] [--no-load] [--only htop]

As many busy processes as there are CPUs (or as --busy says) run meanwhile and, where root may, a
transfer of iperf3 between two namespaces. The time is from writing the key to the pseudo-terminal
to reading the first bytes it causes, so it holds this program's own wait for a CPU too, the same
for both. Before each key the terminal has been silent for 30 ms: what the program writes by itself
once a second is not taken for an answer. Prints median, 95th percentile and worst in ms; asserts
nothing.
"""

import argparse
import contextlib
import fcntl
import os
import pty
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator

DOWN, UP = b"\x1b[B", b"\x1b[A"
PROGRAMS = {  # what is run, and the keys that bring a list with a cursor
    "nettop": ([sys.executable, "-m", "nettop"], b"3"),
    "htop": (["htop", "-d", "10"], b""),
}
SILENT, PATIENCE, SETTLE = 0.03, 2.0, 5.0
SPACES = ("nt-keys-a", "nt-keys-b")


@contextlib.contextmanager
def transfer() -> Iterator[bool]:
    """A transfer of iperf3 over veth; False if this machine cannot run one."""
    here, there = SPACES
    if os.geteuid() != 0 or not shutil.which("iperf3"):
        yield False
        return
    words = (
        f"ip netns add {here}", f"ip netns add {there}",
        f"ip link add va netns {here} type veth peer name vb netns {there}",
        f"ip -n {here} addr add 10.98.7.1/24 dev va", f"ip -n {there} addr add 10.98.7.2/24 dev vb",
        f"ip -n {here} link set va up", f"ip -n {there} link set vb up",
    )  # fmt: skip
    running: list[subprocess.Popen[bytes]] = []
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        for line in words:
            subprocess.run(line.split(), check=True)
        for space, line in ((there, "iperf3 -s"), (here, "iperf3 -c 10.98.7.2 -t 600")):
            argv = ["ip", "netns", "exec", space, *line.split()]
            running.append(subprocess.Popen(argv, **quiet))  # type: ignore[call-overload]
            time.sleep(0.5)
        yield True
    finally:
        for one in running:
            one.terminate()
            one.wait()
        for space in SPACES:
            subprocess.run(["ip", "netns", "del", space], check=False)


@contextlib.contextmanager
def busy(count: int) -> Iterator[int]:
    """So many endless processes."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield count
    finally:
        for one in running:
            one.kill()
            one.wait()


class Terminal:
    """A pseudo-terminal with a program in it, which answers where its cursor is."""

    def __init__(self, argv: list[str], size: tuple[int, int]) -> None:
        """Start it."""
        home = tempfile.gettempdir() + "/nettop-bench"
        self.pid, self.tty = pty.fork()
        if self.pid == 0:
            environment = {
                **os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8",
                "XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home,
            }  # fmt: skip
            os.execvpe(argv[0], argv, environment)
        window = struct.pack("HHHH", size[1], size[0], 0, 0)
        fcntl.ioctl(self.tty, termios.TIOCSWINSZ, window)

    def read(self, seconds: float) -> bytes:
        """The next output of the screen; empty if there is none within `seconds`."""
        ready, _, _ = select.select([self.tty], [], [], seconds)
        if not ready:
            return b""
        data = os.read(self.tty, 65536)
        for _ in range(data.count(b"\x1b[6n")):
            os.write(self.tty, b"\x1b[1;1R")
        return data

    def settle(self, seconds: float) -> None:
        """Read for so long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read(left)

    def answer(self, key: bytes) -> float | None:
        """Seconds from a key to the first bytes after it; None when none came."""
        while self.read(SILENT):
            pass
        began = time.monotonic()
        os.write(self.tty, key)
        return time.monotonic() - began if self.read(PATIENCE) else None

    def close(self) -> None:
        """End the process with SIGTERM; kill it if it does not end."""
        os.kill(self.pid, signal.SIGTERM)
        end = time.monotonic() + 5
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                self.read(0.05)
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                break
        else:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.tty)


def measure(name: str, size: tuple[int, int], seconds: float) -> list[float | None]:
    """The answers to Down and Up in turn, at uneven moments of the program's second."""
    argv, first = PROGRAMS[name]
    terminal = Terminal(argv, size)
    try:
        terminal.settle(SETTLE)
        os.write(terminal.tty, first)
        terminal.settle(2.0)
        end = time.monotonic() + seconds
        found: list[float | None] = []
        while time.monotonic() < end:
            found.append(terminal.answer(UP if len(found) % 2 else DOWN))
            terminal.settle(0.07 + 0.03 * (len(found) % 4))
        return found
    finally:
        terminal.close()


def main() -> None:
    """Print a line a program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="of keys, a program")
    parser.add_argument("--size", default="120x40")
    parser.add_argument("--only", default="")
    parser.add_argument("--busy", type=int, default=os.cpu_count(), help="endless processes")
    parser.add_argument("--no-load", action="store_true", help="on a machine at rest")
    args = parser.parse_args()
    width, height = map(int, args.size.split("x"))
    with contextlib.ExitStack() as load:
        told = "at rest"
        if not args.no_load:
            count = load.enter_context(busy(args.busy))
            moving = load.enter_context(transfer())
            told = f"{count} busy processes" + ", iperf3 over veth" * moving
        print(f"{'program':<10}{'keys':>6}{'median':>9}{'p95':>9}{'worst':>9}   ms, {told}")
        for name in PROGRAMS:
            if args.only and name != args.only:
                continue
            if shutil.which(PROGRAMS[name][0][0]) is None:
                print(f"{name:<10}  not on PATH: not measured")
                continue
            found = measure(name, (width, height), args.seconds)
            known = sorted(1e3 * one for one in found if one is not None)
            if not known:
                print(f"{name:<10}{len(found):>6}  no key was answered")
                continue
            p95 = known[min(len(known) - 1, round(0.95 * len(known)))]
            print(
                f"{name:<10}{len(known):>6}{statistics.median(known):>9.1f}{p95:>9.1f}"
                f"{known[-1]:>9.1f}" + f"   {len(found) - len(known)} unanswered"
                * (len(known) < len(found)),
                flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
