"""A guard that may open no file any more reverts with what it opened before."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys

import pytest
from changes_netns import Nettop, expire, guards, mtu, no_guard
from hang import until

from nettop.changes.journal import Journal

pytestmark = pytest.mark.netns
# a container's root, who cannot raise the limit again
BOUND = ("setpriv", "--bounding-set=-sys_resource", "--inh-caps=-sys_resource")
KINDS = {
    "link.mtu@va": "9000", "link.gso-max-size@va": "30000",
    "sysctl.net.ipv4.tcp_keepalive_time": "100", "feature.rx-gro-list@va": "on",
    "rps.cpus@va/rx-0": "0",
}  # fmt: skip


def held(process: int) -> list[str]:
    """The files that a process has open."""
    folder = f"/proc/{process}/fd"
    found = []
    for handle in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(f"{folder}/{handle}"))
    return found


def changed(nettop: Nettop, prefix: tuple[str, ...], *words: str, opens: str) -> int:
    """Make the changes, and take all descriptors from the guard; its process.

    `opens` is the end of the last file that it opens before.
    """
    told = nettop.see(
        *prefix, sys.executable, "-m", "nettop", "set", *words, "--confirm", "600", "--json"
    )
    assert {c["state"] for c in json.loads(told)["changes"]} == {"pending"}
    (guard,) = guards(nettop.state)
    until(lambda: sum(name.endswith(opens) for name in held(guard)) > 1, lambda: held(guard))
    resource.prlimit(guard, resource.RLIMIT_NOFILE, (0, 0))
    return guard


@pytest.mark.parametrize("prefix", [BOUND, ()], ids=["bound", "root"])
def test_a_guard_without_descriptors_reverts_each_kind_and_records_it(
    nettop: Nettop, prefix: tuple[str, ...]
) -> None:
    before = [nettop.plain("get", name)[1].split()[:2] for name in KINDS]
    changed(nettop, prefix, *(word for pair in KINDS.items() for word in pair), opens="/rps_cpus")
    expire(nettop.state)
    no_guard(nettop.state)
    assert [nettop.plain("get", name)[1].split()[:2] for name in KINDS] == before
    assert {e.state for e in Journal(nettop.state).entries()} == {"reverted"}


def test_one_that_cannot_revert_is_ended_by_a_second_sigterm_and_says_so(nettop: Nettop) -> None:
    """The kept files are not those of the device's new name."""
    guard = changed(nettop, BOUND, "link.mtu@va", "9000", opens="/mtu")
    nettop.see("ip", "link", "set", "va", "name", "vz")
    try:
        book = Journal(nettop.state)
        for _ in range(2):
            os.kill(guard, signal.SIGTERM)
            until(lambda: "SIGTERM" not in pending_signals(guard))
            until(lambda: book.failures() or not guards(nettop.state))
        no_guard(nettop.state)
        told = "; ".join(book.failures())
        assert "Too many open files" in told
        assert "the guard was told twice to end" in told
    finally:
        nettop.see("ip", "link", "set", "vz", "name", "va")
    assert nettop("undo", "--all")[0]["state"] == "undone"
    assert mtu(nettop) == 1500


def pending_signals(process: int) -> set[str]:
    """The signals that wait for a process."""
    try:
        with open(f"/proc/{process}/status", encoding="ascii") as file:
            mask = next(int(row.split()[1], 16) for row in file if row.startswith("ShdPnd"))
    except FileNotFoundError:
        return set()
    return {s.name for s in signal.Signals if mask >> (s - 1) & 1}


def test_without_descriptors_for_a_guard_nothing_is_written(nettop: Nettop) -> None:
    words = ["set", "link.mtu@va", "9000", "--confirm", "600"]
    done = subprocess.run(
        [*nettop.inside, *BOUND, "prlimit", "--nofile=24:24", sys.executable, "-m", "nettop",
         *words],
        env=nettop.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "did not start: Too many open files" in done.stdout + done.stderr
    assert mtu(nettop) == 1500
