"""Changes to a real kernel that nobody confirmed, or that the guard watches over."""

import json
import signal
import sys
from pathlib import Path

import pytest
from changes_netns import Nettop, guards, mtu, no_guard

from nettop.changes.journal import Journal

pytestmark = pytest.mark.netns


def test_an_unconfirmed_change_reverts_by_itself(nettop: Nettop) -> None:
    """A real countdown: by the journal's own times it did not end too early."""
    (made,) = nettop("set", "link.mtu@va", "9000", "--confirm", "3")
    assert made["state"] == "pending"
    no_guard(nettop.state)
    assert mtu(nettop) == 1500
    (entry,) = Journal(nettop.state).entries()
    assert (entry.state, (entry.ended or 0) > made["deadline"] - 0.5) == ("reverted", True)
    assert nettop("confirm", str(made["id"]), code=5)[0]["state"] == "reverted"
    assert mtu(nettop) == 1500


def test_process_1_of_a_pid_namespace_stays_until_its_change_reverts(nettop: Nettop) -> None:
    """The kernel ends all processes of the namespace with it, also the guard."""
    words = ["-m", "nettop", "set", "link.mtu@va", "9000", "--confirm", "1", "--json"]
    shown = nettop.see("unshare", "-p", "-f", "--mount-proc", sys.executable, *words)
    assert json.loads(shown)["changes"][0]["state"] == "pending"
    assert mtu(nettop) == 1500
    assert nettop("journal")[0]["state"] == "reverted"


def test_a_confirmed_change_stays(nettop: Nettop) -> None:
    (made,) = nettop("set", "link.mtu@va", "9000", "--confirm", "600")
    assert (made["state"], mtu(nettop)) == ("pending", 9000)
    assert nettop("confirm", str(made["id"]))[0]["state"] == "applied"
    no_guard(nettop.state)
    assert mtu(nettop) == 9000
    assert nettop("journal")[0]["state"] == "applied"
    assert nettop("undo", "--all", "--confirm", "600")[0]["state"] == "pending"
    assert mtu(nettop) == 1500
    assert nettop("confirm")[0]["state"] == "undone"
    assert mtu(nettop) == 1500


def test_two_unconfirmed_changes_revert_with_what_the_kernel_changed_with_them(
    nettop: Nettop,
) -> None:
    """With MTU 1500 again, the IPv6 MTU of 9000 in between cannot be set any more."""
    for value in ("9000", "8000"):
        nettop("set", "link.mtu@va", value, "--confirm", "600")
    nettop.expires()
    assert mtu(nettop) == 1500
    assert {one["state"] for one in nettop("journal")} == {"reverted"}
    assert nettop.see("sysctl", "-n", "net.ipv6.conf.va.mtu").strip() == "1500"
    assert Journal(nettop.state).failures() == (), "not at once"


def test_an_undo_that_nobody_confirms_goes_back_to_the_change(nettop: Nettop) -> None:
    (made,) = nettop("set", "link.mtu@va", "9000", "--confirm", "600")
    nettop("confirm", str(made["id"]))
    (undoing,) = nettop("undo", str(made["id"]), "--confirm", "600")
    assert (undoing["state"], mtu(nettop)) == ("pending", 1500)
    nettop.expires()
    assert mtu(nettop) == 9000
    assert [one["state"] for one in nettop("journal")] == ["applied", "reverted"]
    assert nettop("journal")[1]["undoes"] == [made["id"]]
    nettop("undo", "--all", "--confirm", "600")
    nettop("confirm")
    assert mtu(nettop) == 1500


def test_an_undone_change_is_not_reverted_again(nettop: Nettop) -> None:
    (made,) = nettop("set", "link.mtu@va", "9000", "--confirm", "600")
    nettop("undo", str(made["id"]))
    nettop.see("ip", "link", "set", "va", "mtu", "9000")
    no_guard(nettop.state)
    assert mtu(nettop) == 9000
    nettop.see("ip", "link", "set", "va", "mtu", "1500")


# a nettop whose whole session is killed at a step of the change
DIES = """
import os, signal, sys
from nettop import settings
from nettop.changes.journal import Journal
def die(*_):
    os.killpg(0, signal.SIGKILL)
write = settings.write
if sys.argv[1] == "before the write":
    settings.write = die
elif sys.argv[1] == "after the write":
    settings.write = lambda *words: die(write(*words))
else:
    note = Journal.note
    Journal.note = lambda self, number, event, **v: (note(self, number, event, **v),
                                                     event == "end" and die())
from nettop.cli import main
main(sys.argv[2:])
"""


