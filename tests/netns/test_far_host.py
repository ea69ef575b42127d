"""Another host behind `ip netns exec`: the same tables, few round trips, no way out."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from changes_netns import run
from hang import until
from warm import shared

from nettop import collect
from nettop.host.connection import Connection
from nettop.host.distant import Distant
from nettop.host.patterns import FILE, FOLDER, LINK
from nettop.sampling.sampler import Sampler

pytestmark = pytest.mark.netns
NAME = f"nt-far-{os.getpid()}"
PREFIX = ("ip", "netns", "exec", NAME)
# a link of a user in a folder that may be read, which leads to what may not
LINKS = (
    "mount -t tmpfs none /etc/sysctl.d; ln -s /etc/shadow /etc/sysctl.d/a.conf; "
    "ln -s /etc/passwd /etc/sysctl.d/b.conf; mkfifo /etc/sysctl.d/c.conf; "
    "echo k=1 >/etc/sysctl.d/d.conf; chmod 600 /etc/sysctl.d/d.conf; "
    'echo net.core.somaxconn=1 >/etc/sysctl.d/e.conf; exec "$0" "$@"'
)


@pytest.fixture(scope="module")
def place() -> Iterator[str]:
    run("ip", "netns", "add", NAME)
    try:
        run("ip", "-n", NAME, *"link add va type veth peer name vb".split())
        yield NAME
    finally:
        run("ip", "netns", "del", NAME)


def connected(*words: str) -> Distant:
    return Distant(lambda asks, first: Connection(words, asks, first=first))


def nettop(*words: str) -> tuple[int, bytes, str]:
    done = shared().run(words)
    return done.returncode, done.stdout, done.stderr.decode()


def test_every_table_that_is_read_here_is_read_there(place: str) -> None:
    inside = json.loads(nettop("snapshot", "--json", "--netns", place)[1])
    far = json.loads(nettop("snapshot", "--json", "--host", " ".join(PREFIX))[1])
    assert inside["tables"].keys() == far["tables"].keys()
    assert inside["missing"] == far["missing"]
    for name in ("links", "addresses", "qdiscs", "features", "sysctls", "topology", "queues"):
        assert still(inside["tables"][name]) == still(far["tables"][name]), name


def still(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return [{key: row[key] for key in row if key != "per_s"} for row in rows]


def test_the_first_frame_takes_five_round_trips_and_each_further_one(place: str) -> None:
    far = connected(*PREFIX)
    try:
        assert far._connection is not None
        sampler = Sampler(far)
        still_tables = [name for name in collect.always() if name not in MOVING]
        sampler.take(still_tables)
        assert far._connection.exchanges <= 5
        taken = []
        while 1 not in taken:  # another one where something new had to be read
            before = far._connection.exchanges
            sampler.refresh()
            sampler.take(still_tables)
            taken.append(far._connection.exchanges - before)
            assert len(taken) < 20, taken
    finally:
        far.close()


# what other processes of this machine do meanwhile may cost a round trip more
MOVING = (
    "processes", "threads", "socket_owners", "throttling", "services", "tcp_files", "namespaces",
    "netns_tcp", "netns_udp", "netns_links", "netns_qdiscs", "program_states", "program_queues",
    "waits", "tun_readers",
)  # fmt: skip


def test_a_link_of_a_user_leads_nowhere() -> None:
    far = connected("unshare", "-m", "sh", "-c", LINKS)
    try:
        far.fetch([(FOLDER, b"/etc/sysctl.d"), (FILE, b"/etc/sysctl.d/e.conf")])
        assert far.listing("/etc/sysctl.d") == [f"{name}.conf" for name in "abcde"]
        assert far.text("/etc/sysctl.d/e.conf") == "net.core.somaxconn=1\n"
        assert far.link("/etc/sysctl.d/a.conf") == "/etc/shadow"
        for name in "abd":
            with pytest.raises(PermissionError):
                far.text(f"/etc/sysctl.d/{name}.conf")
        with pytest.raises(OSError, match=r"not a regular file|does not read"):
            far.text("/etc/sysctl.d/c.conf")
        assert (LINK, b"/etc/sysctl.d/a.conf") in far.asked()
    finally:
        far.close()


def test_a_lost_host_is_said_once_by_watch_and_found_again(place: str, tmp_path: Path) -> None:
    pids, said = tmp_path / "pid", tmp_path / "said"
    prefix = f'ip netns exec {place} sh -c \'echo $$ >{pids}; exec "$0" "$@"\''
    run("ip", "netns", "exec", place, "sysctl", "-qw", "net.ipv4.tcp_sack=0")  # a finding
    words = ["watch", "--interval", "0.5", "--host", prefix]
    with said.open("w") as file, open(os.devnull, "r+b") as null:
        process = shared().start(words, {0: null.fileno(), 1: file.fileno(), 2: file.fileno()})
    until(lambda: "begins" in said.read_text())  # it was read once
    os.kill(int(pids.read_text()), signal.SIGKILL)
    until(lambda: "again" in said.read_text().partition("trying again")[2])
    os.kill(process.pid, signal.SIGTERM)
    process.wait()
    lines = [row for row in said.read_text().splitlines() if "broke" in row or "again" in row]
    assert len(lines) == 2, lines
    assert "the connection to ip netns exec" in lines[0]
    assert lines[0].endswith("killed by signal 9; trying again")
    assert lines[1] == "nettop: connected again"


def test_nothing_is_written_for_another_host(place: str) -> None:
    code, _, err = nettop("set", "link.mtu@va", "1400", "--host", " ".join(PREFIX))
    assert code == 2
    assert "run it on" in err
