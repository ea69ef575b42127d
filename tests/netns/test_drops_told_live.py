"""Drops on this kernel: what counters lost is explained, and each is told of its namespace."""

import json
import subprocess
import sys

import pytest
import veth

from nettop.host.bpf.drops import Counter

pytestmark = pytest.mark.netns


@pytest.fixture(autouse=True)
def counted() -> None:
    try:
        Counter().close()
    except OSError as error:
        pytest.skip(f"this kernel cannot count: {error.strerror}")


ACCOUNT = f"""
import json, socket, subprocess
from nettop.facts.accounting import account
from nettop.host.source import Live
from nettop.views.observer import Observer

subprocess.run("tc qdisc add dev eth0 root tbf rate 1kbit burst 2000 limit 2500", shell=True,
               check=True)
observer = Observer(Live())
observer.deep = True
first = observer.step()
full = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
full.bind(("{veth.NEAR}", 7000))
full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(50):
    door.sendto(b"x" * 500, full.getsockname())
    door.sendto(b"x", ("{veth.NEAR}", 7777))
    door.sendto(b"x" * 500, ("{veth.FAR}", 7000))
observer.sampler.refresh()
last = observer.step()
one = account((first.frame, first.facts), (last.frame, last.facts))
print(json.dumps([[[place.counter, place.packets, place.explained] for place in one.places],
                  one.refused]))
"""


def test_what_counters_lost_is_what_the_kernel_explains() -> None:
    with veth.pair("account") as spaces:
        words = [*spaces.near, sys.executable, "-c", ACCOUNT]
        out = subprocess.run(words, capture_output=True, check=True).stdout
    told, refused = json.loads(out)
    packets = {name: count for name, count, _ in told if name != "cpu_backlog_drops"}
    assert packets.keys() == {"udp_rcvbuf_errors", "qdisc_drops"}
    assert refused == 50
    assert min(packets.values()) > 40
    assert [count for *_, count in told] == [count for _, count, _ in told]


FROM_ANOTHER = """
import json, subprocess, sys
from nettop.collect import drop_reasons
from nettop.host.bpf.drops import Counter
counter = Counter()
subprocess.run(["ip", "netns", "exec", sys.argv[1], sys.executable, "-c", sys.argv[2]], check=True)
print(json.dumps([[row.interface, row.packets] for row in drop_reasons.parse(counter.text())
                  if (row.where, row.reason) == ("here", "OTHERHOST")]))
"""
SENDS = f"""
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
    for _ in range(20):
        door.sendto(b"x", ("{veth.NEAR}", 7777))
"""


def test_a_packet_from_another_namespace_is_counted_where_it_arrives() -> None:
    """It has the socket of its sender until ip_rcv()."""
    with veth.pair("arrives") as spaces:
        far = veth.spaces("arrives")[1]
        wrong = f"ip -n {far} neigh replace {veth.NEAR} lladdr 02:00:00:00:00:99 dev eth0"
        subprocess.run(wrong.split(), check=True)
        words = [*spaces.near, sys.executable, "-c", FROM_ANOTHER, far, SENDS]
        told = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    assert [packets for _, packets in told] == [20]
    assert told[0][0] not in ("", "0")