@pytest.mark.parametrize("step", ["before the write", "after the write", "after its record"])
def test_the_guard_outlives_sigkill_and_the_session(nettop: Nettop, step: str) -> None:
    words = ("set", "link.mtu@va", "9000", "--confirm", "600")
    process = nettop.start("-c", DIES, step, *words, start_new_session=True)
    assert process.communicate() == ("", "")
    assert process.returncode == -signal.SIGKILL
    assert mtu(nettop) == (1500 if step == "before the write" else 9000)
    assert guards(nettop.state)
    nettop.expires()
    assert mtu(nettop) == 1500
    assert nettop("journal")[0]["state"] == "reverted"


def test_the_session_device_is_guarded_whatever_the_setting(nettop: Nettop) -> None:
    nettop.see("ip", "address", "add", "10.77.0.1/24", "dev", "va")
    try:
        words = ["set", "link.txqueuelen@va", "2000", "--confirm", "600", "--ssh-peer", "10.77.0.2"]
        (made,) = nettop(*words)
        assert made["state"] == "pending"
        nettop.expires()
        assert "qlen 1000" in nettop.see("ip", "link", "show", "va")
    finally:
        nettop.see("ip", "address", "del", "10.77.0.1/24", "dev", "va")


def test_from_another_namespace_undo_says_where_to_go(nettop: Nettop, tmp_path: Path) -> None:
    (made,) = nettop("set", "link.txqueuelen@va", "2000")
    outside = Nettop("", tmp_path / "state", nettop.warm)
    (told,) = outside("undo", str(made["id"]), code=4)
    assert f"--netns {nettop.netns}" in told["because"]
    (back,) = outside("undo", str(made["id"]), "--netns", nettop.netns)
    assert back["state"] == "undone"


def test_a_namespace_is_not_kept_in_the_hosts_files(nettop: Nettop) -> None:
    words = ["set", "sysctl.net.ipv4.tcp_rmem", "4096 131072 8388608", "--keep"]
    for more in (["--dry-run"], []):
        made, kept = nettop(*words, *more, code=4)
        assert made["state"] == ("planned" if more else "applied")
        assert kept["state"] == "refused"
        assert "not for a network namespace" in kept["because"]
    nettop("undo", "--all")


def test_an_ipv6_route_has_its_mtu_again(nettop: Nettop) -> None:
    nettop.see(*"ip -6 address add 2001:db8:1::1/64 dev va nodad".split())
    nettop.see(*"ip -6 route add 2001:db8:77::/48 via 2001:db8:1::2 dev va mtu 1450".split())
    try:
        nettop("set", "link.mtu@va", "1400", "--confirm", "600")
        assert " mtu 1400 " in nettop.see("ip", "-6", "route", "show", "2001:db8:77::/48")
        nettop.expires()
        assert " mtu 1450 " in nettop.see("ip", "-6", "route", "show", "2001:db8:77::/48")
    finally:
        nettop.see(*"ip -6 address del 2001:db8:1::1/64 dev va".split())


def test_a_discipline_that_the_kernel_lacks_takes_nothing_away(nettop: Nettop) -> None:
    nettop.see(*"tc qdisc add dev va root pfifo limit 33".split())
    try:
        (made,) = nettop("set", "qdisc.root@va", "unheard-of", code=4)
        assert made["state"] == "refused"
        assert "limit 33p" in nettop.see("tc", "qdisc", "show", "dev", "va")
    finally:
        nettop.see(*"tc qdisc del dev va root".split())


def test_an_interface_above_has_its_mtu_again(nettop: Nettop) -> None:
    words = "ip link add link va name above type macvlan"
    try:
        nettop.see(*words.split())
    except AssertionError:
        pytest.skip("this kernel has no macvlan")
    try:
        nettop("set", "link.mtu@va", "1400", "--confirm", "600")
        assert nettop.see("cat", "/sys/class/net/above/mtu").strip() == "1400"
        nettop.expires()
        assert mtu(nettop) == 1500
        assert nettop.see("cat", "/sys/class/net/above/mtu").strip() == "1500"
    finally:
        nettop.see("ip", "link", "del", "above")
