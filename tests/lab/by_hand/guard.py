"""Twenty times of twenty: a change that cuts a live link reverts when nettop is killed at once.

    python tests/lab/boot.py two-nodes --timeout 1500 -- python tests/lab/by_hand/guard.py [COUNT]

Ring and MTU in turn on the e1000e, whose link both take down, while a TCP session runs over it.
nettop is killed with SIGKILL in the moment the kernel shows the new value. Counted is when the
kernel (ethtool, ip) shows the old value again, and whether the same session carries bytes after.
Prints a line a run and the score; ends with 1 when one was too late.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable

NIC, TO = os.environ["LAB_E1000E"], os.environ["LAB_E1000E_TO"]
CONFIRM, SLACK = 10.0, 5.0
ECHO = """
import socket
listener = socket.create_server(("", 7100))
print("listening", flush=True)
peer, _ = listener.accept()
while data := peer.recv(65536):
    peer.sendall(data)
"""


class Session:
    """A TCP session to the peer that sends a byte every 50 ms and counts what comes back."""

    def __init__(self) -> None:
        words = ["ip", "netns", "exec", "peer", sys.executable, "-c", ECHO]
        self.far = subprocess.Popen(words, stdout=subprocess.PIPE)
        assert self.far.stdout is not None
        self.far.stdout.readline()
        self.sock = socket.create_connection((TO, 7100), timeout=20)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.back = 0
        self.last = time.monotonic()
        self.gap = 0.0
        for work in (self._send, self._count):
            threading.Thread(target=work, daemon=True).start()

    def _send(self) -> None:
        while True:
            self.sock.sendall(b"x")
            time.sleep(0.05)

    def _count(self) -> None:
        self.sock.settimeout(None)
        while data := self.sock.recv(65536):
            self.back += len(data)
            now = time.monotonic()
            self.gap = max(self.gap, now - self.last)
            self.last = now


def ring() -> str:
    """The receive ring, as ethtool sees it."""
    told = subprocess.run(["ethtool", "-g", NIC], capture_output=True, text=True, check=True)
    found: list[str] = re.findall(r"^RX:\s*(\d+)", told.stdout, re.MULTILINE)
    return found[1]


def mtu() -> str:
    """The MTU, as the kernel shows it."""
    with open(f"/sys/class/net/{NIC}/mtu") as file:
        return file.read().strip()


def downs() -> int:
    """How often the link went down."""
    with open(f"/sys/class/net/{NIC}/carrier_down_count") as file:
        return int(file.read())


def once(setting: str, value: str, read: Callable[[], str], session: Session) -> tuple[bool, str]:
    """One change, one kill, one return."""
    before, were, session.gap = read(), downs(), 0.0
    running = subprocess.Popen(
        [sys.executable, "-m", "nettop", "set", f"{setting}@{NIC}", value,
         f"--confirm={CONFIRM:g}", "--json"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while read() != value:
        if running.poll() is not None:
            told = running.communicate()[1]
            return False, f"{setting}: nettop ended with {running.returncode}: {told}"
        time.sleep(0.02)
    changed = time.monotonic()
    running.send_signal(signal.SIGKILL)
    running.wait()
    while read() != before and time.monotonic() < changed + 60:
        time.sleep(0.05)
    back = time.monotonic() - changed
    carried = session.back
    patience = time.monotonic() + 30
    while session.back <= carried + 20 and time.monotonic() < patience:
        time.sleep(0.2)
    alive = session.back > carried + 20
    fine = back <= CONFIRM + SLACK and alive and downs() > were
    return fine, (
        f"{setting} {before} → {value}: back after {back:.2f} s of {CONFIRM:g} + {SLACK:g}; "
        f"the link fell {downs() - were} times; the session stood still for {session.gap:.1f} s "
        f"and {'lives' if alive else 'IS DEAD'}"
    )


def main() -> int:
    """Run them and tell the score."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    session = Session()
    good = 0
    for number in range(count):
        if number % 2:
            fine, told = once("link.mtu", "1400", mtu, session)
        else:
            fine, told = once("ring.rx", "512", ring, session)
        good += fine
        print(f"{number + 1:2d} {'ok ' if fine else 'BAD'} {told}", flush=True)
    print(f"{good} of {count}")
    session.far.kill()
    return 0 if good == count else 1


if __name__ == "__main__":
    sys.exit(main())
