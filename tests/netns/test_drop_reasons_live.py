"""The kernel's own count of drops by reason, on this kernel: exact, and gone with the process."""

import contextlib
import ctypes
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
from collections import Counter as Sums
from collections.abc import Iterator
from pathlib import Path

import pytest
import veth
from changes_netns import python
from hang import until

from nettop.collect import drop_reasons, failed_calls
from nettop.frame.rates import Partly
from nettop.host.bpf import btf, call, calls, counting, drops
from nettop.host.bpf.drops import Counter
from nettop.host.source import Live
from nettop.views.observer import Observer

pytestmark = pytest.mark.netns
SENT = 20
_NEXT_PROGRAM = 11  # BPF_PROG_GET_NEXT_ID


@pytest.fixture
def counter() -> Counter:
    try:
        return Counter()
    except OSError as error:
        pytest.skip(f"this kernel cannot count: {error.strerror}")


@pytest.fixture(params=["direct", "by calls"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter]:
    """A program of each kind; the kernel may refuse the first one, which reads without a call."""
    drops._known.cache_clear()
    if request.param == "by calls":
        monkeypatch.setattr(drops, "_tells_null", lambda _types: False)
    elif not drops._tells_null(btf.Types(counting.types())):
        pytest.skip("this kernel does not say that a packet may have no receiving socket")
    counter: Counter = request.getfixturevalue("counter")
    kinds = {Path(f"/proc/self/fdinfo/{one}").read_text() for one in counter._counting._handles}
    assert any(f"prog_type:\t{call._TRACING}\n" in one for one in kinds) == (
        request.param == "direct"
    )
    yield counter
    drops._known.cache_clear()


def counts(counter: Counter) -> Sums[str]:
    """Drops of this namespace by reason."""
    sums = Sums[str]()
    for row in drop_reasons.parse(counter.text()):
        sums[row.reason] += row.packets if row.where == "here" else 0
    return sums


def closed_port(door: socket.socket) -> None:
    for _ in range(SENT):
        with contextlib.suppress(ConnectionRefusedError):
            door.sendto(b"x", ("127.0.0.1", 9))


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", 2), ("::1", 10)])
def test_both_ends_of_a_dropped_packet_are_told(either: Counter, host: str, family: int) -> None:
    with socket.socket(family, socket.SOCK_DGRAM) as door:
        door.bind((host, 0))
        door.sendto(b"x", (host, 9))
        port = door.getsockname()[1]
    rows = drop_reasons.parse(either.text())
    told = [(one.source, one.source_port, one.to, one.to_port) for one in rows if one.port == "9"]
    assert (host, port, host, 9) in told


def test_a_later_fragment_has_no_ports(counter: Counter) -> None:
    """Its data are where the ports would be; sent twice, the second is dropped."""
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28, 7, 185, 64, 17, 0, *[b"\x7f\0\0\1"] * 2)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as door:
        for _ in range(2):
            door.sendto(head + b"q" * 8, ("127.0.0.1", 0))
    rows = [one for one in drop_reasons.parse(counter.text()) if one.reason == "DUP_FRAG"]
    if not rows:
        pytest.skip("this kernel has no reason for a fragment that came twice")
    assert [(one.port or "", one.source_port, one.to_port) for one in rows] == [("", 0, 0)]


def programs() -> set[int]:
    """The programs the kernel has, of whomever."""
    kernel, found, last = ctypes.CDLL(None, use_errno=True), set[int](), 0
    while True:
        block = ctypes.create_string_buffer(struct.pack("=II", last, 0), 128)
        if kernel.syscall(call._NUMBERS[os.uname().machine], _NEXT_PROGRAM, block, 128) < 0:
            return found
        last = struct.unpack_from("=I", block, 4)[0]
        found.add(last)


def held(pid: int | str = "self") -> set[int]:
    """The programs that a process holds, as its descriptors tell."""
    found = set()
    for name in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            told = Path(f"/proc/{pid}/fdinfo/{name}").read_text()
        except FileNotFoundError:  # that of the listing itself
            continue
        found |= {int(number) for number in re.findall(r"^prog_id:\s*(\d+)", told, re.MULTILINE)}
    return found


def gone(mine: set[int]) -> None:
    """Wait until these programs leave the kernel: no CPU may be running them."""
    until(lambda: not mine & programs())


