"""A recording of a namespace with tunnels, bridges and next hops: nobody's addresses are in it."""

import base64
import ipaddress
import os
import re
import subprocess
from collections.abc import Iterator

import pytest
from warm import shared

from nettop.collect import links, routes
from nettop.host.recording import Replay, parse

pytestmark = pytest.mark.netns
NAME = f"nt-who-{os.getpid()}"
MACS = ("02:9a:9b:9c:9d:01", "02:9a:9b:9c:9d:02", "02:9a:9b:9c:9d:03", "02:9a:9b:9c:9d:04")
NIC = "enx" + MACS[1].replace(":", "")
ADDRESSES = (
    "10.77.1.5", "10.77.2.5", "10.77.1.9", "10.77.2.9", "10.99.8.7", "192.168.201.33",
    "fd77:1::5", "fd77:1::9", "fd77:1::10", "fd99:8::7",
)  # fmt: skip
MADE = f"""
link add va address {MACS[0]} type veth peer name vb
link add {NIC} address {MACS[1]} type veth peer name vd
link set va up
link set vb up
link set {NIC} up
link set vd up
addr add 10.77.1.5/24 dev va
addr add 10.77.2.5/24 dev {NIC}
addr add fd77:1::5/64 dev va nodad
link add vx0 address {MACS[2]} type vxlan id 42 local 10.77.1.5 remote 10.77.1.9 dstport 4789
link add vx6 type vxlan id 43 local fd77:1::5 remote fd77:1::9 dstport 4790
link add br0 address {MACS[3]} type bridge
link set vx0 master br0 up
link set br0 up
link set va alias rack-seven-of-somebody
link property add dev va altname {NIC}9
route add 10.99.8.0/24 nexthop via 10.77.1.9 dev va nexthop via 10.77.2.9 dev {NIC}
route add 192.168.201.33 via inet6 fd77:1::10 dev va
-6 route add fd99:8::/64 nexthop via fd77:1::9 dev va nexthop via fd77:1::10 dev va
neigh add 10.77.1.9 lladdr {MACS[3]} dev va
"""


def ip(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def archive() -> Iterator[str]:
    made = ip("netns", "add", NAME)
    assert made.returncode == 0, made.stderr
    try:
        for line in MADE.strip().splitlines():
            done = ip("-n", NAME, *line.split())
            if done.returncode and "vxlan" in line:
                pytest.skip(f"this kernel has no vxlan: {done.stderr}")
        recorded = shared().run(("record", "-", "--seconds", "0.5"), netns=NAME)
        assert recorded.returncode == 0, recorded.stderr
        yield recorded.stdout.decode(errors="surrogateescape")
    finally:
        ip("netns", "del", NAME)


def test_nothing_written_or_packed_names_the_host(archive: str) -> None:
    _, moments = parse(archive)
    packed = [bytes.fromhex(mac.replace(":", "")) for mac in MACS]
    packed += [ipaddress.ip_address(address).packed for address in ADDRESSES]
    written = [*MACS, *(mac.replace(":", "") for mac in MACS), *ADDRESSES, NIC[3:], "somebody"]
    written.append("10.99.8.")
    left = set()
    for moment in moments:
        for name, body in moment.changed.items():
            raw = body or b""
            if name.startswith("netlink/") and body and not body.startswith(b"!"):
                raw = base64.b64decode(body)
                left |= {(name, value.hex()) for value in packed if value in raw}
            left |= {
                (name, word)
                for word in written
                if re.search(rb"(?<![\d.:])" + re.escape(word.encode()), raw) or word in name
            }
    assert left == set()


def test_what_is_left_still_belongs_together(archive: str) -> None:
    replay = Replay(archive)
    rows = {row.interface: row for row in links.update(replay, {})}
    nic = next(name for name in rows if name.startswith("enx"))
    assert nic == "enx" + (rows[nic].address or "").replace(":", "")
    assert rows["vx0"].master == "br0"
    assert rows["va"].alias in (None, "")
    assert replay.text("/proc/net/dev").count(nic) == 1
    hops = [row for row in routes.update(replay, {}) if row.to.endswith(".0/24") and row.gateway]
    assert [row.interface for row in hops] == ["va", nic]
    local = [row for row in routes.update(replay, {}) if row.interface == "va" and not row.gateway]
    networks = [ipaddress.ip_network(row.to) for row in local if row.family == 4]
    assert any(ipaddress.ip_address(hops[0].gateway or "") in network for network in networks)
