"""sockperf: UDP or TCP ping-pong, full round trips."""

import re
from typing import Final

from ..result import Latency, Measured, Options
from ..run import Trial, TrialError
from ._client_server import run_both

TOOL: Final = "sockperf"
PACKAGE: Final = "sockperf"
HELP: Final = "request-response with sockperf: percentiles"
TAKES: Final = "udp length"
PORT: Final = 11111
_SHARE: Final = re.compile(r"percentile\s+(\d+(?:\.\d+)?)\s*=\s*(\d+(?:\.\d+)?)")
_EDGE: Final = re.compile(r"<(MIN|MAX)> observation\s*=\s*(\d+(?:\.\d+)?)")
_COUNT: Final = re.compile(r"Total (\d{1,20}) observations")
_VERSION: Final = re.compile(r"version #(\S+)")
_WRONG: Final = re.compile(r"ERROR|Invalid|No messages")


def client(o: Options, port: int) -> list[str]:
    """The command line of the client."""
    argv = ["sockperf", "pp", "-i", o.to, "-p", str(port), "--full-rtt"]
    argv += ["-t", f"{max(1, round(o.seconds + o.warmup))}", "-m", str(max(14, o.length or 64))]
    return argv if o.udp else [*argv, "--tcp"]


def measure(trial: Trial) -> Measured:
    """The server on the other host, the ping-pong here."""
    o = trial.options
    server = ["sockperf", "sr", "-i", "{address}", "-p", "{port}", *([] if o.udp else ["--tcp"])]
    output, _ = run_both(trial, server, lambda port: client(o, port), PORT)
    return parse(output)


def parse(output: str) -> Measured:
    """Percentiles in microseconds; TrialError if there are none."""
    shares = {float(share): float(value) for share, value in _SHARE.findall(output)}
    edges = {name: float(value) for name, value in _EDGE.findall(output)}
    if 50.0 not in shares or len(edges) != 2:
        lines = output.strip().splitlines() or ["no output"]
        error = next((line for line in lines if _WRONG.search(line)), lines[-1])
        raise TrialError(f"sockperf: {error.removeprefix('sockperf: ')}")
    count = _COUNT.search(output)
    version = _VERSION.search(output)
    p50 = shares[50.0]
    p99 = shares.get(99.0, p50)
    return Measured(
        version=version.group(1) if version else "",
        latency=Latency(
            edges["MIN"], p50, p99, shares.get(99.9, p99), edges["MAX"],
            fwhm=abs(shares.get(75.0, p50) - shares.get(25.0, p50)) * 1.75,  # of a normal peak
            count=int(count.group(1)) if count else 0,
        ),
    )  # fmt: skip
