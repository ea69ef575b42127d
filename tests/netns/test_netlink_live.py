"""The netlink readers against the system's own tools: a veth pair in a namespace, seen by both."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
import veth
from changes_netns import python, run, tables

pytestmark = [pytest.mark.netns, pytest.mark.needs("ethtool", "ping", "ss")]
HERE, _ = veth.spaces("netlink")

PUT = """
import json, sys
from nettop.host.netlink import ethtool
from nettop.host.netlink.kernel import Kernel
what, device, values = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
try:
    ethtool.put(Kernel(), what, device, values)
except OSError as error:
    print(error.errno, error.strerror)
"""
TRAFFIC = """
import socket, sys, time
server = socket.create_server(("10.93.0.1", 0))
client = socket.create_connection(server.getsockname())
taken, _ = server.accept()
for _ in range(20):
    client.sendall(b"x" * 1000)
    taken.recv(1 << 16)
taken.sendall(b"y" * 500)
print(server.getsockname()[1], flush=True)
sys.stdin.read()
"""


def inside(*words: str) -> str:
    return run("ip", "netns", "exec", HERE, *words)


@pytest.fixture(scope="module", autouse=True)
def pair() -> Iterator[None]:
    with veth.pair("netlink", queues=4) as place:
        run(*place.far, "ping", "-c", "3", "-i", "0.01", veth.NEAR)
        yield


@pytest.mark.parametrize("other", ["short", "a-name-longer-than-fifteen-bytes"])
def test_an_alternative_name_is_that_of_the_interface(other: str) -> None:
    own = next(
        one["ifname"] for one in json.loads(inside("ip", "-json", "link")) if one["ifindex"] > 1
    )
    inside("ip", "link", "property", "add", "dev", own, "altname", other)
    told = inside(sys.executable, "-m", "nettop", "get", f"link.mtu@{other}")
    assert told == inside(sys.executable, "-m", "nettop", "get", f"link.mtu@{own}")
    rate = inside(sys.executable, "-m", "nettop", "rate", other, "--seconds", "0.1", "--json")
    assert json.loads(rate)["interface"] == own


def test_links_agree_with_ip() -> None:
    mine = {row["interface"]: row for row in tables(HERE, "links")["links"]}
    told = json.loads(inside("ip", "-json", "-details", "link", "show"))
    assert set(mine) == {link["ifname"] for link in told}
    for link in told:
        row = mine[link["ifname"]]
        assert row["index"] == link["ifindex"]
        assert row["mtu"] == link["mtu"]
        assert row["txqueuelen"] == link.get("txqlen", row["txqueuelen"])
        assert row["operstate"] == link["operstate"].lower()
        assert row["address"] == link["address"]
        assert row["kind"] == link.get("linkinfo", {}).get("info_kind", "")
        assert row["promiscuity"] == link["promiscuity"]
        assert (row["rx_queues"], row["tx_queues"]) == (
            link["num_rx_queues"],
            link["num_tx_queues"],
        )
        assert (row["gso_max_size"], row["gso_max_segs"]) == (
            link["gso_max_size"], link["gso_max_segs"],
        )  # fmt: skip
        assert row["qdisc"] == link["qdisc"]
        assert row["up"] == ("UP" in link["flags"])


def test_addresses_and_routes_agree_with_ip() -> None:
    found = tables(HERE, "addresses", "routes")
    told = {
        (link["ifname"], item["local"], item["prefixlen"])
        for link in json.loads(inside("ip", "-json", "addr", "show"))
        for item in link["addr_info"]
    }
    mine = {(row["interface"], row["address"], row["prefix"]) for row in found["addresses"]}
    assert mine == told
    wanted = {(r["dst"], r["dev"]) for r in json.loads(inside("ip", "-json", "route", "show"))}
    assert {(r["to"], r["interface"]) for r in found["routes"] if r["family"] == 4} == wanted


def test_features_agree_with_ethtool() -> None:
    mine = {
        row["name"]: (row["on"], row["fixed"])
        for row in tables(HERE, "features")["features"]
        if row["interface"] == "eth0"
    }
    told = inside("ethtool", "-k", "eth0")
    lines = re.findall(r"^(\S+): (on|off)( \[fixed\])?", told, re.MULTILINE)
    known = {name: (on == "on", bool(fixed)) for name, on, fixed in lines if name in mine}
    assert len(known) > 30
    assert {name: mine[name] for name in known} == known


def test_channels_are_set_and_read_back_and_a_refusal_has_the_kernels_sentence() -> None:
    assert python(HERE, PUT, "channels", "eth0", '{"rx_count": 2, "tx_count": 3}') == ""
    row = next(r for r in tables(HERE, "channels")["channels"] if r["interface"] == "eth0")
    assert (row["rx"], row["tx"], row["rx_max"], row["tx_max"]) == (2, 3, 4, 4)
    told = inside("ethtool", "-l", "eth0")
    assert re.findall(r"^RX:\s+(\d+)", told, re.MULTILINE) == ["4", "2"]
    refused = python(HERE, PUT, "channels", "eth0", '{"rx_count": 9999}')
    assert refused.strip() == "22 requested channel count exceeds maximum"


def test_a_feature_is_set_by_name() -> None:
    assert python(HERE, PUT, "features", "eth0", '{"rx-gro": true}') == ""
    assert "generic-receive-offload: on" in inside("ethtool", "-k", "eth0")
    assert python(HERE, PUT, "features", "eth0", '{"rx-gro": false}') == ""
    assert "generic-receive-offload: off" in inside("ethtool", "-k", "eth0")


def test_an_unknown_interface_and_an_unsupported_setting_are_told_apart() -> None:
    assert python(HERE, PUT, "rings", "none", '{"rx": 1}').startswith("19 ")
    assert python(HERE, PUT, "pause", "eth0", '{"rx": 1}').startswith("95 ")


def test_driver_statistics_survive_a_change_of_queues() -> None:
    """The kernel writes as many statistics as there are, whatever the caller's names say."""
    script = """
import json, subprocess, sys
from nettop.collect import nicstats_raw, nicqueues
from nettop.host.source import Live
source, memory = Live(), {}
def read():
    source_at[0] += 1
    return {r.name: r.value for r in nicstats_raw.update(source, memory) if r.interface == "eth0"}
source_at = [0.0]
source.now = lambda: source_at[0]
counts = []
for queues in (1, 4, 2):
    subprocess.run(["ethtool", "-L", "eth0", "rx", str(queues), "tx", str(queues)], check=True)
    counts.append(len(read()))
print(json.dumps([counts, sorted({r.queue for r in nicqueues.update(source, memory)})]))
"""
    counts, queues = json.loads(python(HERE, script))
    told = inside("ethtool", "-S", "eth0")
    assert counts[0] < counts[2] < counts[1]
    assert counts[2] == len(re.findall(r"^ +\S+: \d+$", told, re.MULTILINE))
    assert queues == ["rx-0", "rx-1"]


