"""netperf: TCP_STREAM or TCP_MAERTS, one stream; the figure of the receiver."""

from typing import Final

from ..result import Measured, Options
from ..run import Trial
from ._client_server import failed, number, run_both

TOOL: Final = "netperf"
PACKAGE: Final = "netperf"
HELP: Final = "TCP transfer with netperf"
TAKES: Final = "reverse length window"
PORT: Final = 12865
UNITS: Final = {"10^3bits/s": 1e3, "10^6bits/s": 1e6, "10^9bits/s": 1e9}


def client(o: Options, port: int) -> list[str]:
    """The command line of the client: the omni test, output as keys and values."""
    argv = ["netperf", "-H", o.to, "-p", str(port), "-f", "m", "-P", "0"]
    argv += ["-l", f"{max(1, round(o.seconds + o.warmup))}", "-t", "omni", "--"]
    argv += ["-d", "recv" if o.reverse else "send"]
    argv += ["-m", str(o.length)] if o.length is not None else []
    argv += ["-s", str(o.window), "-S", str(o.window)] if o.window is not None else []
    return [*argv, "-k", "THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,LOCAL_TRANSPORT_RETRANS"]


def measure(trial: Trial) -> Measured:
    """Netserver on the other host, netperf here."""
    server = ["netserver", "-D", "-L", "{address}", "-p", "{port}"]
    output, _ = run_both(trial, server, lambda port: client(trial.options, port), PORT)
    version = trial.here.run(["netperf", "-V"])[1].strip().splitlines()[:1] or [""]
    return parse(output, version[0])


def parse(output: str, version: str = "") -> Measured:
    """The `KEY=value` lines; TrialError without a throughput in a known unit."""
    values = dict(line.strip().partition("=")[::2] for line in output.splitlines() if "=" in line)
    rate = number(values.get("THROUGHPUT", ""))
    unit = UNITS.get(values.get("THROUGHPUT_UNITS", ""))
    if rate is None or unit is None:
        raise failed("netperf", output)
    retrans = number(values.get("LOCAL_TRANSPORT_RETRANS", ""))
    return Measured(
        version=version,
        bits_per_second=rate * unit,
        lasted=number(values.get("ELAPSED_TIME", "")),
        retransmits=int(retrans) if retrans is not None and retrans >= 0 else None,
    )
