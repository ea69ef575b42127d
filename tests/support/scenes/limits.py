"""What limits the synthetic hosts: verdicts as `facts.limits` gives them."""

from dataclasses import replace

from nettop.facts.limits import Limit, Reading

from .found import WALL

RING = Reading(
    "ring", "here", "receive ring of eth0", "reported",
    "mean 1,204 packets/s lost: no receive descriptor free", 1.0, None, 0.8,
    cause="no receive descriptor free",
)  # fmt: skip
WIRE = Reading(
    "wire", "here", "link of eth0, 1 Gb/s", "computed",
    "eth0 carries 65% of what TCP can at MTU 1500", 0.65, (913.2e6, 941.5e6), 0.0,
)  # fmt: skip
CORE = Reading(
    "core", "here", "core 6, which takes the interrupts", "measured",
    "core 6 was 97% busy, 90% with interrupts", 0.97, (600e6, 660e6), 0.4,
)  # fmt: skip
THREAD = Reading(
    "thread", "here", "iperf3[3391]", "measured", "ran 65% of the time", 0.65, None, 0.1
)
RCVBUF = Reading(
    "rcvbuf", "here", "receive buffer 6 MiB", "computed", "16 KiB in a round trip", 0.003,
    (4.2e9, 8.4e9), 0.0,
)  # fmt: skip
IDLE = Reading(
    "application", "here", "programs of this host", "inferred",
    "nothing waits to be sent: no TCP flow of this host wants more", None,
)  # fmt: skip
SENDERS = Reading(
    "peer", "there", "senders", "inferred", "no data waits at this end: the senders send no more"
)
LOSSY = (
    Limit(
        "nic", "eth0", "rx", 616.4e6, WALL - 130, RING, (), CORE,
        (RING, CORE, WIRE, RCVBUF, THREAD), "eth0", 3391, "iperf3",
    ),
    Limit("nic", "eth0", "tx", 12.1e6, WALL - 130, IDLE, (), WIRE, (IDLE, WIRE), "eth0"),
    Limit("nic", "eth1", "rx", 6.56e3, WALL - 130, SENDERS, (), None, (SENDERS,), "eth1"),
)  # fmt: skip
LINK = replace(
    WIRE, utilisation=0.997, held=0.9, because="eth0 carries 100% of what TCP can at MTU 1500"
)
CURED = (  # the ring is large enough: the link is full
    Limit(
        "nic", "eth0", "rx", 938.4e6, WALL + 62, LINK, (), None,
        (LINK, replace(CORE, held=0.0), RCVBUF, THREAD), "eth0", 3391, "iperf3",
    ),
    Limit("nic", "eth0", "tx", 12.1e6, WALL - 130, IDLE, (), WIRE, (IDLE, WIRE), "eth0"),
)  # fmt: skip
HEALTHY = (
    Limit("nic", "eth0", "rx", 9.68e3, WALL - 300, SENDERS, (), None, (SENDERS,), "eth0"),
    Limit("nic", "eth0", "tx", 27.2e3, WALL - 300, IDLE, (), None, (IDLE,), "eth0"),
)
FULL = Reading(
    "core", "here", "core 3, which takes the interrupts", "measured",
    "core 3 was 99% busy, 91% with interrupts", 0.99, (58e9, 64e9), 0.9,
)  # fmt: skip
BIG = (
    Limit(
        "nic", "ens0f0", "rx", 60.8e9, WALL - 20, FULL, (), Reading(
            "wire", "here", "link of ens0f0, 100 Gb/s", "computed", "", 0.61, (96e9, 99e9)
        ), (FULL,), "ens0f0", 5126, "dtn-mover",
    ),
    Limit("nic", "ens0f0", "tx", 32e9, WALL - 20, IDLE, (), None, (IDLE,), "ens0f0"),
)  # fmt: skip
