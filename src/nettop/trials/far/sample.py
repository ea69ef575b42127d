"""Sample each second: core times, interface counters, softnet, TCP and UDP totals, interrupts."""

import os
import time
from typing import TYPE_CHECKING, Dict, List, Set

from nettop.trials.far.protocol import send, stopping, watch_input

if TYPE_CHECKING:
    from nettop.trials.far.schema import HelperOptions, LinkState


def read(path: str) -> str:
    """The text of a file; empty if it cannot be read."""
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def cores(text: str) -> Dict[str, List[int]]:
    """/proc/stat: user nice system idle iowait irq softirq steal, in ticks, by CPU number."""
    by_cpu = {}
    for line in text.splitlines():
        words = line.split()
        if words and words[0].startswith("cpu") and words[0][3:].isdigit():
            ticks = [int(word) for word in words[1:9] if word.isdigit()]
            by_cpu[words[0][3:]] = ticks + [0] * (8 - len(ticks))
    return by_cpu


def interfaces(text: str) -> Dict[str, List[int]]:
    """/proc/net/dev: rx bytes packets errors drops fifo frame, tx bytes packets errors drops."""
    by_name = {}
    for line in text.splitlines():
        name, colon, rest = line.rpartition(":")
        words = rest.split()
        if colon and len(words) >= 12 and all(word.isdigit() for word in words):
            numbers = [int(word) for word in words]
            by_name[name.strip()] = numbers[:6] + numbers[8:12]
    return by_name


def softnet(text: str) -> List[List[int]]:
    """/proc/net/softnet_stat: processed, dropped, squeezed of each online CPU."""
    rows = []
    for line in text.splitlines():
        try:
            rows.append([int(word, 16) for word in line.split()[:3]])
        except ValueError:
            continue
    return [row for row in rows if len(row) == 3]


def totals(text: str, wanted: Dict[str, List[str]]) -> Dict[str, int]:
    """/proc/net/snmp or netstat: the named columns of the named protocols."""
    counts = {}
    lines = text.splitlines()
    for names, values in zip(lines, lines[1:]):
        protocol = names.partition(":")[0]
        if protocol in wanted and values.startswith(protocol + ":"):
            for name, value in zip(names.split()[1:], values.split()[1:]):
                if name in wanted[protocol] and value.lstrip("-").isdigit():
                    counts[protocol + name] = int(value)
    return counts


SNMP = {"Tcp": ["OutSegs", "InSegs", "RetransSegs"], "Udp": ["InDatagrams", "RcvbufErrors"]}
NETSTAT = {"TcpExt": ["TCPDSACKRecvSegs"]}  # segments that arrived twice, reported by receivers


def interrupts(text: str) -> List[int]:
    """/proc/interrupts: the interrupts of each online CPU, summed over all numbered lines."""
    lines = text.splitlines()
    if not lines:
        return []
    width = len(lines[0].split())
    sums = [0] * width
    for line in lines[1:]:
        name, _, rest = line.partition(":")
        if not name.strip().isdigit():
            continue
        for place, word in enumerate(rest.split()[:width]):
            if not word.isdigit():
                break
            sums[place] += int(word)
    return sums


def links() -> "Dict[str, LinkState]":
    """MTU, speed in Mbit/s, driver and bus of every interface, as far as sysfs shows them."""
    by_name = {}
    try:
        names = os.listdir("/sys/class/net")
    except OSError:
        names = []
    for name in names:
        base = "/sys/class/net/" + name
        link: LinkState = {}
        mtu, speed = read(base + "/mtu").strip(), read(base + "/speed").strip()
        if mtu.isdigit():
            link["mtu"] = int(mtu)
        if speed.isdigit():
            link["speed"] = int(speed)
        driver, subsystem = target(base + "/device/driver"), target(base + "/device/subsystem")
        if driver:
            link["driver"] = driver
        if subsystem:
            link["subsystem"] = subsystem
        by_name[name] = link
    return by_name


def target(path: str) -> str:
    """The last part of the target of a symbolic link; empty without a link."""
    try:
        return os.path.basename(os.readlink(path))
    except OSError:
        return ""


def listed(text: str) -> Set[int]:
    """The CPUs of a list such as 0-2,5."""
    cpus: Set[int] = set()
    for part in text.strip().split(","):
        low, _, high = part.partition("-")
        if low.isdigit() and (high or low).isdigit():
            cpus.update(range(int(low), int(high or low) + 1))
    return cpus


def interrupted() -> Set[int]:
    """The CPUs that serve interrupts of NICs (/sys/class/net/*/device/msi_irqs)."""
    cpus: Set[int] = set()
    try:
        for name in os.listdir("/sys/class/net"):
            folder = "/sys/class/net/" + name + "/device/msi_irqs"
            for number in os.listdir(folder) if os.path.isdir(folder) else []:
                cpus |= listed(read("/proc/irq/" + number + "/effective_affinity_list"))
    except OSError:
        pass
    return cpus


def avoid_interrupts() -> None:
    """Run on the cores that serve no NIC, if there are any."""
    try:
        others = os.sched_getaffinity(0) - interrupted()
        if others:
            os.sched_setaffinity(0, others)
    except OSError:
        pass


def main(options: "HelperOptions") -> None:
    """Send a sample each `interval` seconds until told to stop, and a last one then."""
    watch_input()
    avoid_interrupts()
    interval = float(options.get("interval", 1.0))
    send(links=links(), kernel=os.uname().release, host=os.uname().nodename, pid=os.getpid())
    due = time.monotonic()
    last = False
    while True:
        send(
            at=time.monotonic(),
            cores=cores(read("/proc/stat")),
            interfaces=interfaces(read("/proc/net/dev")),
            softnet=softnet(read("/proc/net/softnet_stat")),
            totals={
                **totals(read("/proc/net/snmp"), SNMP),
                **totals(read("/proc/net/netstat"), NETSTAT),
            },
            interrupts=interrupts(read("/proc/interrupts")),
        )
        if last:
            return
        due = max(due + interval, time.monotonic())
        last = stopping.wait(due - time.monotonic())
