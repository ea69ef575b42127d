"""Changes to a real kernel whose journal, or nettop itself, is gone before they are confirmed."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from changes_netns import Nettop, mtu
from hang import until

pytestmark = pytest.mark.netns


@pytest.fixture(autouse=True)
def _back(nettop: Nettop) -> Iterator[None]:
    yield
    nettop.see("ip", "link", "set", "va", "mtu", "1500")


def test_a_change_reverts_without_its_journal(nettop: Nettop, tmp_path: Path) -> None:
    nettop("set", "link.mtu@va", "1400", "--confirm", "3")
    shutil.rmtree(tmp_path / "state")
    until(lambda: mtu(nettop) == 1500)
    until(lambda: [one["state"] for one in nettop("journal")] == ["reverted"])
    assert nettop.see("sysctl", "-n", "net.ipv6.conf.va.mtu").strip() == "1500"


def test_a_value_of_another_program_is_not_pending_for_ever(nettop: Nettop) -> None:
    (made,) = nettop("set", "link.mtu@va", "1400", "--confirm", "2")
    nettop.see("ip", "link", "set", "va", "mtu", "1350")
    until(lambda: nettop("journal")[0]["state"] == "conflict")
    assert mtu(nettop) == 1350
    (told,) = nettop("undo", str(made["id"]), code=4)
    assert "it shows '1350'" in told["because"]


def held(nettop: Nettop, seconds: str = "600") -> subprocess.Popen[str]:
    """`nettop set --hold`, which has made its change."""
    import sys

    words = [*nettop.inside, sys.executable, "-m", "nettop", "set", "link.mtu@va", "1400"]
    process = subprocess.Popen(
        [*words, "--hold", seconds, "--json"], env=nettop.environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["changes"][0]["state"] == "applied"
    assert mtu(nettop) == 1400
    return process


@pytest.mark.parametrize("killed", [False, True])
def test_a_held_change_reverts_without_its_journal(
    nettop: Nettop, tmp_path: Path, *, killed: bool
) -> None:
    process = held(nettop)
    shutil.rmtree(tmp_path / "state")
    if killed:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    else:
        process.communicate("")
        assert process.returncode == 0
        assert mtu(nettop) == 1500
    until(lambda: mtu(nettop) == 1500)


def test_a_held_change_reverts_while_its_nettop_is_stopped(nettop: Nettop) -> None:
    process = held(nettop, "1")
    process.send_signal(signal.SIGSTOP)
    until(lambda: mtu(nettop) == 1500)
    process.send_signal(signal.SIGCONT)
    process.communicate("")
    assert process.returncode == 4
    assert [one["state"] for one in nettop("journal")] == ["undone"]


def test_a_held_change_that_nothing_reverts_is_not_taken_for_a_kept_one(nettop: Nettop) -> None:
    process = held(nettop)
    (entry,) = nettop("journal")
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if entry["keeper"].encode() in command.read_bytes().split(b"\0"):
                os.kill(int(command.parent.name), signal.SIGKILL)
    process.kill()
    process.communicate()
    assert (entry["state"], entry["finding"]) == ("held", "")
    code, out, _ = nettop.plain("journal")
    assert (code, " for " in out.splitlines()[0]) == (0, False)
    assert "note: change 1 (link.mtu@va) was made for a test, and not reverted" in out
    assert nettop("confirm", "1", code=4)[0]["state"] == "refused"
    assert nettop("undo", "1")[0]["state"] == "undone"
    assert mtu(nettop) == 1500