def test_sockets_agree_with_ss() -> None:
    words = ["ip", "netns", "exec", HERE, sys.executable, "-c", TRAFFIC]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:
        assert peer.stdin is not None
        assert peer.stdout is not None
        port = int(peer.stdout.readline())
        rows = tables(HERE, "sockets_tcp")["sockets_tcp"]
        told = inside("ss", "-tinmeH", f"( sport = :{port} or dport = :{port} )")
        listening = inside("ss", "-tlnH", f"sport = :{port}").split()
        peer.stdin.close()
    by_cookie = {f"{row['cookie']:x}": row for row in rows}
    sockets = re.split(r"\n(?=\S)", told.strip())
    assert len(sockets) == 2
    for text in sockets:
        row = by_cookie[re.findall(r"sk:(\w+)", text)[0]]
        number = {name: float(n) for name, n in re.findall(r"(\w+):(\d+(?:\.\d+)?)", text)}
        assert row["local_port"] == int(text.split()[3].rsplit(":", 1)[1])
        assert (row["recv_q"], row["send_q"]) == tuple(int(n) for n in text.split()[1:3])
        rtt, rttvar = re.findall(r"\brtt:([\d.]+)/([\d.]+)", text)[0]
        assert (row["rtt"], row["rttvar"]) == (float(rtt) * 1000, float(rttvar) * 1000)
        assert (row["mss"], row["cwnd"]) == (number["mss"], number["cwnd"])
        assert (row["bytes_received"], row["bytes_sent"]) == (
            number["bytes_received"], number["bytes_sent"],
        )  # fmt: skip
        assert (row["segs_out"], row["segs_in"]) == (number["segs_out"], number["segs_in"])
        assert row["inode"] == number["ino"]
        assert row["congestion"] in text.split()
        assert row["min_rtt"] == pytest.approx(number["minrtt"] * 1000)
        scales = re.findall(r"wscale:(\d+),(\d+)", text)[0]
        assert (row["snd_wscale"], row["rcv_wscale"]) == tuple(map(int, scales))
        memory = re.findall(r"skmem:\(r(\d+),rb(\d+),t(\d+),tb(\d+)", text)[0]
        assert (row["rmem_alloc"], row["rcvbuf"], row["wmem_alloc"], row["sndbuf"]) == tuple(
            map(int, memory)
        )
    waiting = next(r for r in rows if r["state"] == "listen" and r["local_port"] == port)
    assert [waiting["recv_q"], waiting["send_q"]] == [int(n) for n in listening[1:3]]


def test_three_hundred_interfaces_are_all_counted() -> None:
    batch = "".join(f"link add x{i} type ifb\n" for i in range(297))
    words = ["ip", "-n", HERE, "-batch", "-"]
    done = subprocess.run(words, input=batch, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no ifb here: {done.stderr.splitlines()[:1]}")
    found = tables(HERE, "links", "link_stats")
    assert len(found["link_stats"]) == len(found["links"]) >= 299


PUT_BY_IOCTL = """
import json, sys
from nettop.host.netlink import legacy
from nettop.host.netlink.kernel import Kernel
legacy.put(Kernel(), "features", sys.argv[1], json.loads(sys.argv[2]))
"""


def test_features_are_set_by_ioctl_as_by_netlink() -> None:
    def states() -> dict[str, bool]:
        rows = tables(HERE, "features")["features"]
        return {row["name"]: row["on"] for row in rows if row["interface"] == "eth0"}

    before = states()
    wanted = {"rx-gro": not before["rx-gro"], "tx-vlan-hw-insert": not before["tx-vlan-hw-insert"]}
    python(HERE, PUT_BY_IOCTL, "eth0", json.dumps(wanted))
    assert states() == before | wanted
    python(HERE, PUT_BY_IOCTL, "eth0", json.dumps({name: not on for name, on in wanted.items()}))
    assert states() == before
