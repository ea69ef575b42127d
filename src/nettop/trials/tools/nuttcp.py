"""nuttcp: TCP or UDP with the retransmits of each second; figures are the receiver's."""

from __future__ import annotations

from typing import Any, Final

from ..result import Interval, Loss, Measured, Options
from ..run import Trial, TrialError
from ._client_server import numbers, refuse, run_both

TOOL: Final = "nuttcp"
PACKAGE: Final = "nuttcp"
HELP: Final = "TCP or UDP transfer with nuttcp, retransmits each second"
PORT: Final = 5000
MIB: Final = 1 << 20


def client(o: Options, port: int) -> list[str]:
    """The near end's command line; the data ports begin 101 above the control port."""
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
    """One shot of the server there, the client here."""
    refuse(trial, TOOL, "bidirectional", "congestion", "zero_copy")
    server = ["nuttcp", "-1", "--no3rdparty", "-P{port}"]
    said, _ = run_both(trial, server, lambda port: client(trial.options, port), PORT)
    version = trial.here.run(["nuttcp", "-V"])[1].strip().splitlines()[:1] or [""]
    return parse(said, trial.options, version[0])


def pairs(line: str) -> dict[str, float]:
    """The `key=value` words of a line that are numbers."""
    found = {}
    for word in line.split():
        key, equals, value = word.partition("=")
        number = numbers(value) if equals else None
        if number is not None:
            found[key] = number
    return found


def parse(said: str, o: Options, version: str = "") -> Measured:
    """Seconds and the total of `-fparse` output; TrialError without a total."""
    intervals: list[Interval] = []
    total: dict[str, float] = {}
    start = 0.0
    for line in said.splitlines():
        found = pairs(line)
        if "real_sec" in found and "rate_Mbps" in found:
            retrans = int(found["retrans"]) if "retrans" in found else None
            intervals.append(Interval(start, found["real_sec"], 1e6 * found["rate_Mbps"], retrans))
            start += found["real_sec"]
        elif "real_seconds" in found and "rate_Mbps" in found:
            total = found
    if not total:
        last = said.strip().splitlines()[-1:] or ["no output"]
        raise TrialError(f"nuttcp: {last[0]}")
    steady = tuple(i for i in intervals if i.start >= o.warmup - 0.1) or tuple(intervals)
    seconds = sum(i.seconds for i in steady)
    rate = sum(i.bits_per_second * i.seconds for i in steady) / seconds if seconds > 0 else None
    loss = None
    if "pkt" in total and "drop" in total:
        loss = Loss(int(total["pkt"]), int(total["pkt"] - total["drop"]))
    details: dict[str, Any] = {
        key: total[key] for key in ("tx_cpu", "rx_cpu", "rtt_ms") if key in total
    }
    if "rtt_ms" in details:
        details["rtt_us"] = 1000 * details["rtt_ms"]
    return Measured(
        version=version,
        bits_per_second=rate if rate is not None else 1e6 * total["rate_Mbps"],
        intervals=steady,
        bytes=int(total.get("megabytes", 0) * MIB),
        lasted=total["real_seconds"],
        retransmits=int(total["retrans"]) if "retrans" in total else None,
        loss=loss,
        details=details,
    )
