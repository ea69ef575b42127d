"""Flow → queue → interrupt → core, against what the kernel tells of each socket and queue."""

import contextlib
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hang import until
from lab.inside.kernel import see

from nettop.facts.kinds.flow import Flow
from nettop.facts.kinds.queue import Queue
from nettop.host.source import Live
from nettop.terms.cpulist import parse
from nettop.views.observer import Observation, Observer

STREAMS = 24
PORT = 7300


class Streams:
    """Connections to the server outside, all read; each at one of three paces."""

    def __init__(self, address: str) -> None:
        self.sockets = [socket.create_connection((address, PORT), timeout=30)
                        for _ in range(STREAMS)]  # fmt: skip
        self.over = threading.Event()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        for one in self.sockets:
            one.setblocking(False)
        while not self.over.wait(0.05):
            for one in self.sockets:
                with contextlib.suppress(BlockingIOError):
                    one.recv(1 << 20)

    def cpus(self) -> dict[int, int]:
        """By local port the CPU that took the last packet off its queue, as the kernel tells."""
        return {one.getsockname()[1]: one.getsockopt(socket.SOL_SOCKET, socket.SO_INCOMING_CPU)
                for one in self.sockets}  # fmt: skip

    def close(self) -> None:
        """End the reading and the connections."""
        self.over.set()
        self.reader.join()
        for one in self.sockets:
            one.close()


@pytest.fixture(scope="module")
def streams() -> Iterator[Streams]:
    """Many flows at once, between observations too."""
    found = Streams(os.environ["LAB_TAP_TO"])
    time.sleep(2)
    yield found
    found.close()


def watched(steps: int = 4) -> Observation:
    """The last of some observations a second apart, of an observer that knows nothing yet."""
    observer = Observer(Live())
    for _ in range(steps):
        seen = observer.step()
        time.sleep(1)
    return seen


def many(seen: Observation) -> tuple[list[Flow], dict[str, Queue]]:
    """Our flows, and the NIC's receive queues by name."""
    nic = os.environ["LAB_VIRTIO_NET"]
    flows = [one for one in seen.facts.flows if one.remote_port == PORT]
    queues = {one.name: one for one in seen.facts.queues
              if one.nic == nic and one.direction == "rx"}  # fmt: skip
    assert len(flows) == STREAMS
    assert len(queues) == 4
    return flows, queues


@pytest.mark.topology("virtio-rss")
def test_no_flow_is_said_to_be_where_its_packets_are_not(streams: Streams) -> None:
    """As booted: this kernel shows a table that it did not give the device."""
    flows, queues = many(watched())
    cpus = streams.cpus()
    for one in flows:
        assert one.queue is None or queues[one.queue].cpu == cpus[one.local_port], one
        assert one.queue is not None or one.queue_why
    assert len({one.queue is None for one in flows}) == 1


@pytest.mark.topology("virtio-rss")
def test_every_flow_is_where_its_packets_are_once_the_table_is_written(streams: Streams) -> None:
    nic = os.environ["LAB_VIRTIO_NET"]
    see("ethtool", "-X", nic, "default")  # as the rule rss-table-not-in-force says
    time.sleep(2)
    seen = watched()
    flows, queues = many(seen)
    cpus = streams.cpus()
    assert {one.queue_why for one in flows} == {"computed from RSS"}
    wrong = [one for one in flows if queues[str(one.queue)].cpu != cpus[one.local_port]]
    assert not wrong
    assert len({one.queue for one in flows}) > 1
    brought = dict.fromkeys(queues, 0.0)
    for one in flows:
        brought[str(one.queue)] += one.rx_per_s or 0.0
        effective = Path(f"/proc/irq/{queues[str(one.queue)].irq}/effective_affinity_list")
        assert one.irq_cpu in parse(effective.read_text().strip())
    counted = {name: queue.bytes_per_s or 0.0 for name, queue in queues.items()}
    for name in queues:
        share = brought[name] / sum(brought.values())
        assert counted[name] / sum(counted.values()) == pytest.approx(share, abs=0.1)
    (port,) = [one for one in seen.facts.nics if one.name == nic]
    assert port.rss_obeyed is True


@pytest.mark.topology("two-nodes")
def test_a_hidden_key_says_why_the_queue_is_not_computed() -> None:
    nic, here = os.environ["LAB_VMXNET3"], os.environ["LAB_VMXNET3_HERE"]
    with subprocess.Popen(["iperf3", "-s"], stdout=subprocess.DEVNULL) as server:
        time.sleep(3)
        words = ["ip", "netns", "exec", "peer", "iperf3", "-c", here, "-t", "900", "-P", "2"]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL) as client:
            moving(nic)
            seen = watched(3)
            client.terminate()
        server.terminate()
    flows = [one for one in seen.facts.flows if one.nic == nic and one.bulk]
    assert flows
    for one in flows:
        assert one.queue_why
        assert "computed" not in one.queue_why, "nothing can be computed without the key"


def moving(nic: str) -> None:
    """Wait until the interface receives."""
    counter = Path(f"/sys/class/net/{nic}/statistics/rx_packets")
    was = int(counter.read_text())
    until(lambda: int(counter.read_text()) >= was + 2000)
