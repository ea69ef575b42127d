"""Another host behind `ip netns exec`: the same tables, few round trips, no way out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nettop import collect
from nettop.host.connection import Connection
from nettop.host.distant import Distant
from nettop.host.patterns import FILE, FOLDER, LINK
from nettop.sampling.sampler import Sampler

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes network namespaces"),
]
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
    subprocess.run(["ip", "netns", "add", NAME], check=True)
    try:
        pair = "link add va type veth peer name vb"
        subprocess.run(["ip", "-n", NAME, *pair.split()], check=True)
        yield NAME
    finally:
        subprocess.run(["ip", "netns", "del", NAME], check=False)


def connected(*words: str) -> Distant:
    return Distant(lambda asks, first: Connection(words, asks, first=first))


def nettop(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nettop", *words], capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip


def test_every_table_that_is_read_here_is_read_there(place: str) -> None:
    inside = json.loads(nettop("snapshot", "--json", "--netns", place).stdout)
    far = json.loads(nettop("snapshot", "--json", "--host", " ".join(PREFIX)).stdout)
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
        for frame in range(3):
            before = far._connection.exchanges
            sampler.refresh()
            sampler.take(still_tables)
            assert far._connection.exchanges == before + 1, frame
    finally:
        far.close()


# what other processes of this machine do meanwhile may cost a round trip more
MOVING = (
    "processes", "threads", "socket_owners", "throttling", "services", "tcp_files", "namespaces",
    "netns_tcp", "netns_udp",
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
    pids = tmp_path / "pid"
    prefix = f'ip netns exec {place} sh -c \'echo $$ >{pids}; exec "$0" "$@"\''
    with subprocess.Popen(
        [sys.executable, "-m", "nettop", "watch", "--interval", "0.5", "--host", prefix,
         "--for", "22", "--fail-on", "never"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        until = time.monotonic() + 60
        while not pids.exists() and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(12)  # after the first sample, also on a busy machine
        os.kill(int(pids.read_text()), 9)
        _, errors = process.communicate(timeout=60)
    lines = [line for line in errors.splitlines() if "broke" in line or "again" in line]
    assert len(lines) == 2, errors
    assert "the connection to ip netns exec" in lines[0]
    assert lines[0].endswith("killed by signal 9; trying again")
    assert lines[1] == "nettop: connected again"


def test_nothing_is_written_for_another_host(place: str) -> None:
    done = nettop("set", "link.mtu@va", "1400", "--host", " ".join(PREFIX))
    assert done.returncode == 2
    assert "run it on" in done.stderr
