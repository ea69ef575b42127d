"""The kernel's own count of drops by reason, on this kernel: exact, and gone with the process."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from changes_netns import python
from hang import until

from nettop.host.bpf import call
from nettop.host.bpf.drops import Counter
from nettop.host.source import Live
from nettop.views.observer import Observer

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it loads a program into the kernel"),
]
SENT = 20
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


def held(pid: int | str = "self") -> set[int]:
    """The programs that a process holds, as its descriptors tell."""
    found = set()
    for name in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            told = Path(f"/proc/{pid}/fdinfo/{name}").read_text()
        except FileNotFoundError:  # that of the listing itself
            continue
        found |= {int(number) for number in re.findall(r"^prog_id:\s*(\d+)", told, re.MULTILINE)}
    return found


def gone(mine: set[int]) -> None:
    """Wait until these programs leave the kernel: no CPU may be running them."""
    until(lambda: not mine & programs())


def lost(counter: Counter) -> tuple[dict[str, int], int]:
    """What is counted while datagrams go to a closed port and a full socket; how many it kept."""
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
        after = counts(counter)
        full.setblocking(False)
        kept = 0
        with contextlib.suppress(BlockingIOError):
            while full.recv(2000):
                kept += 1
    return {reason: after[reason] - before[reason] for reason in after}, kept


def test_a_closed_port_and_a_full_socket_are_told_apart(counter: Counter) -> None:
    """Others on this machine drop too: never fewer than these, and when they do not, these."""

    def exact() -> bool:
        grown, kept = lost(counter)
        assert grown["NO_SOCKET"] >= SENT
        assert grown["SOCKET_RCVBUFF"] >= SENT - kept > 0
        return (grown["NO_SOCKET"], grown["SOCKET_RCVBUFF"]) == (SENT, SENT - kept)

    until(exact)


def test_what_is_closed_counts_no_more_and_leaves_no_program(counter: Counter) -> None:
    mine = held()
    assert mine
    assert mine <= programs()
    counter.close()
    gone(mine)
    with pytest.raises(OSError, match="ended"):
        counter.text()


def test_an_observer_that_is_told_to_stop_leaves_no_program(counter: Counter) -> None:
    counter.close()
    observer = Observer(Live())
    observer.step()
    assert not held()  # nobody asked
    observer.drop_reasons = True
    assert observer.step().frame.tables["drop_reasons"]
    mine = held()
    assert mine
    observer.drop_reasons = False
    gone(mine)
    assert "drop_reasons" not in observer.step().frame.tables
    assert not held()


def test_a_killed_nettop_leaves_nothing_in_the_kernel(counter: Counter) -> None:
    counter.close()  # this kernel supports it; the process below opens its own
    script = (
        "import json, signal\n"
        "from nettop.host.source import Live\n"
        "source = Live()\n"
        "print(json.dumps(len(source.drops())), flush=True)\n"
        "signal.pause()\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert json.loads(other.stdout.readline()) > 100
        mine = held(other.pid)
        assert mine <= programs()
        os.kill(other.pid, signal.SIGKILL)
    assert mine
    gone(mine)


def test_without_the_right_it_is_one_sentence() -> None:
    script = (
        "import ctypes, mmap, os\n"  # later, nobody may read where they lie
        "import nettop.host.bpf.drops\n"
        "from nettop.host.source import Live\n"
        "os.setresuid(65534, 65534, 65534)\n"
        "try:\n    Live().drops()\n"
        "except OSError as error:\n    print(error.strerror)\n"
    )
    assert "needs root" in python("", script)
