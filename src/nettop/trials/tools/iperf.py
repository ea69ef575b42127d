"""iperf (version 2): TCP or UDP; figures of the server, because the client counts unsent bytes."""

from typing import Final, NamedTuple

from ..result import Interval, Loss, Measured, Options, mean_rate, steady
from ..run import Trial
from ._client_server import failed, number, run_both

TOOL: Final = "iperf"
PACKAGE: Final = "iperf"
HELP: Final = "TCP or UDP transfer with iperf version 2"
TAKES: Final = "streams reverse udp rate length window mss congestion"
PORT: Final = 5001


def client(o: Options, port: int) -> list[str]:
    """The command line of the client."""
    argv = ["iperf", "-c", o.to, "-p", str(port), "-y", "C"]
    argv += ["-t", f"{max(1, round(o.seconds + o.warmup))}"]
    argv += ["-V"] if ":" in o.to else []
    argv += ["-P", str(o.streams)] if o.streams > 1 else []
    argv += ["-R", "-i", "1"] if o.reverse else []  # then the receiver reports each second
    argv += ["-u"] if o.udp else []
    for flag, value in (("-l", o.length), ("-w", o.window), ("-M", o.mss), ("-Z", o.congestion)):
        argv += [flag, str(value)] if value is not None else []
    argv += ["-b", f"{o.rate / o.streams:.0f}"] if o.rate is not None else []
    return argv


def measure(trial: Trial) -> Measured:
    """The server on the other host, with a line per second; the client here."""
    o = trial.options
    server = ["iperf", "-s", "-B", "{address}", "-p", "{port}", "-y", "C", "-i", "1"]
    server += (["-u"] if o.udp else []) + (["-V"] if ":" in o.to else [])
    output, server_output = run_both(trial, server, lambda port: client(o, port), PORT)
    version = trial.here.run(["iperf", "-v"])[1].strip().removeprefix("iperf version ")
    receiver = output if o.reverse or not server_output.strip() else server_output
    return parse(receiver, o, version.partition(" ")[0])


class _Line(NamedTuple):
    """One line of `-y C`."""

    start: float
    end: float
    bytes: float
    lost: int = 0
    sent: int = 0
    reordered: int = 0


def _line(words: list[str]) -> _Line | None:
    if len(words) < 9 or words[5].strip() == "-1":
        return None
    low, _, high = words[6].partition("-")
    start, end, count = number(low), number(high), number(words[7])
    if start is None or end is None or count is None or end <= start or count < 0:
        return None
    lost, sent, _, reordered = (number(word) for word in (*words[10:14], "", "", "", "")[:4])
    if lost is None or sent is None or sent < 0:  # a line of the sender, which does not know
        return _Line(start, end, count)
    return _Line(start, end, count, int(lost), int(sent), int(reordered or 0))


def parse(output: str, o: Options, version: str = "") -> Measured:
    """`-y C` lines: …, id, start-end, bytes, bit/s and, for UDP, jitter, lost, sent, …, reordered.

    Each stream has a line per second and a last one for its whole time; the streams are added up.
    Lines of sums (id -1) are ignored. TrialError without a transfer.
    """
    streams: dict[tuple[str, ...], list[_Line]] = {}
    for words in (line.split(",") for line in output.splitlines()):
        line = _line(words)
        if line is not None:
            streams.setdefault((*words[1:5], words[5]), []).append(line)
    seconds: dict[tuple[float, float], float] = {}
    whole: dict[tuple[float, float], float] = {}
    lost = sent = reordered = 0
    for lines in streams.values():
        complete = lines[-1].start == 0  # else the output was cut off before its last line
        for row in lines[:-1] if complete else lines:
            seconds[row.start, row.end] = seconds.get((row.start, row.end), 0.0) + row.bytes
        for row in lines[-1:] if complete else ():
            whole[row.start, row.end] = whole.get((row.start, row.end), 0.0) + row.bytes
            lost, sent, reordered = lost + row.lost, sent + row.sent, reordered + row.reordered
    if not seconds and not whole:
        raise failed("iperf", output, "it reported no transfer")
    intervals = [Interval(a, b - a, 8 * n / (b - a)) for (a, b), n in sorted(seconds.items())]
    measured = steady(intervals, o.warmup)
    lasted = max((b - a for a, b in whole), default=sum(i.seconds for i in intervals))
    count = sum(whole.values()) or sum(seconds.values())
    rate = mean_rate(measured) if measured else 8 * count / lasted
    return Measured(
        version=version, bits_per_second=rate, intervals=measured, bytes=int(count), lasted=lasted,
        loss=Loss(sent, sent - lost, reordered) if o.udp and sent else None,
    )  # fmt: skip
