"""iperf (version 2): TCP or UDP; the server's figures, since its client counts unsent bytes."""

from __future__ import annotations

from typing import Final, NamedTuple

from ..result import Interval, Loss, Measured, Options
from ..run import Trial, TrialError
from ._client_server import numbers, refuse, run_both

TOOL: Final = "iperf"
PACKAGE: Final = "iperf"
HELP: Final = "TCP or UDP transfer with iperf version 2"
PORT: Final = 5001


def client(o: Options, port: int) -> list[str]:
    """The near end's command line."""
    argv = ["iperf", "-c", o.to, "-p", str(port), "-y", "C"]
    argv += ["-t", f"{max(1, round(o.seconds + o.warmup))}"]
    argv += ["-V"] if ":" in o.to else []
    argv += ["-P", str(o.streams)] if o.streams > 1 else []
    argv += ["-R", "-i", "1"] if o.reverse else []  # the receiver tells its seconds
    argv += ["-u"] if o.udp else []
    for flag, value in (("-l", o.length), ("-w", o.window), ("-M", o.mss), ("-Z", o.congestion)):
        argv += [flag, str(value)] if value is not None else []
    argv += ["-b", f"{o.rate / o.streams:.0f}"] if o.rate is not None else []
    return argv


def measure(trial: Trial) -> Measured:
    """The server there with a line each second, the client here."""
    refuse(trial, TOOL, "bidirectional", "zero_copy")
    o = trial.options
    server = ["iperf", "-s", "-B", "{address}", "-p", "{port}", "-y", "C", "-i", "1"]
    server += (["-u"] if o.udp else []) + (["-V"] if ":" in o.to else [])
    said, theirs = run_both(trial, server, lambda port: client(o, port), PORT)
    version = trial.here.run(["iperf", "-v"])[1].strip().removeprefix("iperf version ")
    told = said if o.reverse or not theirs.strip() else theirs
    return parse(told, o, version.partition(" ")[0])


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
    start, end, count = numbers(low), numbers(high), numbers(words[7])
    if start is None or end is None or count is None or end <= start or count < 0:
        return None
    lost, sent, _, again = (numbers(word) for word in (*words[10:14], "", "", "", "")[:4])
    if lost is None or sent is None or sent < 0:  # a sender's own line: it does not know
        return _Line(start, end, count)
    return _Line(start, end, count, int(lost), int(sent), int(again or 0))


def parse(said: str, o: Options, version: str = "") -> Measured:
    """`-y C` lines: …, id, start-end, bytes, bit/s and, for UDP, jitter, lost, sent, …, reordered.

    Each stream has a line a second and ends with one for the whole; the streams are added up.
    Lines of sums (id -1) are not needed.
    """
    streams: dict[tuple[str, ...], list[_Line]] = {}
    for words in (line.split(",") for line in said.splitlines()):
        line = _line(words)
        if line is not None:
            streams.setdefault((*words[1:5], words[5]), []).append(line)
    seconds: dict[tuple[float, float], float] = {}
    whole: dict[tuple[float, float], float] = {}
    lost = sent = reordered = 0
    for lines in streams.values():
        complete = lines[-1].start == 0  # else it was cut off before its last line
        for one in lines[:-1] if complete else lines:
            seconds[one.start, one.end] = seconds.get((one.start, one.end), 0.0) + one.bytes
        for one in lines[-1:] if complete else ():
            whole[one.start, one.end] = whole.get((one.start, one.end), 0.0) + one.bytes
            lost, sent, reordered = lost + one.lost, sent + one.sent, reordered + one.reordered
    if not seconds and not whole:
        last = said.strip().splitlines()[-1:] or ["it reported no transfer"]
        raise TrialError(f"iperf: {last[0]}")
    intervals = [Interval(a, b - a, 8 * n / (b - a)) for (a, b), n in sorted(seconds.items())]
    steady = tuple(i for i in intervals if i.start >= o.warmup - 0.1) or tuple(intervals)
    lasted = max((b - a for a, b in whole), default=sum(i.seconds for i in intervals))
    count = sum(whole.values()) or sum(seconds.values())
    rate = (
        sum(i.bits_per_second * i.seconds for i in steady) / sum(i.seconds for i in steady)
        if steady
        else 8 * count / lasted
    )
    return Measured(
        version=version, bits_per_second=rate, intervals=steady, bytes=int(count), lasted=lasted,
        loss=Loss(sent, sent - lost, reordered) if o.udp and sent else None,
    )  # fmt: skip
