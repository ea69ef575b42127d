"""pktgen: send with the kernel's packet generator; count arrivals with the other host's interface.

The other host needs no program. Pause frames of a NIC with flow control are in `nettop show nic`;
virtual NICs never count any.
"""

from __future__ import annotations

import re
import socket
from typing import Any, Final

from ..result import Measured
from ..run import Trial, TrialError
from ._addresses import local_address
from .capture import carrier

TOOL: Final = "pktgen"
PACKAGE: Final = "linux-modules-extra (kernel module pktgen)"
HELP: Final = "minimum-size frames from the kernel's packet generator"
_RESULT: Final = re.compile(
    r"OK: (\d+)\([^)]*\) \w+, (\d+) \((\d+)byte[^)]*\)\s+(\d+)pps (\d+)Mb/sec \((\d+)bps\)"
    r" errors: (\d+)"
)


def measure(trial: Trial) -> Measured:
    """Send `--count` frames of `--length` payload bytes (18: the smallest)."""
    o = trial.options
    interface = o.interface or carrier(local_address(o.to))
    count = o.count or 1_000_000
    request = {"interface": interface, "to": o.to, "mac": neighbour(o.to), "count": count,
            "size": (o.length or 18) + 42, "cpu": o.cpu_here[0] if o.cpu_here else 0}  # fmt: skip
    with trial.here.start("pktgen", request) as end:
        said = [m["result"] for m in trial.follow(end, 60 + count / 1e5) if "result" in m]
    return parse(str(said[-1]) if said else "")


def parse(said: str) -> Measured:
    """The device file's Result; TrialError when it is not OK."""
    found = _RESULT.search(said)
    if found is None:
        last = said.strip().splitlines()[-1:] or ["no output"]
        raise TrialError(f"pktgen: {last[0]}")
    usecs, packets, size, pps, _, bps, errors = map(int, found.groups())
    details: dict[str, Any] = {"pps": pps, "packets": packets, "size": size, "errors": errors}
    return Measured(bits_per_second=float(bps), lasted=usecs / 1e6, details=details)


def neighbour(to: str) -> str:
    """The hardware address of `to` in this host's table, asked for when it is not there yet."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.sendto(b"", (to, 9))
        except OSError as error:
            raise TrialError(f"no route to {to}: {error.strerror or error}") from None
    import time

    for _ in range(50):
        with open("/proc/net/arp") as lines:
            for line in lines:
                words = line.split()
                if words[:1] == [to] and words[3] != "00:00:00:00:00:00":
                    return words[3]
        time.sleep(0.02)
    raise TrialError(f"{to} is not on this link: its hardware address is not known")
