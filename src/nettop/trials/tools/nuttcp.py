"""nuttcp: TCP or UDP with the retransmits of each second; figures of the receiver."""

from typing import Final

from ..result import Interval, Loss, Measured, Options, mean_rate, steady
from ..run import Trial
from ._client_server import failed, number, run_both

TOOL: Final = "nuttcp"
PACKAGE: Final = "nuttcp"
HELP: Final = "TCP or UDP transfer with nuttcp, retransmits each second"
TAKES: Final = "streams reverse udp rate length window mss"
PORT: Final = 5000
MIB: Final = 1 << 20


def client(o: Options, port: int) -> list[str]:
    """The command line of the client; data ports begin 101 above the control port."""
    argv = ["nuttcp", "-fparse", "-i1", f"-P{port}", f"-p{port + 101}"]
    argv.append(f"-T{max(1, round(o.seconds + o.warmup))}")
    argv += ["-r"] if o.reverse else []
    argv += [f"-N{o.streams}"] if o.streams > 1 else []
    argv += ["-u"] if o.udp else []
    argv += [f"-R{o.rate / 1e6:.3f}m"] if o.rate is not None else []
    argv += [f"-l{o.length}"] if o.length is not None else []
    argv += [f"-w{max(1, o.window // 1024)}"] if o.window is not None else []
    argv += [f"-M{o.mss}"] if o.mss is not None else []
    return [*argv, o.to]


def measure(trial: Trial) -> Measured:
    """The server on the other host, for one test; the client here."""
    server = ["nuttcp", "-1", "--no3rdparty", "-P{port}"]
    output, _ = run_both(trial, server, lambda port: client(trial.options, port), PORT)
    version = trial.here.run(["nuttcp", "-V"])[1].strip().splitlines()[:1] or [""]
    return parse(output, trial.options, version[0])


def pairs(line: str) -> dict[str, float]:
    """The `key=value` words of a line whose value is a number."""
    values = {}
    for word in line.split():
        key, equals, value = word.partition("=")
        parsed = number(value) if equals else None
        if parsed is not None:
            values[key] = parsed
    return values


def parse(output: str, o: Options, version: str = "") -> Measured:
    """The seconds and the total of `-fparse` output; TrialError without a total."""
    intervals: list[Interval] = []
    total: dict[str, float] = {}
    start = 0.0
    for line in output.splitlines():
        values = pairs(line)
        if "real_sec" in values and "rate_Mbps" in values:
            seconds, rate = values["real_sec"], 1e6 * values["rate_Mbps"]
            retrans = int(values["retrans"]) if "retrans" in values else None
            intervals.append(Interval(start, seconds, rate, retrans))
            start += seconds
        elif "real_seconds" in values and "rate_Mbps" in values:
            total = values
    if not total:
        raise failed("nuttcp", output)
    measured = steady(intervals, o.warmup)
    mean = mean_rate(measured)
    loss = None
    if "pkt" in total and "drop" in total:
        loss = Loss(int(total["pkt"]), int(total["pkt"] - total["drop"]))
    details: dict[str, float] = {
        key: total[key] for key in ("tx_cpu", "rx_cpu", "rtt_ms") if key in total
    }
    if "rtt_ms" in details:
        details["rtt_us"] = 1000 * details["rtt_ms"]
    return Measured(
        version=version,
        bits_per_second=mean if mean is not None else 1e6 * total["rate_Mbps"],
        intervals=measured,
        bytes=int(total.get("megabytes", 0) * MIB),
        lasted=total["real_seconds"],
        retransmits=int(total["retrans"]) if "retrans" in total else None,
        loss=loss,
        details=details,
    )
