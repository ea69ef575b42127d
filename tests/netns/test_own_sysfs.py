"""A process that entered a network namespace, but not its /sys: nettop changes no other device."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from changes_netns import Nettop, run
from hang import until
from warm import Warm

pytestmark = pytest.mark.netns
A, B = f"nt-sysfs-a-{os.getpid()}", f"nt-sysfs-b-{os.getpid()}"
RPS = "rps.cpus@va/rx-0"


class Entered(Nettop):
    """nettop in namespace B with the /sys of A, as `nsenter --net` leaves it."""

    def __init__(self, state: Path, warm: Warm) -> None:
        super().__init__(A, state, warm)
        self.inside += ["nsenter", f"--net=/run/netns/{B}"]

    def plain(self, *words: str) -> tuple[int, str, str]:
        with self.start("-m", "nettop", *words) as process:
            out, err = process.communicate()
        return process.returncode, out, err


@pytest.fixture
def nettop(tmp_path: Path, warm: Warm) -> Iterator[Nettop]:
    """In both namespaces an interface `va` of one index, with another MTU."""
    try:
        for name, mtu in ((A, "1500"), (B, "1300")):
            run("ip", "netns", "add", name)
            words = f"link add va index 77 mtu {mtu} type veth peer name vb"
            run("ip", "-n", name, *words.split())
        yield Entered(tmp_path / "state", warm)
    finally:
        for name in (A, B):
            run("ip", "netns", "del", name, ok=False)


def shown(netns: str, file: str) -> str:
    return run("ip", "netns", "exec", netns, "cat", f"/sys/class/net/va/{file}").strip()


def test_the_device_of_the_namespace_is_changed_and_put_back(nettop: Nettop) -> None:
    assert nettop("set", RPS, "0")[0]["state"] == "applied"
    assert (shown(A, "queues/rx-0/rps_cpus"), shown(B, "queues/rx-0/rps_cpus")) == ("0", "1")
    assert nettop("undo", "1")[0]["state"] == "undone"
    assert (shown(A, "queues/rx-0/rps_cpus"), shown(B, "queues/rx-0/rps_cpus")) == ("0", "0")
    (made,) = nettop("set", "link.mtu@va", "1400", "--confirm", "1")
    assert (made["state"], made["before"]) == ("pending", 1300)
    until(lambda: shown(B, "mtu") == "1300")
    until(lambda: nettop("journal")[-1]["state"] == "reverted")
    assert shown(A, "mtu") == "1500"


def test_a_hidden_sys_stays_hidden(nettop: Nettop) -> None:
    words = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs x /sys && exec "$@"', "sh"]
    nettop.inside += words
    _, out, _ = nettop.plain("advise", "--seconds", "0.2", "--no-deep")
    assert "No such file or directory: /sys/class/net" in out
