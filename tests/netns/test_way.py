"""`nettop why --to` in namespaces: what it says agrees with a real connection, for each host.

A connection that nothing stops must open, however long it takes. One that is stopped is given a
second: it would not open in any time.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import veth
from changes_netns import Nettop, python, run
from hang import HANG
from warm import Warm
from way_cases import CLIENT, FORWARD, OUTPUT, PORT, ROUTER, Case, recording

pytestmark = [pytest.mark.netns, pytest.mark.needs("ping")]
HERE, THERE = veth.spaces("way")
BEHIND = f"{HERE}-c"  # a host behind the near one, which forwards

SERVE = """
import socket, sys
held = [socket.create_server(("", int(sys.argv[1])))]
print("ready", flush=True)
sys.stdin.read()
"""
CONNECT = """
import socket, sys
to, port, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
try:
    socket.create_connection((to, port), timeout=seconds)
except OSError as error:
    print(type(error).__name__, error)
else:
    print("open")
"""


@pytest.fixture
def pair() -> Iterator[veth.Pair]:
    with veth.pair("way") as place:
        yield place


@contextmanager
def serving(netns: str, port: int = PORT) -> Iterator[None]:
    """A listener in a namespace."""
    words = ["ip", "netns", "exec", netns, "/usr/bin/env", "python3", "-c", SERVE, str(port)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            assert server.stdin is not None
            server.stdin.close()
            server.wait(HANG)


def stage(case: Case) -> None:
    for line in case.staged:
        place = THERE if line.startswith("# ") else HERE
        run("ip", "netns", "exec", place, *line.removeprefix("# ").split(), ok="ping" not in line)


def way(tmp_path: Path, warm: Warm, *words: str) -> dict[str, Any]:
    code, out, err = Nettop(HERE, tmp_path, warm).plain("why", *words, "--json")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


RECORD = """
import gzip, sys
from nettop.commands import _way as way
from nettop.facts.way import Flow
from nettop.host.recording import Record
from nettop.host.source import Live
TABLES = ("addresses", "links", "qdiscs", "sockets_tcp", "sockets_udp")  # no process
to, port, origin, arrives, path = sys.argv[1:]
source = Record(Live(), comment="A staged host: tests/support/way_cases.py")
way.ask_way(source, Flow(to, int(port), origin, arrives), TABLES)
with open(path, "wb") as file:
    file.write(gzip.compress(source.archive().encode(), mtime=0))
