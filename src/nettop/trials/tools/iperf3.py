"""iperf3: TCP or UDP, parallel, reverse, both ways; both ends' JSON, figures from the receivers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any, Final

from ..messages import parsed
from ..result import Interval, Loss, Measured, Options
from ..run import Trial, TrialError
from ._addresses import numeric

TOOL: Final = "iperf3"
PACKAGE: Final = "iperf3"
HELP: Final = "TCP or UDP transfer with iperf3"
PORT: Final = 5201


def client(options: Options, port: int) -> list[str]:
    """The command line of the near end."""
    seconds = options.seconds + options.warmup
    argv = ["iperf3", "-c", options.to, "-p", str(port), "-J", "-t", f"{max(1, round(seconds))}"]
    argv += ["-P", str(options.streams)] if options.streams > 1 else []
    argv += ["-R"] if options.reverse and not options.bidirectional else []
    argv += ["--bidir"] if options.bidirectional else []
    argv += ["-u"] if options.udp else []
    if options.rate is not None:
        argv += ["-b", f"{options.rate / options.streams:.0f}"]
    elif options.udp:
        argv += ["-b", "0"]
    for flag, value in (
        ("-l", options.length),
        ("-w", options.window),
        ("-M", options.mss),
        ("-C", options.congestion),
    ):
        argv += [flag, str(value)] if value is not None else []
    argv += ["-Z"] if options.zero_copy else []
    if options.cpu_here or options.cpu_there:
        # -A n/m takes one core each end; `keep` has set the whole mask already
        cores = [str(c[0]) for c in (options.cpu_here, options.cpu_there) if len(c) == 1]
        argv += ["-A", "/".join(cores)] if len(cores) == 2 else []
    return argv


def measure(trial: Trial) -> Measured:
    """Start the server there (when there is a peer), run the client here."""
    options = trial.options
    port = options.port or PORT
    with ExitStack() as stack:
        server = None
        if trial.there is not None:
            argv = ["iperf3", "-s", "-1", "-J", "-B", "{address}", "-p", "{port}"]
            far = {
                "at": numeric(options.to),
                "port": port,
                "wait": True,
                "cpus": list(options.cpu_there),
            }
            server = stack.enter_context(trial.start(trial.there, argv, **far))
            port = int(server.wait_for("port"))
        near = {"cpus": list(options.cpu_here)}
        running = stack.enter_context(trial.start(trial.here, client(options, port), **near))
        _, said, complaint = trial.output(running, trial.length + 20)
        theirs = trial.output(server, 10)[1] if server is not None else ""
    return parse(said or complaint, theirs, options)


def parse(near: str, far: str, options: Options) -> Measured:
    """The measurement in both ends' JSON (`far` may be empty); TrialError when there is none."""
    mine = _document(near)
    theirs = _document(far) if far.strip() else {}
    ends = [mine.get("end", {}), theirs.get("end", {})]
    received = [s for end in ends for s in _sums(end) if s.get("bytes") and _receives(s, end)]
    both = [*_received(mine), *_received(theirs)]
    intervals = _merge(both)
    steady = tuple(i for i in intervals if i.start >= options.warmup - 0.1) or intervals
    seconds = sum(i.seconds for i in steady)
    rate = sum(i.bits_per_second * i.seconds for i in steady) / seconds if seconds else None
    totals = _totals(mine.get("end", {}))
    if rate is None and not totals:
        raise TrialError("iperf3 reported no transfer")
    return Measured(
        version=str(mine.get("start", {}).get("version", "")),
        bits_per_second=rate if rate is not None else totals.get("received_rate"),
        intervals=steady,
        bytes=int(totals["received"]) if "received" in totals else None,
        lasted=totals.get("seconds"),
        sent_bits_per_second=totals.get("sent_rate"),
        retransmits=int(totals["retransmits"]) if "retransmits" in totals else None,
        loss=_loss(received, options),
        details={
            "receiver_intervals": bool(both),
            **{
                key: value
                for key, value in mine.get("end", {}).items()
                if key in ("sender_tcp_congestion", "receiver_tcp_congestion")
            },
            **_sockets(mine),
        },
    )


