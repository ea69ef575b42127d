"""trafgen: equal frames by trafgen of netsniff-ng, at a rate or as fast as cores send them.

The other host needs no program. `--streams` is the number of instances; trafgen binds them to the
cores 0, 1, … itself. As it does by default, the frames pass the qdisc by; interrupts and socket
memory are left as they are.
"""

import re
from typing import Final

from ..result import Measured
from ..run import Trial, TrialError
from ._client_server import failed, local_address
from .capture import carrier
from .pktgen import neighbour

TOOL: Final = "trafgen"
PACKAGE: Final = "netsniff-ng"
HELP: Final = "minimum-size frames from trafgen"
TAKES: Final = "interface count length rate streams"
_SENT: Final = re.compile(r"(\d{1,20}) packets outgoing\s+(\d{1,20}) bytes outgoing")
_TOOK: Final = re.compile(r"(\d{1,9}) sec, (\d{1,6}) usec on CPU")


def measure(trial: Trial) -> Measured:
    """Send `--count` frames of `--length` payload bytes (18: the smallest), at most at `--rate`."""
    o = trial.options
    if o.cpu_here and o.cpu_here != tuple(range(o.streams)):
        raise TrialError("trafgen binds its instances to the cores 0, 1, … itself: --streams N")
    own = local_address(o.to)
    size = (o.length or 18) + 42  # without CRC
    pace = max(1, round(o.rate / (8 * size))) if o.rate else 0
    count = o.count or (round(pace * o.seconds) if pace else 1_000_000)
    frame = (
        f"{{ eth(da={neighbour(o.to)}), ipv4(saddr={own}, daddr={o.to}, ttl=64),"
        f" udp(sp=9, dp=9), fill(0, {size - 42}) }}"
    )
    argv = ["trafgen", "--notouch-irq", "--no-sock-mem"]
    argv += ["--cpus", str(o.streams), "--num", str(count)]
    argv += ["--rate", f"{pace}pps"] if pace else []
    argv += ["--dev", o.interface or carrier(own), frame]
    with trial.start(trial.here, argv, cpus=o.cpu_here) as near:
        patience = 60 + count / min(1e5, pace or 1e5)
        _, output, errors = trial.output(near, 2 * patience)
    return parse(output + errors)


def parse(output: str) -> Measured:
    """The summary; TrialError without one."""
    sent = _SENT.search(output)
    took = [int(one[1]) + int(one[2]) / 1e6 for one in _TOOK.finditer(output)]  # of each core
    if sent is None or not took or not max(took) or not int(sent[1]):
        raise failed("trafgen", output)
    packets, total, seconds = int(sent[1]), int(sent[2]), max(took)
    return Measured(
        bits_per_second=8 * total / seconds, lasted=seconds,
        details={"pps": packets / seconds, "packets": packets, "size": total // packets},
    )  # fmt: skip
