"""The real irqbalance: named before an interrupt is moved, told to leave it alone, told again."""

import contextlib
import glob
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hang import until
from lab.inside.kernel import INTEL, Nettop, affinity, lines, see

pytestmark = [
    pytest.mark.topology("two-nodes"),
    pytest.mark.needs("irqbalance"),
]
SCAN = 2  # seconds between two looks of the daemon
BAN = f"irqbalance.ban@{INTEL}"
CPUS = "5-6"  # two of four that share a cache: the daemon gives one, or all four


def asked(question: str) -> str:
    """What the daemon answers; asked without nettop."""
    with contextlib.ExitStack() as stack:
        for path in glob.glob("/run/irqbalance/*.sock"):
            door = stack.enter_context(socket.socket(socket.AF_UNIX))
            door.settimeout(20)
            try:
                door.connect(path)
            except ConnectionRefusedError:
                continue  # of one that was killed
            door.sendall(question.encode())
            door.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: door.recv(65536), b"")).decode()  # noqa: B023
    raise FileNotFoundError("no irqbalance")


def answers() -> bool:
    """Whether a daemon answers."""
    with contextlib.suppress(OSError):
        return bool(asked("setup"))
    return False


def banned() -> set[int]:
    """The interrupts that it leaves alone."""
    words = asked("setup").split()
    return {int(word) for before, word in pairwise(words) if before == "IRQ"}


class Daemon:
    """An irqbalance of our own."""

    def __init__(self) -> None:
        os.makedirs("/run/irqbalance", exist_ok=True)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        words = ["irqbalance", "--foreground", "-t", str(SCAN)]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(answers, "it does not answer")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    """It moves every interrupt that is not banned: afterwards they are where they were."""
    before = {path: path.read_text() for path in Path("/proc/irq").glob("*/smp_affinity_list")}
    made = Daemon()
    made.start()
    yield made
    made.kill()
    shutil.rmtree("/run/irqbalance", ignore_errors=True)
    for path, cpus in before.items():
        with contextlib.suppress(OSError):  # some are the driver's own to place
            path.write_text(cpus)


@pytest.mark.usefixtures("daemon")
def test_it_is_named_told_and_told_again(nettop: Nettop) -> None:
    setting = f"irq.affinity@{INTEL}/rx-0"
    own = {number for number, name in lines().items() if name.startswith(INTEL)}
    assert len(own) == 3

    _, told = nettop("set", setting, CPUS, "--dry-run")
    assert [note for note in told["notes"] if f"nettop set {BAN} on" in note]
    assert (banned(), affinity(INTEL) == CPUS) == (set(), False)

    _, done = nettop("set", BAN, "on")
    assert done["changes"][0]["state"] == "applied", done
    assert banned() == own
    # before anything is moved: while it is off the daemon takes the interrupt where it likes
    for value, numbers in (("off", set()), ("on", own)):
        _, told = nettop("set", BAN, value, "--dry-run")
        see("sh", "-c", told["changes"][0]["shell"])
        assert banned() == numbers

    _, told = nettop("set", setting, CPUS, "--dry-run")
    assert "irqbalance" not in str(told.get("notes"))
    nettop("set", setting, CPUS)
    time.sleep(3 * SCAN)
    assert affinity(INTEL) == CPUS

    code, undone = nettop("undo", "--all")
    assert (code, [one["state"] for one in undone["changes"]]) == (0, ["undone", "undone"]), undone
    assert banned() == set()


def test_another_daemon_has_forgotten_it(
    nettop: Nettop, daemon: Daemon, capsys: pytest.CaptureFixture[str]
) -> None:
    asked("settings ban irqs 9")
    _, done = nettop("set", BAN, "on")
    assert {9} < banned()
    daemon.kill()
    daemon.start()
    assert banned() == set()
    code, undone = nettop("undo", str(done["changes"][0]["id"]))
    assert (code, undone["changes"][0]["state"]) == (0, "void"), undone
    assert "irqbalance" in undone["changes"][0]["because"]
    daemon.kill()
    code, _ = nettop("get", BAN)
    assert (code, "does not run" in capsys.readouterr().err) == (3, True)


@pytest.mark.usefixtures("daemon")
def test_a_list_that_it_would_cut_short_is_never_sent() -> None:
    """Why irqbalance.validate() refuses: the rest is lost, and a number may be cut in two."""
    numbers = range(1000, 1100)
    question = "settings ban irqs " + " ".join(map(str, numbers))
    with contextlib.suppress(ConnectionResetError):  # it hangs up on what it does not read
        asked(question)
    left = banned()
    print(
        f"{len(question)} bytes, {len(left)} of {len(numbers)} interrupts banned", file=sys.stderr
    )
    assert len(left) < len(numbers)
    asked("settings ban irqs NONE")
