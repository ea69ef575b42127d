"""What the kernel's samples say of a thread whose work is known."""

import os
import subprocess
import sys
from collections import Counter as Sums
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hang import until

from nettop.collect import profiles
from nettop.host.bpf.profile import Counter

ENOUGH = 60  # samples
# The pages of both ends are there: the kernel copies, and accounts for no memory.
COPIES = """
import os
file, room = os.memfd_create("copied"), bytearray(1 << 24)
os.write(file, bytes(1 << 24))
while True:
    os.preadv(file, [room], 0)
"""
SPINS = "while True: pass"


@pytest.fixture
def counter() -> Iterator[Counter]:
    try:
        found = Counter()
    except OSError as error:
        pytest.skip(f"this kernel cannot be sampled here: {error.strerror}")
    yield found
    found.close()


@contextmanager
def running(program: str) -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def work(counter: Counter, pid: int) -> Sums[str]:
    """The samples of a thread by class, once there are enough."""

    def read() -> Sums[str]:
        sums = Sums[str]()
        for row in profiles.parse(counter.text()):
            if row.thread == pid:
                sums[row.work] += row.samples
        return sums

    return until(lambda: sums if (sums := read()).total() >= ENOUGH else Sums[str]())


def test_a_thread_that_copies_is_seen_to_copy(counter: Counter) -> None:
    with running(COPIES) as pid:
        (first, _), *_ = work(counter, pid).most_common()
    assert first == "copy"


def test_a_thread_that_computes_is_seen_as_a_program_with_its_file(counter: Counter) -> None:
    with running(SPINS) as pid:
        (first, _), *_ = work(counter, pid).most_common()
        stacks = profiles.samples(counter.text()).stacks
    assert first == profiles.PROGRAM
    files = Sums({one.file: count for one, count in stacks.items() if one.thread == pid})
    assert "python" in files.most_common(1)[0][0]


def events() -> int:
    """How many events this process has."""
    handles = Path("/proc/self/fd")
    return sum("perf_event" in os.readlink(handles / one) for one in os.listdir(handles)
               if (handles / one).is_symlink())  # fmt: skip


def test_all_is_gone_with_the_counter(counter: Counter) -> None:
    assert events() == os.cpu_count()  # those that are online
    counter.close()
    assert events() == 0
