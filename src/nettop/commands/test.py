"""Run one network test tool between this host and another.

  nettop test iperf3 --to 10.0.0.2 --peer "ssh host2"
  nettop test bulk --to 10.1.0.2 --peer "ip netns exec b" --streams 4 --seconds 10

nettop starts and stops the process on the other host, samples both hosts during the test, and
checks the result for plausibility. No process remains on the other host, even after an error.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from ..terms.errors import Refused, nearest
from . import duration_argument, emit, enter_netns_of, interface_argument, netns_argument, pause
from ._argument import amount, host, prefix, whole, word
from ._report import format_argument, format_of, print_report

if TYPE_CHECKING:
    from ..trials.result import Options, Progress, TrialResult

GROUP = "prove"
HELP = "run a network test to another host"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("tool", metavar="TOOL", help="test tool; `list` prints all")
    trial_arguments(parser, need=False)
    parser.add_argument("--no-keep", action="store_true", help="do not store the result")
    format_argument(parser)
    netns_argument(parser)


def trial_arguments(parser: argparse.ArgumentParser, *, need: bool = True) -> None:
    """The options of a trial, shared by test, prove, sweep, tune and study."""
    parser.add_argument(
        "--to", required=need, type=host, metavar="ADDRESS", help="address of the other host"
    )
    _rows(
        parser,
        ("--peer", prefix, "PREFIX",
         "command prefix that runs a command on the other host: 'ssh host'; 'env': this host"),
        ("--no-ends", None, "",
         "do not read both hosts during the load, to learn which end limits"),
    )  # fmt: skip
    duration_argument(parser, "--seconds", "length of a measurement (10)", 10.0)
    duration_argument(
        parser, "--warmup", "warm-up before it, not measured; 0: none (1)", 1.0, parse=pause
    )
    _rows(parser, ("--streams", whole(1), "", "number of parallel connections (1)", 1))
    parser.add_argument(
        "--reverse", action=argparse.BooleanOptionalAction,
        help="the other host sends (default: where a setting of the receive side is tested)",
    )  # fmt: skip
    _rows(
        parser,
        ("--bidirectional", None, "", "both hosts send"),
        ("--udp", None, "", "use UDP"),
        ("--rate", rate, "BITS", "offered rate in bit/s, such as 940M"),
        ("--length", size, "BYTES", "size of a write, or payload of a datagram"),
        ("--window", size, "BYTES", "socket buffer; capture: ring size (default: autotuned)"),
        ("--mss", whole(1), "", "TCP maximum segment size"),
        ("--congestion", word, "NAME", "TCP congestion control algorithm"),
        ("--zero-copy", None, "", "send with zero copy: bulk by MSG_ZEROCOPY, iperf3 by sendfile"),
        ("--busy-poll", whole(1, 1_000_000), "US",
         "bulk, udp-latency: poll the NIC for so many µs before sleeping (SO_BUSY_POLL)"),
        ("--segments", whole(1, 64), "N",
         "udp-sweep, rfc2544: N datagrams a call, cut by the kernel (UDP_SEGMENT)", 1),
        ("--cpu-here", cpus, "LIST", "run the tool on these cores of this host", ()),
        ("--cpu-there", cpus, "LIST", "run the tool on these cores of the other host", ()),
        ("--port", whole(1, 65535), "", "port of the other host (default: a free one)"),
    )  # fmt: skip
    interface_argument(parser, "interface of capture, pktgen, trafgen")
    _rows(
        parser,
        ("--sizes", sizes, "LIST", "payload sizes in bytes, such as 64,1472", ()),
        ("--spacings", floats, "LIST", "gaps between packets in µs", ()),
        ("--count", whole(1), "", "number of packets or exchanges"),
        ("--neighbour", whole(0), "CPU",
         "run a memory-intensive load on this core during the test"),
        ("--file", word, "PATH", "bulk: also from this file of the sender"),
        ("--into", word, "DIR", "bulk: also into a file in this folder of the receiver"),
        ("--pid", whole(1), "", "capture: measure the losses of this running process"),
    )  # fmt: skip


def _rows(parser: argparse.ArgumentParser, *rows: tuple[Any, ...]) -> None:
    """Options by name, type (None: a switch), placeholder (empty: argparse's), help and default."""
    for name, kind, metavar, text, *default in rows:
        if kind is None:
            parser.add_argument(name, action="store_true", help=text)
        else:
            parser.add_argument(
                name,
                type=kind,
                metavar=metavar or None,
                help=text,
                default=next(iter(default), None),
            )


def rate(text: str) -> float:
    """A rate such as 940M or 10G, in bit/s; for argparse."""
    return _positive(text, 1000.0)


def size(text: str) -> int:
    """A size such as 64K, in bytes; for argparse."""
    return int(_positive(text, 1024.0))


def _positive(text: str, step: float) -> float:
    value = amount(text, step)
    if not 0 < value < 1e15:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number such as 64K, 940M or 10G")
    return value


def cpus(text: str) -> tuple[int, ...]:
    """A CPU list such as 0-2,5; for argparse."""
    from ..terms import cpulist

    try:
        numbers = cpulist.parse(text)
    except ValueError:
        numbers = ()
    if not numbers:
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is not a CPU list such as 0-2,5")
    return numbers


def sizes(text: str) -> tuple[int, ...]:
    """Whole numbers separated by commas; for argparse."""
    return tuple(int(value) for value in floats(text))


def floats(text: str) -> tuple[float, ...]:
    """Numbers separated by commas; for argparse."""
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list such as 64,1472") from None
    if any(number < 0 for number in numbers):
        raise argparse.ArgumentTypeError(f"{text!r} contains a negative number")
    return numbers


def options_of(args: argparse.Namespace) -> Options:
    """The options of the trial; Refused for an invalid combination."""
    from dataclasses import fields

    from ..trials.result import Options

    if not args.to:
        raise Refused("--to ADDRESS is required", 2)
    # `host` is for proofs that the screen starts
    return Options(**{f.name: getattr(args, f.name) for f in fields(Options) if f.name != "host"})


def stopper() -> threading.Event:
    """An event that SIGINT, SIGTERM and SIGHUP set; the test then reverts its changes and ends."""
    event = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        event.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    return event


def show_progress(progress: Progress) -> None:
    """Print one progress line per second, rewritten in place on a terminal."""
    from ..terms import units

    if not sys.stderr.isatty():
        return
    speed = units.scaled(progress.bits_per_second, "b/s")
    left = max(0.0, progress.of - progress.second)
    least = "at least " if progress.what == "experiment" else ""
    print(
        f"\r\033[K{progress.what} {progress.note} {speed}  {least}{left:.0f} s left",
        end="", file=sys.stderr, flush=True,
    )  # fmt: skip


def clear_progress() -> None:
    """Erase the progress line of a terminal."""
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


@contextmanager
def trial_errors() -> Iterator[None]:
    """Errors of a trial become Refused; the progress line is erased at the end."""
    from ..trials.end import Cancelled, PeerError
    from ..trials.run import TrialError

    try:
        yield
    except (PeerError, TrialError, ValueError) as error:
        raise Refused(str(error), 3) from None
    except Cancelled:
        raise Refused("cancelled; all processes of the test have ended", 4) from None
    finally:
        clear_progress()


def run(args: argparse.Namespace) -> int:
    """Run the test and print the result. Exit code 3: the result is impossible."""
    from .. import trials
    from ..trials import run as runner

    form = format_of(args)
    if args.tool == "list":
        if form not in ("text", "json"):
            raise Refused("test list is text or JSON; a test has reports", 2)
        return _list(as_json=form == "json")
    if args.tool.replace("_", "-") not in trials.names():
        raise Refused(f"no test tool {args.tool!r}{nearest(args.tool, trials.names())}", 2)
    enter_netns_of(args)
    with trial_errors():
        result = runner.run(args.tool, options_of(args), show_progress, stopper())
    if not args.no_keep:
        from ..trials import results

        results.keep("test", result.document())
    print_report("test", result.document(), form, lambda _: text(result))
    return 3 if any(not check.ok and check.name == "possible" for check in result.checks) else 0


def _list(*, as_json: bool) -> int:
    from .. import trials

    modules = [trials.tool(name) for name in trials.names()]
    if as_json:
        emit({"tools": [{"tool": m.TOOL, "package": m.PACKAGE, "help": m.HELP} for m in modules]})
        return 0
    for module in modules:
        needs = f"(package {module.PACKAGE})" if module.PACKAGE else "(built in)"
        print(f"{module.TOOL:<12} {module.HELP} {needs}")
    return 0


def text(result: TrialResult) -> str:
    """The result as text."""
    from ..terms import units
    from ..trials import ends

    m, o = result.measured, result.options
    streams, verb = f"{o.streams} stream{'s' if o.streams > 1 else ''}, {o.direction}", "received"
    if "connections" in m.details:  # an existing connection, only observed
        streams, verb = f"{m.details['connections']} connections watched", "moved   "
    lines = [f"{result.tool} {m.version}".rstrip() + f" to {o.to}, {streams}"]
    if m.bits_per_second is not None:
        lines.append(
            f"  {verb}     {units.scaled(m.bits_per_second, 'b/s')}"
            f" over {sum(i.seconds for i in m.intervals) or o.seconds:.0f} s"
        )
    if len(m.intervals) > 1:
        every = " ".join(units.scaled(i.bits_per_second, "").strip() for i in m.intervals)
        lines.append(f"  each second  {every} (bit/s)")
    if m.retransmits is not None:
        lines.append(f"  retransmits  {m.retransmits:,}")
    if m.loss is not None:
        lines.append(
            f"  loss         {m.loss.percent:.3f} % of {m.loss.sent:,}"
            + (f", {m.loss.reordered:,} out of order" if m.loss.reordered is not None else "")
        )
    if m.latency is not None:
        t = m.latency
        lines.append(
            f"  latency      min {t.min:.1f}  median {t.p50:.1f}  p99 {t.p99:.1f}  "
            f"p99.9 {t.p999:.1f}  max {t.max:.1f} µs, width {t.fwhm:.1f} µs, {t.count:,} exchanges"
        )
        lines += [f"               {row}" for row in distribution(t.histogram, 50, 3)]
    for name, side in (("here", result.here), ("there", result.there)):
        busy = [
            "{:.0f}:{:.0f}%".format(c["cpu"], 100 - c["idle"] - c["iowait"]) for c in side.cores
        ]
        if busy:
            lines.append(f"  cores {name:<6} " + " ".join(busy))
    if result.ends is not None:
        lines.append(f"  both ends    {ends.line(result.ends)}")
    lines += [f"  {key}: {_brief(value)}" for key, value in m.details.items()]
    lines += [f"  {'✓' if c.ok else '✗'} {c.name}: {c.because}" for c in result.checks]
    return "\n".join(lines) + "\n"


def _brief(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, list | tuple) and value and isinstance(value[0], dict):
        return "".join(f"\n    {_row(row)}" for row in value)
    if isinstance(value, list | tuple):
        return ", ".join(_brief(item) for item in value)
    return str(value)


def _row(row: Mapping[str, object]) -> str:
    """One point of a sweep; the gaps between its datagrams as a plot, not as numbers."""
    gaps = row.get("gaps")
    words = [f"{key}={_brief(value)}" for key, value in row.items() if key != "gaps"]
    if isinstance(gaps, list | tuple) and gaps:
        words.append(f"gaps={distribution(gaps, 30)[0]}")
    return "  ".join(words)


def distribution(pairs: Sequence[tuple[float, int]], width: int, rows: int = 1) -> list[str]:
    """The lines of a plot of (µs, count) pairs, and its range at the end of the last line."""
    from ..terms import units
    from ..terms.braille import histogram

    lines = list(histogram(pairs, width, rows))
    if lines:
        ends = [units.seconds(value / 1e6) for value in (pairs[0][0], pairs[-1][0])]
        most = max(count for _, count in pairs)
        lines[-1] += f" {ends[0]} to {ends[1]}, at most {most:,}"
    return lines