def lost(counter: Counter) -> tuple[dict[str, int], int]:
    """What is counted while datagrams go to a closed port and a full socket; how many it kept."""
    before = counts(counter)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as full,
    ):
        closed_port(door)
        full.bind(("127.0.0.1", 0))
        full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        for _ in range(SENT):
            door.sendto(b"x" * 1000, full.getsockname())
        after = counts(counter)
        full.setblocking(False)
        kept = 0
        with contextlib.suppress(BlockingIOError):
            while full.recv(2000):
                kept += 1
    after.subtract(before)
    return after, kept


def test_a_closed_port_and_a_full_socket_are_told_apart(either: Counter) -> None:
    """Others on this machine drop too: never fewer than these, and when they do not, these."""

    def exact() -> bool:
        grown, kept = lost(either)
        assert grown["NO_SOCKET"] >= SENT
        assert grown["SOCKET_RCVBUFF"] >= SENT - kept > 0
        return (grown["NO_SOCKET"], grown["SOCKET_RCVBUFF"]) == (SENT, SENT - kept)

    until(exact)


def test_of_very_many_a_part_is_counted_for_all_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    sent = 50 * drops.OF
    monkeypatch.setattr(drops, "MANY", 30)
    counter: Counter = request.getfixturevalue("counter")
    begun = counter._counting.seconds()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        for _ in range(sent):
            door.sendto(b"x", ("127.0.0.1", 9))
    rows = drop_reasons.parse(counter.text())
    assert isinstance(rows, Partly)
    assert "one of 16 is counted" in rows.why
    found = sum(row.packets for row in rows if (row.reason, row.port) == ("NO_SOCKET", "9"))
    times = int(rows[0].seconds - begun) + 2  # in each second, on each core, a part is left
    assert found > sent - drops.OF * times * len(os.sched_getaffinity(0))


def test_what_is_closed_counts_no_more_and_leaves_no_program(counter: Counter) -> None:
    mine = held()
    assert mine
    assert mine <= programs()
    counter.close()
    gone(mine)
    with pytest.raises(OSError, match="ended"):
        counter.text()


def test_an_observer_that_is_told_to_stop_leaves_no_program(counter: Counter) -> None:
    counter.close()
    observer = Observer(Live())
    observer.step()
    assert not held()  # nobody asked
    observer.deep = True
    assert "drop_reasons" in observer.step().frame.tables
    mine = held()
    assert mine
    observer.deep = False
    gone(mine)
    assert "drop_reasons" not in observer.step().frame.tables
    assert not held()