"""


def record(name: str, case: Case, origin: str = "", arrives: str = "") -> None:
    python(HERE, RECORD, case.to, str(case.port), origin, arrives, str(recording(name)))


def agrees(case: Case, found: dict[str, Any], netns: str) -> None:
    """The headline, the change, and the real connection say the same."""
    assert case.says in found["headline"], found
    if not case.says:
        assert found["decider"] is None, found
    elif case.change:
        assert case.change in found["decider"]["change"], found
    seconds = 1.0 if case.says else HANG
    opened = python(netns, CONNECT, case.to, str(case.port), str(seconds))
    assert (opened == "open\n") == (not case.says), opened


@pytest.mark.parametrize("name", OUTPUT)
def test_the_way_out_agrees_with_a_connection(
    name: str, pair: veth.Pair, tmp_path: Path, warm: Warm, update: bool
) -> None:
    case = OUTPUT[name]
    with serving(THERE):
        stage(case)
        if update:
            record(name, case)
        agrees(case, way(tmp_path, warm, "--to", f"{case.to}:{case.port}"), HERE)


@pytest.mark.parametrize("name", FORWARD)
def test_the_way_through_agrees_with_a_connection(
    name: str, pair: veth.Pair, tmp_path: Path, warm: Warm, update: bool
) -> None:
    case = FORWARD[name]
    run("ip", "netns", "add", BEHIND)
    try:
        for line in (
            f"ip link add eth1 netns {HERE} type veth peer eth0 netns {BEHIND}",
            f"ip -n {HERE} addr add {ROUTER}/24 dev eth1", f"ip -n {HERE} link set eth1 up",
            f"ip -n {BEHIND} addr add {CLIENT}/24 dev eth0", f"ip -n {BEHIND} link set eth0 up",
            f"ip -n {BEHIND} route add default via {ROUTER}",
            f"ip -n {THERE} route add default via {veth.NEAR}",
        ):  # fmt: skip
            run(*line.split())
        with serving(THERE):
            stage(case)
            if update:
                record(name, case, CLIENT, "eth1")
            for origin in (f"{CLIENT}%eth1", *(("eth1", CLIENT) if "reverse" not in name else ())):
                found = way(tmp_path, warm, "--to", f"{case.to}:{case.port}", "--from", origin)
                agrees(case, found, BEHIND)
    finally:
        run("ip", "netns", "del", BEHIND)


def test_a_listener_at_another_address_is_named(
    pair: veth.Pair, tmp_path: Path, warm: Warm
) -> None:
    code = SERVE.replace('""', '"127.0.0.1"')
    words = ["ip", "netns", "exec", HERE, "/usr/bin/env", "python3", "-c", code, str(PORT)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        assert server.stdout.readline() == b"ready\n"
        ours = Case((), f"listens at 127.0.0.1:{PORT} only", veth.NEAR)
        for origin in ((), ("--from", veth.FAR)):
            found = way(tmp_path, warm, "--to", f"{veth.NEAR}:{PORT}", *origin)
            agrees(ours, found, HERE if not origin else THERE)
        here = Case((), "", "127.0.0.1")
        agrees(here, way(tmp_path, warm, "--to", f"127.0.0.1:{PORT}"), HERE)
        server.stdin.close()


def test_a_permanent_entry_is_a_suspect_and_not_taken_for_sound(
    pair: veth.Pair, tmp_path: Path, warm: Warm
) -> None:
    run(*pair.near, *"ip neigh replace 10.93.0.2 lladdr 02:00:00:00:00:99 dev eth0".split())
    found = way(tmp_path, warm, "--to", f"{veth.FAR}:{PORT}")
    assert found["decider"] is None
    (suspect,) = (one for one in found["steps"] if one["outcome"] == "suspect")
    assert "02:00:00:00:00:99" in suspect["saw"]
    assert suspect["change"] == "ip neigh del 10.93.0.2 dev eth0"
    assert found["headline"].startswith(
        f"packets to {veth.FAR}:{PORT} may be lost: the neighbour entry"
    )


FILTERED = """
import sys
from firewall import LIMIT
port = 'nft.expression("payload", nft.be32(1, 1), nft.be32(2, 2), nft.be32(3, 2), nft.be32(4, 2)),'
same = 'nft.expression("cmp", nft.be32(1, 1), nft.be32(2, 0), nft.nest(3, nft.attribute(1, PORT)))'
begin, end = LIMIT.index("limit ="), LIMIT.index("parts =")
made = f"PORT = (7000).to_bytes(2, 'big')\\nlimit = b''.join(({port} {same}))\\n"
code = LIMIT[:begin] + made + LIMIT[end:]
exec(code.replace('nft.chain("in", 1,', f'nft.chain("in", {sys.argv[1]},'))
"""


@pytest.mark.parametrize(("hook", "number"), [("output", 3), ("input", 1)])
def test_a_rule_of_the_packet_filter_agrees_with_a_connection(
    hook: str, number: int, pair: veth.Pair, tmp_path: Path, warm: Warm
) -> None:
    assert python(HERE, FILTERED, str(number)).split() == ["0", "0", "0"]
    says = f"rule of handle 2 in chain in (hook {hook}, inet t) drops packets"
    change = "nft delete rule inet t in handle 2"
    out = hook == "output"
    with serving(THERE if out else HERE), serving(THERE if out else HERE, PORT + 1):
        to, origin, client = (veth.FAR, (), HERE) if out else (veth.NEAR, (veth.FAR,), THERE)
        for port, case in (
            (PORT, Case((), says, to, PORT, change)), (PORT + 1, Case((), "", to, PORT + 1))
        ):  # fmt: skip
            words = ["--from", *origin] if origin else []
            agrees(case, way(tmp_path, warm, "--to", f"{to}:{port}", *words), client)


SENDS = """
import select, socket, sys
door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0.05)[0]:
    try:
        door.sendto(b"x", ("10.2.0.5", 53))
    except OSError:
        pass
"""


ADVISE = """
import sys
from nettop import cli
from nettop.host.bpf import calls
calls.MOST = 1e12  # however many calls other programs make meanwhile
sys.exit(cli.main(["advise", "--json"]))
"""


def test_advise_names_what_decides_a_failed_call(pair: veth.Pair, warm: Warm) -> None:
    run(*pair.near, *"ip route add unreachable 10.2.0.0/24".split())
    words = [*pair.near, "/usr/bin/env", "python3", "-c", SENDS]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as sender:
        try:
            assert sender.stdout is not None
            assert sender.stdout.readline() == b"ready\n"
            done = warm.run(["-c", ADVISE], netns=HERE)
        finally:
            assert sender.stdin is not None
            sender.stdin.close()
    found = json.loads(done.stdout)
    if "failed_calls" in found["missing"]:
        pytest.skip(found["missing"]["failed_calls"])
    first = found["findings"][0]
    assert first["id"] == "destination-out-of-reach@10.2.0.5:53", (first, done.stderr)
    assert done.returncode == 1
    assert first["severity"] == "critical", "nothing gets through"
    assert first["title"].startswith("route 10.2.0.0/24 is unreachable: sendto of ")
    assert "ip route del unreachable 10.2.0.0/24" in first["advice"][0]
    explained = {one["rule"]: one["cause"] for one in found["findings"]}
    assert explained["calls-fail"] == first["id"]


def test_the_kernel_of_another_host_is_asked_too_and_what_is_not_read_there_is_said(
    pair: veth.Pair, warm: Warm, tmp_path: Path
) -> None:
    run(*pair.near, *"ip route add prohibit 10.2.0.0/24".split())
    words = ["why", "--to", "10.2.0.5:80", "--json", "--host", " ".join(pair.near)]
    code, out, err = Nettop("", tmp_path, warm).plain(*words)
    assert code == 0, err
    found = json.loads(out)
    assert found["decider"]["saw"] == "route 10.2.0.0/24 is prohibit"
    assert not any("the kernel's route answer" in one["saw"] for one in found["steps"])
    assert "does not send this netlink message" in found["missing"]["routing_rules"]
    assert "does not send this netlink message" in found["missing"]["xfrm_policies"]
