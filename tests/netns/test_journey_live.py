"""Delays planted between two namespaces: each is counted in its stage, and the stage is named."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
import veth
from changes_netns import python

from nettop.host.bpf.journey import Counter

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it loads programs into the kernel"),
]
COUNT = 20
SLEEP = 0.03  # seconds: longer than what is called long

BEGIN = f"""
import json, os, signal, socket, subprocess, sys, threading, time
from hang import until
from nettop.collect import drop_reasons, journeys
from nettop.facts import journey as facts
from nettop.host.bpf import drops, journey

COUNT, SLEEP, NEAR, FAR, PORT = {COUNT}, {SLEEP}, "{veth.NEAR}", "{veth.FAR}", 7001
journey.SHARE = 1e9  # it never rests
counter = journey.Counter()
assert not counter.absent, counter.absent
lost = drops.Counter()


def rows(port):
    every = journeys.parse(counter.text())
    return facts.chosen(every, facts.Target(frozenset({{str(port)}})))


def stage(name, port=PORT):
    return next(one for one in facts.stages(rows(port), {{}}) if one.stage == name)


def udp(port, address="127.0.0.1"):
    here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    here.bind((address, port))
    return here


door = udp(0)
warm = udp(7000)


def stamped():
    door.sendto(b"x", ("127.0.0.1", 7000))
    warm.recv(9)
    return stage("socket", 7000).packets


until(stamped)


def told():
    names = {{str(index): name for index, name in socket.if_nameindex()}}
    found = rows(PORT)
    known = facts.stages(found, names)
    gone = facts.losses(found, drop_reasons.parse(lost.text()))
    first = facts.foremost(known)
    print(json.dumps({{
        "first": first and first.stage, "lost": [one._asdict() for one in gone],
        "sentences": facts.sentences(known, gone), "pid": os.getpid(),
        "stages": {{one.stage: [one.packets, one.long] for one in known}},
        "whose": {{one.stage: [(who.name, who.long) for who in one.whose] for one in known}},
    }}))
"""


@pytest.fixture(scope="module")
def space() -> Iterator[str]:
    try:
        Counter().close()
    except OSError as error:
        pytest.skip(f"this kernel cannot count: {error.strerror}")
    with veth.pair("journey") as spaces:
        yield spaces.near[3]


def play(space: str, code: str) -> dict[str, Any]:
    """What the counter tells of what this program does."""
    found: dict[str, Any] = json.loads(python(space, BEGIN + code))
    return found


def test_a_datagram_that_its_reader_leaves_lying_waits_in_the_socket(space: str) -> None:
    seen = play(space, """
reader = udp(PORT)
for _ in range(COUNT):
    door.sendto(b"x", ("127.0.0.1", PORT))
time.sleep(SLEEP)
for _ in range(COUNT):
    reader.recv(9)
told()
""")  # fmt: skip
    assert seen["first"] == "socket"
    assert seen["stages"]["socket"] == [COUNT, COUNT]
    assert seen["stages"]["woken"][1] == 0
    (sentence,) = seen["sentences"]
    assert sentence.startswith(f"{COUNT} packets waited > 10 ms for the reader ")
    assert f"[{seen['pid']}]; the longest " in sentence


def test_a_datagram_that_is_only_looked_at_was_not_read(space: str) -> None:
    seen = play(space, """
reader = udp(PORT)
for _ in range(COUNT):
    door.sendto(b"x", ("127.0.0.1", PORT))
reader.recv(9, socket.MSG_PEEK)
reader.setblocking(False)
time.sleep(SLEEP)
for _ in range(COUNT):
    reader.recv(9)
try:
    reader.recv(9)
except BlockingIOError:
    door.sendto(b"x", ("127.0.0.1", PORT))
    reader.recv(9)
told()
""")  # fmt: skip
    assert seen["stages"]["socket"] == [COUNT + 1, COUNT]


def test_a_stream_that_its_reader_leaves_lying_waits_in_the_socket(space: str) -> None:
    seen = play(space, """
server = socket.create_server((NEAR, PORT))
client = socket.create_connection((NEAR, PORT))
reader, _ = server.accept()
for _ in range(COUNT):
    client.sendall(b"x")
    time.sleep(SLEEP)
    assert reader.recv(9) == b"x"
told()
""")  # fmt: skip
    assert seen["first"] == "socket"
    assert seen["stages"]["socket"] == [COUNT, COUNT]
    ((reader, _),) = seen["whose"]["socket"]
    assert reader.endswith(f"[{seen['pid']}]")


READER = """
import os, socket, sys
reader, port = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])
if len(sys.argv) > 3:
    os.sched_setaffinity(0, {int(sys.argv[3])})
while True:
    data, back = reader.recvfrom(99)
    reader.sendto(data, back)
"""
ASK = f"""
def start(*words):
    reader = udp(PORT)
    words = [sys.executable, "-c", {READER!r}, str(reader.fileno()), str(PORT), *words]
    return subprocess.Popen(words, pass_fds=[reader.fileno()])


def ask():
    door.sendto(b"x", ("127.0.0.1", PORT))


