"""What the guest's kernel says, asked with the system's own tools and never with nettop."""

import os
import re
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hang import HANG, until

INTEL, VMWARE = os.environ.get("LAB_E1000E", ""), os.environ.get("LAB_VMXNET3", "")
Nettop = Callable[..., tuple[int, dict[str, Any]]]


def see(*words: str) -> str:
    """What one of the system's own tools prints."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=HANG)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def found(pattern: str, *words: str) -> list[str]:
    """What a pattern with one group finds in the lines that a tool prints."""
    return re.findall(pattern, see(*words), re.MULTILINE)


def connected(port: int) -> socket.socket:
    """A connection to a server at the other end that has just been started."""
    peer = os.environ["LAB_E1000E_TO"], port

    def tried() -> socket.socket | None:
        try:
            return socket.create_connection(peer, HANG)
        except OSError:
            return None

    made = until(tried)
    assert made is not None
    made.settimeout(None)
    return made


def ring(nic: str) -> str:
    """The receive ring in force."""
    return found(r"^RX:\s*(\d+)", "ethtool", "-g", nic)[1]


def usecs(nic: str) -> str:
    """Microseconds before a receive interrupt."""
    return found(r"^rx-usecs:\s*(\d+)", "ethtool", "-c", nic)[0]


def autoneg(nic: str) -> str:
    """Pause negotiated: on or off."""
    return found(r"^Autonegotiate:\s*(\w+)", "ethtool", "-a", nic)[0]


def merges(nic: str) -> str:
    """GRO: on or off."""
    return found(r"generic-receive-offload: (\w+)", "ethtool", "-k", nic)[0]


def mtu(nic: str) -> str:
    """The MTU."""
    return Path(f"/sys/class/net/{nic}/mtu").read_text().strip()


def lines() -> dict[int, str]:
    """Interrupt numbers and the names of their last users."""
    told = {}
    for line in Path("/proc/interrupts").read_text().splitlines():
        words = line.split()
        if words and words[0][:-1].isdigit():
            told[int(words[0][:-1])] = words[-1]
    return told


def affinity(nic: str) -> str:
    """The CPUs that the interrupt of receive queue 0 may use."""
    names = (f"{nic}-rx-0", f"{nic}-rxtx-0")
    (number,) = [number for number, name in lines().items() if name in names]
    return Path(f"/proc/irq/{number}/smp_affinity_list").read_text().strip()
