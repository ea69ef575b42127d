"""A capture of the user's own: what it loses is counted, and what cannot be watched or moved."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
import veth
from trial_ends import Ends, ends

from nettop.trials.far import capture as far_capture
from nettop.trials.run import TrialError
from nettop.trials.tools.capture import dropped, drops

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
SENT = ("--tool", "capture", "--rate", "1M")


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
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as own,
        far_capture.ring(own, 4096, 2),
        pytest.raises(TrialError, match="into a ring"),
    ):
        drops(os.getpid())
    with pytest.raises(TrialError, match="cannot read"):
        drops(2**22 + 1)


def test_moved_to_where_it_is_already_there_is_nothing_to_try(pair: Ends, capture: str) -> None:
    words = ("prove", f"process.affinity@{capture}=1", "--to", veth.FAR, *pair.peer, *SENT)
    assert "already" in pair.nettop(*words, code=4)["said"]
