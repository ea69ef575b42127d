"""The kernel's own count of drops by reason, on this kernel: exact, and gone with the process."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time

import pytest

from nettop.bpf import call
from nettop.bpf.drops import Counter

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it loads a program into the kernel"),
]
SENT = 200
_NEXT_PROGRAM = 11  # BPF_PROG_GET_NEXT_ID


@pytest.fixture
def counter() -> Counter:
    try:
        return Counter()
    except OSError as error:
        pytest.skip(f"this kernel cannot count: {error.strerror}")


def counts(counter: Counter) -> dict[str, int]:
    return {k: int(v) for k, v in (line.split() for line in counter.text().splitlines())}


def closed_port(door: socket.socket) -> None:
    for _ in range(SENT):
        try:
            door.sendto(b"x", ("127.0.0.1", 9))
        except ConnectionRefusedError:
            continue


def programs() -> set[int]:
    """The programs the kernel has, of whomever."""
    kernel, found, last = ctypes.CDLL(None, use_errno=True), set[int](), 0
    while True:
        block = ctypes.create_string_buffer(struct.pack("=II", last, 0), 128)
        if kernel.syscall(call._NUMBERS[os.uname().machine], _NEXT_PROGRAM, block, 128) < 0:
            return found
        last = struct.unpack_from("=I", block, 4)[0]
        found.add(last)


def gone(mine: set[int]) -> bool:
    """Whether these programs leave the kernel, which waits until no CPU can be running them."""
    end = time.monotonic() + 5
    while mine & programs() and time.monotonic() < end:
        time.sleep(0.05)
    return not mine & programs()


def test_a_closed_port_and_a_full_socket_are_told_apart(counter: Counter) -> None:
    before = counts(counter)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as full,
    ):
        closed_port(door)
        full.bind(("127.0.0.1", 0))
        full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        for _ in range(SENT):
            door.sendto(b"x" * 1000, full.getsockname())
        full.setblocking(False)
        kept = 0
        try:
            while full.recv(2000):
                kept += 1
        except BlockingIOError:
            pass
    after = counts(counter)
    grown = {reason: after[reason] - before[reason] for reason in after}
    # others on this machine may drop too: never fewer than these
    assert SENT <= grown["NO_SOCKET"] < 2 * SENT
    assert SENT - kept <= grown["SOCKET_RCVBUFF"] < 2 * SENT


def test_what_is_closed_counts_no_more_and_leaves_no_program() -> None:
    before = programs()
    try:
        counter = Counter()
    except OSError as error:
        pytest.skip(f"this kernel cannot count: {error.strerror}")
    mine = programs() - before
    assert mine
    counter.close()
    assert gone(mine)
    with pytest.raises(OSError, match="ended"):
        counter.text()


def test_a_killed_nettop_leaves_nothing_in_the_kernel(counter: Counter) -> None:
    del counter  # it can be had: the rest is the other process's
    script = (
        "import json, sys, time\n"
        "from nettop.source import Live\n"
        "source = Live()\n"
        "print(json.dumps(len(source.drops())), flush=True)\n"
        "time.sleep(60)\n"
    )
    before = programs()
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert json.loads(other.stdout.readline()) > 100
        mine = programs() - before
        os.kill(other.pid, signal.SIGKILL)
    assert mine
    assert gone(mine)


def test_without_the_right_it_is_one_sentence() -> None:
    script = (
        "import ctypes, mmap, os\n"  # later, nobody may read where they lie
        "import nettop.bpf.drops\n"
        "from nettop.source import Live\n"
        "os.setresuid(65534, 65534, 65534)\n"
        "try:\n    Live().drops()\n"
        "except OSError as error:\n    print(error.strerror)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert "needs root" in done.stdout, (done.stdout, done.stderr)
