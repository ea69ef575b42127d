"""A capture of the user's own: what it loses is counted, and what cannot be watched or moved."""

import errno
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator

import pytest
import veth
from trial_ends import Ends, ends

from nettop.host.bpf import rings
from nettop.trials.far import capture as far_capture
from nettop.trials.run import TrialError
from nettop.trials.tools import _losses
from nettop.trials.tools.capture import dropped

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores"),
]
# A capture that reads ten packets and no more: its socket holds a few, and loses the rest.
CAPTURE = """
import os, signal, socket
os.sched_setaffinity(0, {1})
sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
sock.bind(("eth0", 3))
print("capturing", flush=True)
for _ in range(10):
    sock.recv(2048)
signal.pause()
"""
PORT = 7093
SENT = 200  # more than the ring holds
WORDS = ("--tool", "capture", "--rate", "1M")


@pytest.fixture(scope="module")
def pair() -> Iterator[Ends]:
    with ends("ca") as both:
        yield both


@pytest.fixture(scope="module")
def capture(pair: Ends) -> Iterator[str]:
    """The number of the process that captures at the near end."""
    words = [*pair.pair.near, sys.executable, "-c", CAPTURE]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline()
        yield str(running.pid)
        running.kill()  # it may still wait for packets


def test_what_a_running_capture_loses_is_counted(pair: Ends, capture: str) -> None:
    found = pair.trial("capture", "--pid", capture, "--sizes", "18", "--rate", "1M")
    (point,) = found["details"]["points"]
    assert 0 <= point["dropped_early"] <= point["dropped"]
    assert 0 < point["dropped"] < point["sent"]
    assert point["captured"] == point["sent"] - point["dropped"]
    assert found["loss"]["percent"] == pytest.approx(100 * point["dropped"] / point["sent"])


def test_what_the_interface_drops_no_socket_sees() -> None:
    """A backlog that is full loses packets before any socket: they count as lost too."""
    assert dropped("lo") >= 0
    assert dropped("no-such-device") == 0


def test_processes_that_cannot_be_watched_are_named(pair: Ends) -> None:
    said = pair.trial("capture", "--pid", str(os.getpid()), code=3)["said"]
    assert "no packet socket" in said
    with pytest.raises(TrialError, match="cannot read"), _losses.losses(2**22 + 1):
        pass


@pytest.mark.parametrize("asks", [False, True])
def test_what_a_ring_loses_is_read_and_its_owner_still_told(asks: bool) -> None:
    """A ring that nobody reads; its owner asks meanwhile or not, after which it counts anew."""
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as own,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        far_capture.attach(own, far_capture.filtered(PORT, v6=False))
        far_capture.ring(own, 4096, 2)
        own.bind(("lo", 3))
        own.setsockopt(far_capture.SOL_PACKET, far_capture.PACKET_IGNORE_OUTGOING, 1)
        send(sender, 2 * SENT)  # more than it holds
        held = statistics(own)
        send(sender, SENT)
        with _losses.losses(os.getpid()) as (lost, told):
            assert told == _losses.OF_RING
            assert lost() == 0
            if asks:
                assert statistics(own) == SENT
                assert lost() == 0
            send(sender, SENT)
            assert lost() == SENT
        assert held > SENT
        assert statistics(own) == (SENT if asks else 2 * SENT)


def test_a_ring_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_pid: int) -> None:
        raise OSError(errno.EPERM, "counting in the kernel needs root")

    monkeypatch.setattr(rings, "Rings", refused)
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as own,
        far_capture.ring(own, 4096, 2),
        pytest.raises(TrialError, match=r"needs root\): stop it and read its own summary"),
        _losses.losses(os.getpid()),
    ):
        pass


def send(sender: socket.socket, count: int) -> None:
    for _ in range(count):
        sender.sendto(bytes(18), ("127.0.0.1", PORT))


def statistics(own: socket.socket) -> int:
    """What the ring has lost since this was asked."""
    raw = own.getsockopt(far_capture.SOL_PACKET, far_capture.PACKET_STATISTICS, 12)
    dropped: int = struct.unpack("3I", raw)[1]
    return dropped


def test_moved_to_where_it_is_already_there_is_nothing_to_try(pair: Ends, capture: str) -> None:
    words = ("prove", f"process.affinity@{capture}=1", "--to", veth.FAR, *pair.peer, *WORDS)
    assert "already" in pair.nettop(*words, code=4)["said"]
