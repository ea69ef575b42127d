"""A change that cuts the link under a live session comes back when nettop is killed at once."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from hang import until
from lab.inside.kernel import INTEL, Nettop, connected, ring

pytestmark = pytest.mark.topology("two-nodes")
CONFIRM = 8.0
ECHO = """
import socket
peer, _ = socket.create_server(("", 7100)).accept()
while data := peer.recv(65536):
    peer.sendall(data)
"""


class Session:
    """A byte every 50 ms to the peer and back."""

    def __init__(self) -> None:
        self.far = subprocess.Popen(["ip", "netns", "exec", "peer", sys.executable, "-c", ECHO])
        self.near = connected(7100)
        self.back = 0
        threading.Thread(target=self._count, daemon=True).start()
        threading.Thread(target=self._send, daemon=True).start()

    def _send(self) -> None:
        try:
            while True:
                self.near.sendall(b"x")
                time.sleep(0.05)
        except OSError:
            return

    def _count(self) -> None:
        try:
            while data := self.near.recv(65536):
                self.back += len(data)
        except OSError:
            return

    def lives(self) -> bool:
        """Twenty more bytes come back."""
        was = self.back
        return until(lambda: self.back >= was + 20)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    made = Session()
    yield made
    made.near.close()
    made.far.kill()
    made.far.wait()


@pytest.mark.parametrize("time_", [1, 2, 3])
def test_a_killed_nettop_does_not_leave_the_link_cut(
    nettop: Nettop, session: Session, time_: int
) -> None:
    before = ring(INTEL)
    words = ["set", f"ring.rx@{INTEL}", "512", "--confirm", f"{CONFIRM:g}", "--json"]
    running = subprocess.Popen([sys.executable, "-m", "nettop", *words], stdout=subprocess.DEVNULL)
    until(lambda: ring(INTEL) == "512")
    running.kill()
    running.wait()
    assert ring(INTEL) == "512"
    until(lambda: ring(INTEL) == before)
    assert session.lives()


def test_a_confirmed_change_stays(nettop: Nettop, session: Session) -> None:
    code, done = nettop("set", f"ring.rx@{INTEL}", "512", "--confirm", "300")
    (change,) = done["changes"]
    assert (code, change["state"]) == (0, "pending")
    code, kept = nettop("confirm", str(change["id"]))
    assert (code, kept["changes"][0]["state"]) == (0, "applied"), kept
    time.sleep(2)
    assert ring(INTEL) == "512"
    assert session.lives()
