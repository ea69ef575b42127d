"""iperf3: TCP or UDP, parallel, reverse, both directions; figures of the receivers (JSON)."""

from collections.abc import Iterator, Mapping
from typing import Final

from ..messages import parsed
from ..result import Interval, Loss, Measured, Options, mean_rate, steady
from ..run import Trial, TrialError
from ._client_server import failed, run_both

TOOL: Final = "iperf3"
PACKAGE: Final = "iperf3"
HELP: Final = "TCP or UDP transfer with iperf3"
TAKES: Final = "streams reverse bidirectional udp rate length window mss congestion zero_copy"
PORT: Final = 5201

Object = Mapping[str, object]  # of JSON


def client(options: Options, port: int) -> list[str]:
    """The command line of the client."""
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
        # -A n/m takes one core per end; the helper program has set the affinity mask already
        cores = [str(cpus[0]) for cpus in (options.cpu_here, options.cpu_there) if len(cpus) == 1]
        argv += ["-A", "/".join(cores)] if len(cores) == 2 else []
    return argv


def measure(trial: Trial) -> Measured:
    """The server on the other host (if there is a peer), the client here."""
    options = trial.options
    server = ["iperf3", "-s", "-1", "-J", "-B", "{address}", "-p", "{port}"]
    near, far = run_both(trial, server, lambda port: client(options, port), PORT, one_shot=True)
    return parse(near, far, options)


def parse(near: str, far: str, options: Options) -> Measured:
    """The result in the JSON of both ends; `far` may be empty. TrialError without a transfer."""
    client_json = _document(near)
    server_json = _document(far) if far.strip() else {}
    ends = [_object(client_json, "end"), _object(server_json, "end")]
    received = [s for end in ends for s in _sums(end) if s.get("bytes") and _receives(s, end)]
    both = [*_received(client_json), *_received(server_json)]
    intervals = steady(_merge(both), options.warmup)
    rate = mean_rate(intervals)
    totals = _totals(ends[0])
    if rate is None and not totals:
        raise TrialError("iperf3 reported no transfer")
    return Measured(
        version=str(_object(client_json, "start").get("version", "")),
        bits_per_second=rate if rate is not None else totals.get("received_rate"),
        intervals=intervals,
        bytes=int(totals["received"]) if "received" in totals else None,
        lasted=totals.get("seconds"),
        sent_bits_per_second=totals.get("sent_rate"),
        retransmits=int(totals["retransmits"]) if "retransmits" in totals else None,
        loss=_loss(received, options),
        details={
            "receiver_intervals": bool(both),
            **{
                key: value
                for key, value in ends[0].items()
                if key in ("sender_tcp_congestion", "receiver_tcp_congestion")
            },
            **_sockets(ends[0]),
        },
    )


def _document(text: str) -> Object:
    """The JSON object in the output; TrialError without one, or with the error of iperf3."""
    try:
        document = parsed(text[text.index("{") : text.rindex("}") + 1])
    except ValueError:
        raise failed("iperf3", text) from None
    if not isinstance(document, dict):
        raise TrialError("iperf3: its output is not an object")
    if document.get("error"):
        raise TrialError(f"iperf3: {document['error']}")
    return document


def _object(entry: object, key: str) -> Object:
    """The object under this key; empty if there is none."""
    value = entry.get(key) if isinstance(entry, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _objects(entry: Object, key: str) -> list[Object]:
    """The objects of the list under this key."""
    values = entry.get(key)
    return [v for v in values if isinstance(v, Mapping)] if isinstance(values, list) else []


def _number(entry: object, key: str) -> float | None:
    value = entry.get(key) if isinstance(entry, Mapping) else None
    return float(value) if isinstance(value, int | float) else None


def _sums(entry: Object) -> Iterator[Object]:
    for key, value in entry.items():
        if key.startswith("sum") and isinstance(value, Mapping):
            yield value


def _receives(entry: Object, end: Object) -> bool:
    names = ("sum_received", "sum_received_bidir_reverse")
    return any(end.get(name) is entry for name in names)


def _received(document: Object) -> list[list[Interval]]:
    """The intervals that this end received, one list per direction."""
    directions: dict[str, list[Interval]] = {}
    for interval in _objects(document, "intervals"):
        for key, entry in interval.items():
            if not key.startswith("sum") or not isinstance(entry, Mapping):
                continue
            start, seconds = _number(entry, "start"), _number(entry, "seconds")
            rate = _number(entry, "bits_per_second")
            if entry.get("sender") is not False or start is None or rate is None or not seconds:
                continue
            if seconds >= 0.5:  # the last short interval of a run has no meaningful rate
                directions.setdefault(key, []).append(Interval(start, seconds, rate))
    return list(directions.values())


def _merge(directions: list[list[Interval]]) -> tuple[Interval, ...]:
    """The sums of both directions, second by second."""
    if not directions:
        return ()
    return tuple(
        Interval(each[0].start, each[0].seconds, sum(i.bits_per_second for i in each))
        for each in zip(*directions, strict=False)
    )


def _totals(end: Object) -> dict[str, float]:
    """Bytes, rates, retransmits and seconds of the whole run, over both directions."""
    totals: dict[str, float] = {}
    for suffix in ("", "_bidir_reverse"):
        sent, received = end.get(f"sum_sent{suffix}"), end.get(f"sum_received{suffix}")
        for entry, key, source in (
            (received, "received", "bytes"),
            (received, "received_rate", "bits_per_second"),
            (sent, "sent_rate", "bits_per_second"),
            (sent, "retransmits", "retransmits"),
        ):
            value = _number(entry, source)
            if value is not None:
                totals[key] = totals.get(key, 0.0) + value
        seconds = _number(received, "seconds")
        if seconds:
            totals["seconds"] = seconds
    return totals


def _loss(received: list[Object], options: Options) -> Loss | None:
    """Datagrams sent and lost, reported by the receivers; None for TCP."""
    if not options.udp:
        return None
    for entry in received:
        packets, lost = _number(entry, "packets"), _number(entry, "lost_packets")
        if packets and lost is not None:
            return Loss(int(packets), int(packets - lost))
    return None


def _sockets(end: Object) -> dict[str, float]:
    """Sockets of the sender: largest window, largest mean and smallest round trip in µs."""
    values: dict[str, float] = {}
    for stream in _objects(end, "streams"):
        sender = stream.get("sender")
        for key in ("max_snd_cwnd", "mean_rtt", "max_snd_wnd"):
            value = _number(sender, key)
            if value is not None:
                values[key] = max(values.get(key, 0.0), value)
        least = _number(sender, "min_rtt")
        if least is not None:
            values["min_rtt_us"] = min(values.get("min_rtt_us", least), least)
    return values
