"""pktgen: send with the packet generator of the kernel; interface counters count the arrivals.

The other host needs no program. Pause frames of a NIC with flow control are in `nettop show nic`;
virtual NICs never count any.
"""

import re
import socket
from typing import Final

from ..far.schema import HelperOptions
from ..result import Measured
from ..run import Trial, TrialError
from ._client_server import failed, local_address
from .capture import carrier

TOOL: Final = "pktgen"
PACKAGE: Final = "linux-modules-extra (kernel module pktgen)"
HELP: Final = "minimum-size frames from the kernel's packet generator"
TAKES: Final = "interface count length"
_RESULT: Final = re.compile(
    r"OK: (\d+)\([^)]*\) \w+, (\d+) \((\d+)byte[^)]*\)\s+(\d+)pps (\d+)Mb/sec \((\d+)bps\)"
    r" errors: (\d+)"
)


def measure(trial: Trial) -> Measured:
    """Send `--count` frames of `--length` payload bytes (18: the smallest)."""
    o = trial.options
    interface = o.interface or carrier(local_address(o.to))
    count = o.count or 1_000_000
    job: HelperOptions = {
        "interface": interface, "to": o.to, "mac": neighbour(o.to), "count": count,
        "size": (o.length or 18) + 42, "cpu": o.cpu_here[0] if o.cpu_here else 0,
    }  # fmt: skip
    with trial.here.start("pktgen", job) as end:
        results = [m["result"] for m in trial.follow(end, 60 + count / 1e5) if "result" in m]
    return parse(results[-1] if results else "")


def parse(output: str) -> Measured:
    """The Result of the device file; TrialError if it is not OK."""
    match = _RESULT.search(output)
    if match is None:
        raise failed("pktgen", output)
    usecs, packets, size, pps, _, bps, errors = map(int, match.groups())
    details = {"pps": pps, "packets": packets, "size": size, "errors": errors}
    return Measured(bits_per_second=float(bps), lasted=usecs / 1e6, details=details)


def neighbour(to: str) -> str:
    """The hardware address of `to` (/proc/net/arp), after a datagram to it; TrialError."""
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