def _document(text: str) -> dict[str, Any]:
    """The JSON object; iperf3's own error as one sentence."""
    try:
        found = parsed(text[text.index("{") : text.rindex("}") + 1])
    except ValueError:
        last = text.strip().splitlines()[-1:] or ["no output"]
        raise TrialError(f"iperf3: {last[0]}") from None
    if not isinstance(found, dict):
        raise TrialError("iperf3: its output is not an object")
    if found.get("error"):
        raise TrialError(f"iperf3: {found['error']}")
    for key in ("start", "end"):
        if not isinstance(found.get(key), dict):
            found[key] = {}
    return found


def _number(entry: Any, key: str) -> float | None:
    value = entry.get(key) if isinstance(entry, Mapping) else None
    return float(value) if isinstance(value, int | float) else None


def _sums(entry: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(entry, Mapping):
        for key, value in entry.items():
            if str(key).startswith("sum") and isinstance(value, Mapping):
                yield value


def _receives(entry: Mapping[str, Any], end: Mapping[str, Any]) -> bool:
    names = ("sum_received", "sum_received_bidir_reverse")
    return any(end.get(name) is entry for name in names)


def _received(document: Mapping[str, Any]) -> list[list[Interval]]:
    """The intervals that this end received: one list for each direction it received in."""
    found: dict[str, list[Interval]] = {}
    intervals = document.get("intervals")
    for interval in intervals if isinstance(intervals, list) else []:
        if not isinstance(interval, Mapping):
            continue
        for key, entry in interval.items():
            if not str(key).startswith("sum") or not isinstance(entry, Mapping):
                continue
            start, seconds = _number(entry, "start"), _number(entry, "seconds")
            rate = _number(entry, "bits_per_second")
            if entry.get("sender") is not False or start is None or rate is None or not seconds:
                continue
            if seconds >= 0.5:  # the last sliver of a run says nothing
                found.setdefault(str(key), []).append(Interval(start, seconds, rate))
    return list(found.values())


def _merge(directions: list[list[Interval]]) -> tuple[Interval, ...]:
    """Both directions' intervals added up, second by second."""
    if not directions:
        return ()
    return tuple(
        Interval(each[0].start, each[0].seconds, sum(i.bits_per_second for i in each))
        for each in zip(*directions, strict=False)
    )


def _totals(end: Mapping[str, Any]) -> dict[str, float]:
    """Bytes received and sent in all, over both directions."""
    found: dict[str, float] = {}
    for suffix in ("", "_bidir_reverse"):
        sent, got = end.get(f"sum_sent{suffix}"), end.get(f"sum_received{suffix}")
        for entry, key, source in (
            (got, "received", "bytes"),
            (got, "received_rate", "bits_per_second"),
            (sent, "sent_rate", "bits_per_second"),
            (sent, "retransmits", "retransmits"),
        ):
            value = _number(entry, source)
            if value is not None:
                found[key] = found.get(key, 0.0) + value
        seconds = _number(got, "seconds")
        if seconds:
            found["seconds"] = seconds
    return found


def _loss(received: list[Mapping[str, Any]], options: Options) -> Loss | None:
    """Datagrams sent and lost, from the receivers; None for TCP."""
    if not options.udp:
        return None
    for entry in received:
        packets, lost = _number(entry, "packets"), _number(entry, "lost_packets")
        if packets and lost is not None:
            return Loss(int(packets), int(packets - lost))
    return None


def _sockets(document: Mapping[str, Any]) -> dict[str, float]:
    """What the sender's sockets reached: largest window and mean round trip (iperf3's own)."""
    found: dict[str, float] = {}
    streams = document.get("end", {}).get("streams")
    for stream in streams if isinstance(streams, list) else []:
        sender = stream.get("sender") if isinstance(stream, Mapping) else None
        for key in ("max_snd_cwnd", "mean_rtt", "max_snd_wnd"):
            value = _number(sender, key)
            if value is not None:
                found[key] = max(found.get(key, 0.0), value)
        least = _number(sender, "min_rtt")
        if least is not None:
            found["min_rtt_us"] = min(found.get("min_rtt_us", least), least)
    return found
