"""Once a second: every core's times, every interface's counters, softnet, TCP and UDP totals."""

import os
import time
from typing import Any, Dict, List, Set

from nettop.trials.far.protocol import listen, say, stopping


def read(path: str) -> str:
    """A file's text; empty when it is not there or not for us."""
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def cores(text: str) -> Dict[str, List[int]]:
    """/proc/stat: user nice system idle iowait irq softirq steal, in ticks, by CPU number."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if words and words[0].startswith("cpu") and words[0][3:].isdigit():
            ticks = [int(word) for word in words[1:9] if word.isdigit()]
            found[words[0][3:]] = ticks + [0] * (8 - len(ticks))
    return found


def interfaces(text: str) -> Dict[str, List[int]]:
    """/proc/net/dev: rx bytes packets errors drops fifo frame, tx bytes packets errors drops."""
    found = {}
    for line in text.splitlines():
        name, colon, rest = line.rpartition(":")
        words = rest.split()
        if colon and len(words) >= 12 and all(word.isdigit() for word in words):
            numbers = [int(word) for word in words]
            found[name.strip()] = numbers[:6] + numbers[8:12]
    return found


def softnet(text: str) -> List[List[int]]:
    """/proc/net/softnet_stat: processed, dropped, squeezed of each online CPU."""
    found = []
    for line in text.splitlines():
        try:
            found.append([int(word, 16) for word in line.split()[:3]])
        except ValueError:
            continue
    return [row for row in found if len(row) == 3]


def totals(text: str, wanted: Dict[str, List[str]]) -> Dict[str, int]:
    """/proc/net/snmp or netstat: the named columns of the named protocols."""
    found = {}
    lines = text.splitlines()
    for names, values in zip(lines, lines[1:]):
        protocol = names.partition(":")[0]
        if protocol in wanted and values.startswith(protocol + ":"):
            for name, value in zip(names.split()[1:], values.split()[1:]):
                if name in wanted[protocol] and value.lstrip("-").isdigit():
                    found[protocol + name] = int(value)
    return found


SNMP = {"Tcp": ["OutSegs", "InSegs", "RetransSegs"], "Udp": ["InDatagrams", "RcvbufErrors"]}
NETSTAT = {"TcpExt": ["TCPDSACKRecvSegs"]}  # what arrived twice, as the receivers told the sender


def interrupts(text: str) -> List[int]:
    """/proc/interrupts: how many each online CPU took, over all numbered lines."""
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


def links() -> Dict[str, Dict[str, Any]]:
    """MTU, speed in Mbit/s and driver of every interface, where sysfs tells."""
    found = {}
    try:
        names = os.listdir("/sys/class/net")
    except OSError:
        names = []
    for name in names:
        base = "/sys/class/net/" + name
        about: Dict[str, Any] = {}
        for what in ("mtu", "speed"):
            word = read(base + "/" + what).strip()
            if word.isdigit():
                about[what] = int(word)
        for what in ("driver", "subsystem"):
            try:
                about[what] = os.path.basename(os.readlink(base + "/device/" + what))
            except OSError:
                continue
        found[name] = about
    return found


def listed(text: str) -> Set[int]:
    """A CPU list such as 0-2,5."""
    found: Set[int] = set()
    for part in text.strip().split(","):
        low, _, high = part.partition("-")
        if low.isdigit() and (high or low).isdigit():
            found.update(range(int(low), int(high or low) + 1))
    return found


def interrupted() -> Set[int]:
    """The CPUs that take some NIC's interrupts (/sys/class/net/*/device/msi_irqs)."""
    found: Set[int] = set()
    try:
        for name in os.listdir("/sys/class/net"):
            place = "/sys/class/net/" + name + "/device/msi_irqs"
            for number in os.listdir(place) if os.path.isdir(place) else []:
                found |= listed(read("/proc/irq/" + number + "/effective_affinity_list"))
    except OSError:
        pass
    return found


def step_aside() -> None:
    """Leave the NICs' cores to them where there is any other for us."""
    try:
        others = os.sched_getaffinity(0) - interrupted()
        if others:
            os.sched_setaffinity(0, others)
    except OSError:
        pass


def main(options: Dict[str, Any]) -> None:
    """A sample each `interval` seconds until told to stop, and one at the very end."""
    listen()
    step_aside()
    interval = float(options.get("interval", 1.0))
    say(links=links(), kernel=os.uname().release, host=os.uname().nodename, pid=os.getpid())
    due = time.monotonic()
    last = False
    while True:
        say(
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
