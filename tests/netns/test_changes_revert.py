"""Changes to a real kernel that nobody confirmed, or that the guard watches over."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import pytest
from changes_netns import NAME, Nettop, mtu, until

from nettop.changes.journal import Journal

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes network namespaces"),
]


def test_an_unconfirmed_change_reverts_by_itself(nettop: Nettop) -> None:
    (made,) = nettop("set", "link.mtu@va", "9000", "--confirm", "3")
    assert made["state"] == "pending"
    assert mtu(nettop) == 9000
    until(lambda: mtu(nettop) == 1500, 3 + 5)
    assert time.time() >= made["deadline"] - 0.5, "it was reverted before its time"
    until(lambda: nettop("journal")[0]["state"] == "reverted", 5)
    assert nettop("confirm", str(made["id"]), code=5)[0]["state"] == "reverted"
    assert mtu(nettop) == 1500


def test_a_confirmed_change_stays(nettop: Nettop) -> None:
    (made,) = nettop("set", "link.mtu@va", "9000", "--confirm", "3")
    assert nettop("confirm", str(made["id"]))[0]["state"] == "applied"
    time.sleep(4)
    assert mtu(nettop) == 9000
    assert nettop("journal")[0]["state"] == "applied"
    assert nettop("undo", "--all")[0]["state"] == "pending"
    assert mtu(nettop) == 1500
    assert nettop("confirm")[0]["state"] == "undone"
    assert mtu(nettop) == 1500


def test_two_unconfirmed_changes_revert_with_what_the_kernel_changed_with_them(
    nettop: Nettop,
) -> None:
    """With MTU 1500 again, the IPv6 MTU of 9000 in between cannot be set any more."""
    nettop("set", "link.mtu@va", "9000", "--confirm", "60")
    nettop("set", "link.mtu@va", "8000", "--confirm", "3")
    until(lambda: mtu(nettop) == 1500, 3 + 5)
    until(lambda: {one["state"] for one in nettop("journal")} == {"reverted"}, 5)
    assert nettop.see("sysctl", "-n", "net.ipv6.conf.va.mtu").strip() == "1500"
    assert Journal(nettop.environment["NETTOP_STATE"]).failures() == (), "not at once"


def test_an_undo_that_nobody_confirms_goes_back_to_the_change(nettop: Nettop) -> None:
    (made,) = nettop("set", "link.mtu@va", "9000")
    nettop("confirm", str(made["id"]))
    (undoing,) = nettop("undo", str(made["id"]), "--confirm", "2")
    assert (undoing["state"], mtu(nettop)) == ("pending", 1500)
    until(lambda: mtu(nettop) == 9000, 2 + 5)
    until(lambda: nettop("journal")[-1]["state"] == "reverted", 5)
    assert nettop("journal")[0]["state"] == "applied"
    assert nettop("journal")[1]["undoes"] == [made["id"]]
    nettop("undo", "--all")
    nettop("confirm")
    assert mtu(nettop) == 1500


def test_an_undone_change_is_not_reverted_again(nettop: Nettop) -> None:
    (made,) = nettop("set", "link.mtu@va", "9000", "--confirm", "3")
    nettop("undo", str(made["id"]))
    nettop.see("ip", "link", "set", "va", "mtu", "9000")
    time.sleep(4)
    assert mtu(nettop) == 9000
    nettop.see("ip", "link", "set", "va", "mtu", "1500")


@pytest.mark.parametrize("delay", [0.0, 0.3, 0.6])
def test_the_guard_outlives_sigkill_and_the_session(nettop: Nettop, delay: float) -> None:
    process = nettop.start("set", "link.mtu@va", "9000", "--confirm", "3", start_new_session=True)
    if delay:
        time.sleep(delay)
    else:
        until(lambda: mtu(nettop) == 9000 or process.poll() is not None, 10)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    time.sleep(0.2)
    until(lambda: mtu(nettop) == 1500, 3 + 5)
    time.sleep(3.5)
    assert mtu(nettop) == 1500


def test_the_session_device_is_guarded_whatever_the_setting(nettop: Nettop) -> None:
    nettop.see("ip", "address", "add", "10.77.0.1/24", "dev", "va")
    try:
        words = ["set", "link.txqueuelen@va", "2000", "--confirm", "3", "--ssh-peer", "10.77.0.2"]
        (made,) = nettop(*words)
        assert made["state"] == "pending"
        until(lambda: "qlen 1000" in nettop.see("ip", "link", "show", "va"), 3 + 25)
    finally:
        nettop.see("ip", "address", "del", "10.77.0.1/24", "dev", "va")


def test_from_another_namespace_undo_says_where_to_go(nettop: Nettop, tmp_path: Path) -> None:
    (made,) = nettop("set", "link.txqueuelen@va", "2000")
    outside = Nettop(NAME, tmp_path / "state")
    outside.inside = []
    (told,) = outside("undo", str(made["id"]), code=4)
    assert f"--netns {NAME}" in told["because"]
    (back,) = outside("undo", str(made["id"]), "--netns", NAME)
    assert back["state"] == "undone"


def test_a_namespace_is_not_kept_in_the_hosts_files(nettop: Nettop) -> None:
    words = ["set", "sysctl.net.ipv4.tcp_rmem", "4096 131072 8388608", "--keep"]
    for more in (["--dry-run"], []):
        made, kept = nettop(*words, *more, code=4)
        assert made["state"] == ("planned" if more else "applied")
        assert kept["state"] == "refused"
        assert "not for a network namespace" in kept["because"]
    nettop("undo", "--all")
