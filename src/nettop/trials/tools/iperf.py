"""iperf (version 2): TCP or UDP; the server's figures, since its client counts unsent bytes."""

from __future__ import annotations

from typing import Final

from ..result import Interval, Loss, Measured, Options
from ..run import Trial, TrialError
from ._pair import numbers, refuse, talk

TOOL: Final = "iperf"
PACKAGE: Final = "iperf"
BUILT_IN: Final = False
HELP: Final = "TCP or UDP transfer with iperf version 2"
PORT: Final = 5001


def client(o: Options, port: int) -> list[str]:
    """The near end's command line."""
    argv = ["iperf", "-c", o.to, "-p", str(port), "-y", "C"]
    argv += ["-t", f"{max(1, round(o.seconds + o.warmup))}"]
    argv += ["-V"] if ":" in o.to else []
    argv += ["-P", str(o.streams)] if o.streams > 1 else []
    argv += ["-R"] if o.reverse else []
    argv += ["-u"] if o.udp else []
    for flag, value in (("-l", o.length), ("-w", o.window), ("-M", o.mss), ("-Z", o.congestion)):
        argv += [flag, str(value)] if value is not None else []
    argv += ["-b", f"{o.rate / o.streams:.0f}"] if o.rate is not None else []
    return argv


def measure(trial: Trial) -> Measured:
    """The server there with a line each second, the client here."""
    refuse(trial, TOOL, "bidirectional", "zero_copy")
    o = trial.options
    server = ["iperf", "-s", "-p", "{port}", "-y", "C", "-i", "1"]
    server += (["-u"] if o.udp else []) + (["-V"] if ":" in o.to else [])
    said, theirs = talk(trial, server, lambda port: client(o, port), PORT)
    version = trial.here.run(["iperf", "-v"])[1].strip().splitlines()[:1] or [""]
    return parse(said if o.reverse or not theirs.strip() else theirs, o, version[0])


def parse(said: str, o: Options, version: str = "") -> Measured:
    """`-y C` lines: …, id, start-end, bytes, bit/s and, for UDP, jitter, lost, sent, …, reordered.

    Lines of single streams are added up second by second; lines of sums (id -1) are not needed.
    """
    seconds: dict[tuple[float, float], float] = {}
    whole: dict[tuple[float, float], float] = {}
    lost = sent = reordered = 0
    for line in said.splitlines():
        words = line.split(",")
        if len(words) < 9 or words[5].strip() == "-1":
            continue
        low, _, high = words[6].partition("-")
        start, end, count = numbers(low), numbers(high), numbers(words[7])
        if start is None or end is None or count is None or end <= start or count < 0:
            continue
        place = whole if end - start > 1.5 else seconds
        place[start, end] = place.get((start, end), 0.0) + count
        values = [numbers(word) for word in words[9:14]]
        if place is whole and len(values) >= 3 and values[1] is not None and values[2] is not None:
            lost += int(values[1])
            sent += int(values[2])
            reordered += int(values[4] or 0) if len(values) > 4 else 0
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