@pytest.mark.parametrize("what", ["drops", "journey"])
def test_a_killed_nettop_leaves_nothing_in_the_kernel(counter: Counter, what: str) -> None:
    counter.close()  # this kernel supports it; the process below opens its own
    script = (
        "import json, signal\n"
        "from nettop.host.source import Live\n"
        "source = Live()\n"
        f"print(json.dumps(source.counted({what!r})), flush=True)\n"
        "signal.pause()\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert json.loads(other.stdout.readline())
        mine = held(other.pid)
        assert mine <= programs()
        os.kill(other.pid, signal.SIGKILL)
    assert mine
    gone(mine)


@pytest.mark.parametrize("what", ["drops", "journey"])
def test_without_the_right_it_is_one_sentence(what: str) -> None:
    script = (
        "import ctypes, encodings.ascii, os\n"  # later, nobody may read where they lie
        f"import nettop.host.bpf.{what}\n"
        "from nettop.host.source import Live\n"
        "os.setresuid(65534, 65534, 65534)\n"
        f"try:\n    Live().counted({what!r})\n"
        "except OSError as error:\n    print(error.strerror)\n"
    )
    assert "needs root" in python("", script)


def test_a_host_that_makes_too_many_calls_is_not_slowed_any_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    try:
        failed = calls.Counter()
    except OSError as error:
        pytest.skip(f"this kernel cannot count: {error.strerror}")
    monkeypatch.setattr(calls, "APART", 0.0)
    mine = held(os.getpid())
    monkeypatch.setattr(calls, "MOST", 1e12)
    assert not isinstance(failed_calls.parse(failed.text()), Partly)
    assert mine == held(os.getpid())
    monkeypatch.setattr(calls, "MOST", 0)
    os.stat("/")
    rows = failed_calls.parse(failed.text())
    assert isinstance(rows, Partly)
    assert "calls a second" in rows.why
    (ended,) = mine - held(os.getpid())
    gone({ended})
    again = failed_calls.parse(failed.text())
    assert isinstance(again, Partly)
    assert again.why == rows.why  # said again, and nothing else ends
    failed.close()


PLAY = r"""
import errno, json, os, pathlib, socket
from nettop.collect import _counted, drop_reasons, failed_calls
from nettop.host.bpf import calls, drops

NEAR, FAR, NEAR6 = "10.93.0.1", "10.93.0.2", "fd93::1"
lost, failed = drops.Counter(), calls.Counter()
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp6 = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
for _ in range(30):
    udp.sendto(b"x", (NEAR, 7777))
    udp6.sendto(b"x", (NEAR6, 7778))
big = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
big.setsockopt(socket.SOL_UDP, 103, 100)  # UDP_SEGMENT
big.sendto(b"x" * 1000, (NEAR, 7779))  # ten segments in one packet
for _ in range(4):
    try:
        udp.sendto(b"x", ("192.0.2.1", 53))
    except OSError as error:
        assert error.errno == errno.ENETUNREACH, error
server = socket.socket()
server.bind((NEAR, 80))
server.listen()
try:
    socket.socket().bind((NEAR, 80))
except OSError as error:
    assert error.errno == errno.EADDRINUSE, error
kept = [socket.create_connection((NEAR, 80)) for _ in range(2)]
ports = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
before = ports.read_text()
ports.write_text("61000 61000")
kept += [socket.create_connection((NEAR, 80))]
for _ in range(2):  # no port is free
    try:
        socket.create_connection((NEAR, 80))
    except OSError as error:
        assert error.errno == errno.EADDRNOTAVAIL, error
ports.write_text(before)
for _ in range(3):  # one that waits, and one that does not
    try:
        with socket.socket() as one:
            one.connect((FAR, 81))
    except ConnectionRefusedError:
        pass
    with socket.socket() as one:
        one.setblocking(False)
        one.connect_ex((FAR, 82))
        while not one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            pass
gone = socket.socket()
gone.setblocking(False)
gone.connect_ex(("10.93.0.77", 83))
gone.close()
with socket.create_server((NEAR, 84)) as pool, socket.create_connection((NEAR, 84)) as kept_open:
    pool.accept()[0].close()
    kept_open.recv(1)
    kept_open.send(b"x")
moments = {}
for one in _counted.moments(lost.text()) + _counted.moments(failed.text()):
    moments[one.what] = moments.get(one.what, 0) + one.events
print(json.dumps({
    "moments": moments,
    "calls": sorted(
        [row.call, row.error, row.address, row.port, row.events, row.pid == os.getpid()]
        for row in failed_calls.parse(failed.text()) if row.where == "here"
    ),
    "drops": sorted(
        [row.reason, row.interface, row.protocol, row.port, row.packets, bool(row.place)]
        for row in drop_reasons.parse(lost.text()) if row.where == "here"
    ),
}))
"""


@pytest.mark.parametrize("prefix", ["", "unshare --pid --fork --mount-proc"])
def test_what_is_dropped_and_what_fails_in_a_namespace_is_counted_exactly(
    counter: Counter, prefix: str
) -> None:
    counter.close()
    with veth.pair("witness") as spaces:
        words = [*spaces.near, *prefix.split(), sys.executable, "-c", PLAY]
        told = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    assert told["calls"] == [
        ["bind", "EADDRINUSE", veth.NEAR, "80", 1, True],
        ["connect", "EADDRNOTAVAIL", veth.NEAR, "80", 2, True],
        ["connection", "0", veth.NEAR, "80", 3, True],
        ["connection", "0", veth.NEAR, "84", 1, True],
        ["connection", "ECONNREFUSED", veth.FAR, "81", 3, True],
        ["connection", "ECONNREFUSED", veth.FAR, "82", 3, True],
        ["connection", "EPIPE", veth.NEAR, "84", 1, False],
        ["connection", "GIVEN_UP", "10.93.0.77", "83", 1, True],
        ["sendto", "0", "192.0.2.1", "53", 0, True],
        ["sendto", "ENETUNREACH", "192.0.2.1", "53", 4, True],
    ]
    assert [row for row in told["drops"] if row[0] == "NO_SOCKET"] == [
        ["NO_SOCKET", "1", "udp", "7777", 30, True],
        ["NO_SOCKET", "1", "udp", "7778", 30, True],
        ["NO_SOCKET", "1", "udp", "7779", 10, True],
    ]
    moments = told["moments"]
    assert moments["NO_SOCKET"] == 70
    assert moments["sendto/ENETUNREACH"] == 4
    calls = [moments[f"connect/{error}"] for error in ("ECONNREFUSED", "EADDRNOTAVAIL")]
    assert calls == [3, 2]
    # a call of connect that fails in the next part of time is an attempt that failed too
    assert 3 <= moments["connection/ECONNREFUSED"] <= 6