def sleeps(pid):
    return open(f"/proc/{{pid}}/stat").read().rpartition(")")[2].split()[0]
"""


def test_of_a_stopped_reader_the_packets_wait_in_the_socket(space: str) -> None:
    seen = play(space, ASK + """
reader = start()
ask()
door.recv(9)
reader.send_signal(signal.SIGSTOP)
until(lambda: sleeps(reader.pid) == "T")
for _ in range(COUNT):
    ask()
time.sleep(SLEEP)
reader.send_signal(signal.SIGCONT)
for _ in range(COUNT):
    door.recv(9)
told()
reader.kill()
""")  # fmt: skip
    assert seen["first"] == "socket"
    (_, long), *_ = seen["whose"]["socket"]
    assert long in (COUNT, COUNT + 1)  # with what waited for its start


SPIN = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
print(flush=True)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    pass
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_a_reader_that_is_woken_and_has_no_core_waits_for_the_core(space: str) -> None:
    seen = play(space, ASK + f"SPIN = {SPIN!r}\n" + """
other, core = sorted(os.sched_getaffinity(0))[:2]
os.sched_setaffinity(0, {other})
reader = start(str(core))
ask()
door.recv(9)


def spun():
    until(lambda: sleeps(reader.pid) == "S")
    words = [sys.executable, "-c", SPIN, str(core), str(2 * SLEEP)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as spinner:
        spinner.stdout.readline()
        ask()
        door.recv(9)
    return stage("woken").long  # the answer came while it spun, or it was not in time


until(spun)
told()
reader.kill()
""")  # fmt: skip
    assert seen["first"] == "woken"
    assert seen["stages"]["woken"][1] >= 1
    assert any("was woken and waited > 10 ms for a core" in one for one in seen["sentences"])


def test_a_standing_queue_is_named_with_its_interface(space: str) -> None:
    seen = play(space, """
shaped = "tc qdisc replace dev eth0 root tbf rate 800kbit burst 2000 limit 100000"
subprocess.run(shaped.split(), check=True)
sender = udp(PORT, NEAR)
for _ in range(COUNT):
    sender.sendto(bytes(958), (FAR, 9))
until(lambda: stage("queue").packets == COUNT)
told()
subprocess.run("tc qdisc del dev eth0 root".split(), check=True)
""")  # fmt: skip
    assert seen["first"] == "queue"
    ((name, long),) = seen["whose"]["queue"]
    assert name == "eth0"
    assert long >= COUNT - 4  # two go at once, and it may have spared some
    assert any("waited > 10 ms in the queue of eth0" in one for one in seen["sentences"])


def test_each_softirq_that_was_raised_is_counted_on_its_core(space: str) -> None:
    seen = play(space, """
core = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {core})
known = lambda: {one.name: one.packets for one in stage("softirq-rx").whose}.get(f"core {core}", 0)
before = known()
for _ in range(COUNT):
    door.sendto(b"x", ("127.0.0.1", 7000))
assert known() - before >= COUNT, (before, known())
told()
""")  # fmt: skip
    assert seen["stages"]["softirq-rx"][0] >= COUNT


CLIENT = """
far = subprocess.Popen(
    ["ip", "netns", "exec", FAR_SPACE, sys.executable, "-c",
     "import socket\\nserver = socket.create_server(('', 7002))\\nprint(flush=True)\\n"
     "one, _ = server.accept()\\nwhile one.recv(65536): pass"],
    stdout=subprocess.PIPE,
)
far.stdout.readline()
client = socket.create_connection((FAR, 7002))
PORT = client.getsockname()[1]
"""


def test_what_this_host_drops_it_has_lost(space: str) -> None:
    seen = play(space, f"FAR_SPACE = {far(space)!r}\n" + CLIENT + """
shaped = "tc qdisc replace dev eth0 root tbf rate 4mbit burst 3000 limit 3000"
subprocess.run(shaped.split(), check=True)
client.sendall(bytes(300_000))
until(lambda: [row for row in rows(PORT) if row.stage == "again"])
told()
subprocess.run("tc qdisc del dev eth0 root".split(), check=True)
far.kill()
""")  # fmt: skip
    (lost,) = seen["lost"]
    assert lost["here"] >= 1
    assert "this host lost" in seen["sentences"][-1]


def test_what_this_host_did_not_drop_the_network_has_lost(space: str) -> None:
    seen = play(space, f"FAR_SPACE = {far(space)!r}\n" + CLIENT + """
subprocess.run(["ip", "-n", FAR_SPACE, "addr", "del", FAR + "/24", "dev", "eth0"], check=True)
client.sendall(b"x")
until(lambda: [row for row in rows(PORT) if row.stage == "again"])
told()
subprocess.run(["ip", "-n", FAR_SPACE, "addr", "add", FAR + "/24", "dev", "eth0"], check=True)
far.kill()
""")  # fmt: skip
    (lost,) = seen["lost"]
    assert lost["here"] == 0
    assert seen["sentences"][-1].endswith("the network or the other end lost them")


def far(space: str) -> str:
    """The name of the other namespace."""
    return space.removesuffix("-a") + "-b"
