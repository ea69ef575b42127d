"""Devices that are renamed, moved or made anew, and namespaces that end: what undo does."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from changes_netns import Nettop, expire, run
from hang import until
from warm import Warm

from nettop.changes.journal import Journal
from nettop.changes.namespaces import Survey

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(
        os.stat("/proc/self/ns/pid").st_ino != 0xEFFFFFFC,
        reason="needs the first PID namespace: in another one nobody knows that a device is gone",
    ),
]
A, B = f"nt-place-a-{os.getpid()}", f"nt-place-b-{os.getpid()}"
LENGTH = "link.txqueuelen@va"


def ip(netns: str, words: str) -> str:
    return run("ip", "-n", netns, *words.split())


@pytest.fixture
def nettop(tmp_path: Path, warm: Warm) -> Iterator[Nettop]:
    """Two namespaces; a veth pair in the first, its queue length changed from 1000 to 2000."""
    try:
        for name in (A, B):
            run("ip", "netns", "add", name)
        ip(A, "link add va index 77 type veth peer name vb")
        one = Nettop("", tmp_path / "state", warm)
        one("--netns", A, "set", LENGTH, "2000")
        yield one
    finally:
        for name in (A, B):
            run("ip", "netns", "del", name, ok=False)


def test_a_renamed_device_is_the_same(nettop: Nettop) -> None:
    ip(A, "link set va name other")
    (back,) = nettop("--netns", A, "undo", "1")
    assert (back["state"], back["after"]) == ("undone", 1000)
    assert "other" in back["because"]
    assert "qlen 1000" in ip(A, "link show other")


@pytest.mark.parametrize("name", ["va", "lan"])
def test_a_moved_device_keeps_its_change_and_is_found(nettop: Nettop, name: str) -> None:
    ip(A, f"link set va netns {B} name {name}")
    for where in (("--netns", A), ()):
        (told,) = nettop(*where, "undo", "1", code=4)
        assert told["state"] == "conflict"
        assert f"nettop --netns {B} undo 1" in told["because"]
        assert nettop("journal")[-1]["state"] == "applied"
    assert f"nettop --netns {B} undo 1" in nettop("journal")[0]["since"]
    (back,) = nettop("--netns", B, "undo", "1")
    assert back["state"] == "undone"
    assert "qlen 1000" in ip(B, f"link show {name}")


def test_a_device_in_a_namespace_without_a_name_is_found(nettop: Nettop) -> None:
    sleeper = subprocess.Popen(["ip", "netns", "exec", B, "sleep", "infinity"])
    try:
        until(lambda: os.path.samefile(f"/proc/{sleeper.pid}/ns/net", f"/run/netns/{B}"))
        run("ip", "netns", "del", B)
        ip(A, f"link set va netns {sleeper.pid}")
        (told,) = nettop("--netns", A, "undo", "1", code=4)
        assert f"ip netns attach NAME {sleeper.pid}" in told["because"]
        run("ip", "netns", "attach", B, str(sleeper.pid))
        (back,) = nettop("--netns", B, "undo", "1")
        assert back["state"] == "undone"
    finally:
        sleeper.kill()
        sleeper.wait()


def test_a_device_that_came_back_with_another_index_is_the_same(nettop: Nettop) -> None:
    ip(A, f"link set va netns {B}")
    ip(A, "link add holder index 77 type veth peer name other")
    ip(B, f"link set va netns {A}")
    assert json.loads(run("ip", "-n", A, "-j", "link", "show", "va"))[0]["ifindex"] != 77
    (back,) = nettop("--netns", A, "undo", "1")
    assert back["state"] == "undone"


HIDE = """
import ctypes, fcntl, os, socket, subprocess, sys
setns = ctypes.CDLL(None).setns
kept = socket.socket()
with open(f"/run/netns/{sys.argv[1]}") as other:
    assert setns(other.fileno(), 0) == 0
print("away", flush=True)
sys.stdin.readline()
setns(fcntl.ioctl(kept, 0x894C), 0)  # SIOCGSKNS, linux/sockios.h
subprocess.run(["ip", "link", "set", "va", "netns", sys.argv[1]], check=True)
"""


def test_a_device_that_no_visible_namespace_has_is_not_gone(nettop: Nettop) -> None:
    """A namespace that only a socket holds has no path; the guard holds a file of the device."""
    nettop("--netns", A, "set", "link.mtu@va", "1400", "--confirm", "3600")
    with subprocess.Popen(
        ["ip", "netns", "exec", B, sys.executable, "-c", HIDE, A],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as holder:  # fmt: skip
        assert holder.stdout is not None
        assert holder.stdout.readline() == "away\n"
        ip(A, f"link set va netns {B}")
        run("ip", "netns", "del", B)
        expire(nettop.state)
        journal = Journal(nettop.state)
        until(lambda: any("it exists" in told for told in journal.failures()))
        assert journal.entries()[-1].state == "pending"
        holder.communicate("\n")
    until(lambda: "mtu 1500" in ip(A, "link show va"))
    until(lambda: journal.entries()[-1].state == "reverted")


@pytest.mark.parametrize("name", ["va", "lan"])
def test_a_guard_follows_its_device_to_another_namespace(nettop: Nettop, name: str) -> None:
    nettop("--netns", A, "set", "link.mtu@va", "1400", "--confirm", "3600")
    ip(A, f"link set va netns {B} name {name}")
    assert "mtu 1400" in ip(B, f"link show {name}")
    nettop.expires()
    assert "mtu 1500" in ip(B, f"link show {name}")
    entry = Journal(nettop.state).entries()[-1]
    assert entry.state == "reverted"
    assert f"its device is in network namespace {B} now" in entry.because


def test_a_device_that_is_destroyed_is_gone_for_the_guard(nettop: Nettop) -> None:
    nettop("--netns", A, "set", "link.mtu@va", "1400", "--confirm", "3600")
    ip(A, "link del va")
    expire(nettop.state)
    until(lambda: Journal(nettop.state).entries()[-1].state == "void")


def test_a_namespace_that_is_mounted_out_of_sight_is_found(tmp_path: Path) -> None:
    place = tmp_path / "space"
    place.touch()
    words = f"unshare -n mount --bind /proc/self/ns/net {place}; stat -Lc %i {place}; read line"
    with subprocess.Popen(
        ["unshare", "-m", "sh", "-c", words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    ) as holder:  # fmt: skip
        assert holder.stdout is not None
        inode = holder.stdout.readline().strip()
        # processes of others end while it looks: then a survey is not complete, and is made again
        until(lambda: inode in [space.inode for space in Survey().found])
        holder.communicate("\n")


def void(nettop: Nettop, what: str) -> list[dict[str, Any]]:
    """What undo leaves alone; again while namespaces and devices of other programs come and go."""

    def told() -> list[dict[str, Any]]:
        _, out, _ = nettop.plain("--netns", A, "undo", what, "--json")
        changes: list[dict[str, Any]] = json.loads(out)["changes"]
        return changes if {one["state"] for one in changes} == {"void"} else []

    return until(told)


def test_another_device_of_the_same_name_and_index_is_left_alone(nettop: Nettop) -> None:
    ip(A, "link del va")
    ip(A, "link add va index 77 type veth peer name vb")
    ip(A, "link set va txqueuelen 2000")
    (told,) = void(nettop, "1")
    assert "created anew" in told["because"]
    assert "qlen 2000" in ip(A, "link show va")


FILTER = "net.ipv4.conf.va.rp_filter"


@pytest.mark.parametrize("anew", [True, False])
def test_a_parameter_follows_its_device_and_leaves_another_of_the_name_alone(
    nettop: Nettop, *, anew: bool
) -> None:
    run("ip", "netns", "exec", A, "sysctl", "-qw", f"{FILTER}=0")
    nettop("--netns", A, "set", f"sysctl.{FILTER}", "2")
    ip(A, "link del va" if anew else "link set va name other")
    ip(A, "link add va type veth peer name vc")
    run("ip", "netns", "exec", A, "sysctl", "-qw", f"{FILTER}=2")
    (told,) = void(nettop, "2") if anew else nettop("--netns", A, "undo", "2")
    assert told["state"] == ("void" if anew else "undone")
    assert ("created anew" if anew else "other now") in told["because"]
    now = [FILTER] if anew else [FILTER, FILTER.replace("va", "other")]
    values = run("ip", "netns", "exec", A, "sysctl", "-n", *now).split()
    assert values == (["2"] if anew else ["2", "0"])


def test_another_namespace_of_the_same_name_and_inode_is_left_alone(nettop: Nettop) -> None:
    setting = "sysctl.net.ipv4.tcp_notsent_lowat"
    nettop("--netns", A, "set", setting, "5000")
    run("ip", "netns", "del", A)
    run("ip", "netns", "add", A)
    inode = str(os.stat(f"/run/netns/{A}").st_ino)
    run("ip", "netns", "exec", A, "sysctl", "-qw", "net.ipv4.tcp_notsent_lowat=5000")
    book = Path(nettop.state, "journal.jsonl")
    rows = [json.loads(line) for line in book.read_text().splitlines()]
    reused = [row | {"netns": inode} if "netns" in row else row for row in rows]
    book.write_text("".join(json.dumps(row) + "\n" for row in reused))
    void(nettop, "--all")
    now = run("ip", "netns", "exec", A, "sysctl", "-n", "net.ipv4.tcp_notsent_lowat")
    assert now.strip() == "5000"


def test_an_entry_of_an_older_journal_is_understood(nettop: Nettop) -> None:
    book = Path(nettop.state, "journal.jsonl")
    begin, end = book.read_text().splitlines()
    old = json.loads(begin) | {"identity": "ifindex 77"}
    del old["netns_cookie"]
    book.write_text(f"{json.dumps(old)}\n{end}\n")
    ip(A, f"link set va netns {B}")
    (told,) = nettop("--netns", A, "undo", "1", code=4)
    assert f"nettop --netns {B} undo 1 --force" in told["because"]
    (told,) = nettop("--netns", B, "undo", "1", code=4)
    assert A in told["because"]
    ip(B, f"link set va netns {A}")
    ip(A, "link set va name lan")
    (back,) = nettop("--netns", A, "undo", "1")
    assert back["state"] == "undone"


SWITCHES = [
    "feature.tx-checksum-ip-generic@va", "feature.tx-scatter-gather@va",
    "feature.tx-tcp-segmentation@va", "feature.tx-generic-segmentation@va",
]  # fmt: skip


APPLY = """
import json, sys
from nettop.changes.apply import apply, Terms
from nettop.changes.journal import Journal
from nettop.changes.plan import plan
from nettop.settings import Host
host = Host.at()
changes = plan([(name, "on") for name in sys.argv[1:] if "@" in name], host.source)
made = apply(changes, host, Journal(), Terms(confirm=0))
print(json.dumps({"changes": [{"state": one.state, "id": one.id} for one in made]}))
"""


@pytest.mark.needs("ethtool")
@pytest.mark.parametrize("off", ["tx off", "tx off sg off", "tx off sg off tso off gso off"])
@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]])
def test_offloads_that_come_along_are_done_and_put_back(
    nettop: Nettop, off: str, order: list[int]
) -> None:
    run("ip", "netns", "exec", A, "ethtool", "-K", "va", *off.split())
    before = run("ip", "netns", "exec", A, "ethtool", "-k", "va")
    results = Nettop(A, Path(nettop.state), nettop.warm)("-c", APPLY, *SWITCHES)
    assert {one["state"] for one in results} <= {"applied", "unchanged"}
    made = [str(one["id"]) for one in results if one["id"]]
    now = run("ip", "netns", "exec", A, "ethtool", "-k", "va")
    assert "tx-checksumming: on" in now
    assert "generic-segmentation-offload: on" in now
    for number in [made[i] for i in order if i < len(made)]:
        assert nettop("--netns", A, "undo", number)[0]["state"] == "undone"
    assert run("ip", "netns", "exec", A, "ethtool", "-k", "va") == before
