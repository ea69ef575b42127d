"""Say what each busy core, or each thread of a process, spends its time on.

nettop profile                      every busy core
nettop profile 3                    core 3
nettop profile 4711                 process 4711 (a number of no core), by thread
nettop profile --format folded      the stacks, one a line, for a flame graph

The cores are sampled 99 times a second (with more than 64 CPUs less often), by the cycle counter of
the CPU or, where a virtual machine has none, by the clock, which cannot fire while interrupts are
off: their time then counts where they are allowed again. Each sample belongs to the class of the
innermost function of the kernel that is known (copy, checksum, netfilter and others). A program is
shown by its mapped file; nothing is unwound there. Shares are of the time in which the core was
busy. It needs root (or CAP_PERFMON) and loads nothing into the kernel. `nettop why` and `nettop
advise` say the same below a core or thread that limits.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from ..host.source import Source
from ..terms.dataclass import picked
from ..terms.errors import Refused
from ..terms.units import many
from . import duration_argument, emit, json_argument, open_source, print_lines, source_arguments

if TYPE_CHECKING:
    from ..collect.profiles import Samples, Stack
    from ..facts import work

GROUP = "look"
HELP = "say what each busy core or thread spends its time on"
STEP: Final = 1.0  # seconds between readings: a ring has room for four
FUNCTIONS: Final = 6  # shown of each core or thread
THREADS: Final = 4


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "number", nargs="?", type=_number, metavar="CORE|PID", help="a CPU, else a process number"
    )
    duration_argument(parser, "--seconds", "how long to sample, at most 10 s (5)", 5.0)
    json_argument(parser)
    parser.add_argument(
        "--format", choices=("folded",), help="print the stacks for a flame graph, one a line"
    )
    source_arguments(parser)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a CPU nor a process number")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Print the work of cores. Exit code 2: unknown target; 3: nothing can be sampled."""
    from ..host.bpf.profile import SPAN

    if args.json and args.format:
        raise Refused("--json and --format are two formats: choose one", 2)
    if args.seconds > SPAN:
        raise Refused(f"--seconds: samples are kept for {SPAN:g} s, so it is at most that", 2)
    source = open_source(args)
    known, cost = sample(source, args.seconds)
    stacks = chosen(known.stacks, args.number)
    if args.format:
        print_lines(*folded(stacks))
    elif args.json:
        emit(document(source, known._replace(stacks=stacks), cost, args.number))
    else:
        print_lines(*text(source, known._replace(stacks=stacks), cost, args.number))
    return 0


class Cost(NamedTuple):
    """CPU time that the samples needed."""

    begin: float  # seconds: to open the events and to read the names of functions
    share: float  # of a core afterwards


def sample(source: Source, seconds: float) -> tuple[Samples, Cost | None]:
    """The samples of that time, and what they cost.

    Of a recording the last ones, which cost nothing. Refused (3) if there are none.
    """
    from ..collect import profiles
    from ..sampling.sampler import SAMPLES, paced

    spent: list[float] = []

    def read() -> str:
        begun = time.thread_time()
        answer = source.counted(profiles.TABLE.counted)
        spent.append(time.thread_time() - begun)
        return answer

    try:
        answer = read()
        for _ in paced(source, seconds, min(STEP, seconds / SAMPLES)):
            answer = read()
        known = profiles.samples(answer)
    except (OSError, ValueError) as error:
        raise Refused(f"the cores cannot be sampled: {_why(error)}", 3) from None
    finally:
        source.end_counting(profiles.TABLE.counted)
    if not known.stacks:
        raise Refused("no sample was taken: sample for longer (--seconds)", 3)
    first, *others = spent
    return known, Cost(first, sum(others) / seconds) if source.live else None


def _why(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)


def chosen(stacks: Mapping[Stack, int], target: int | None) -> dict[Stack, int]:
    """Those of a core, or of a process or thread that no core has the number of."""
    if target is None:
        return {**stacks}
    cores = {one.core for one in stacks}
    found = {
        one: count for one, count in stacks.items()
        if (one.core == target if target in cores else target in (one.pid, one.thread))
    }  # fmt: skip
    if not found:
        raise Refused(f"no sample of a core {target}, nor of a process {target}", 2)
    return found


def folded(stacks: Mapping[Stack, int]) -> Iterator[str]:
    """`iperf3;entry_SYSCALL_64;…;tcp_sendmsg 12` for each stack, without idle time."""
    from ..collect.profiles import IDLE

    sums = Counter[str]()
    for one, count in stacks.items():
        if one.work[0] != IDLE:
            name = one.name.replace(";", "_")
            sums[";".join([name, *(one.functions or (one.file,))])] += count
    return (f"{name} {count}" for name, count in sorted(sums.items()))


def text(source: Source, known: Samples, cost: Cost | None, target: int | None) -> Iterator[str]:
    """The report."""
    from ..collect import profiles
    from ..facts import work

    yield f"{source.host} · {known.seconds:.0f} s · {_event(known)}"
    every = work.groups(profiles.rows(known.stacks), target)
    quiet = [one for one in every if target is None and one.busy < work.LEAST]
    for one in every:
        if one not in quiet:
            yield from _group(one, known)
    if quiet:
        numbers = ", ".join(str(one.number) for one in quiet)
        yield from ("", f"{many(len(quiet), 'cores')} had little to do: {numbers}")
    yield ""
    yield _taken(known, cost)


def _event(known: Samples) -> str:
    from ..host.bpf.profile import CLOCK

    if known.event == CLOCK:
        return f"sampled by the clock at {known.rate} Hz, which cannot fire with interrupts off"
    return f"sampled by the cycle counter at {known.rate} Hz"


def _taken(known: Samples, cost: Cost | None) -> str:
    parts = [many(sum(known.stacks.values()), "samples")]
    if known.lost:
        parts.append(f"{known.lost:,} lost")
    if known.omitted:
        parts.append(f"{known.omitted:,} of rare stacks left out")
    if known.why:
        parts.append(known.why)
    if cost is not None:
        parts.append(
            f"taking them needed {cost.begin:.2f} s of CPU time to begin, "
            f"then {100 * cost.share:.1f} % of a core"
        )
    return "; ".join(parts)


def _group(one: work.Group, known: Samples) -> Iterator[str]:
    """A line of classes, the functions beneath, the threads, and what relieves."""
    from textwrap import wrap

    from ..collect.profiles import words
    from ..facts.work import FOREMOST, sentence, shares
    from ..host.bpf.profile import CLOCK

    busy = f"{100 * one.busy / one.samples:.0f} % busy" if known.event == CLOCK else ""
    ran = f"ran {100 * one.samples / (known.rate * known.seconds):.0f} %"
    about = busy if one.threads and one.name.startswith("core") else ran
    yield ""
    yield f"{one.name}{f', {about}' if about else ''}"
    if not one.busy:
        return
    classes = shares(one.classes)
    first = classes[0]
    ((_, top), _) = next(pair for pair in one.functions.most_common() if pair[0][0] == first.name)
    yield f"  {sentence(classes, top)}"
    least = one.busy / 100
    for (work, function), count in one.functions.most_common(FUNCTIONS):
        if count >= least:
            yield f"    {100 * count / one.busy:3.0f} %  {function}  ({work})"
    if one.name.startswith("core"):
        most = [(name, n) for name, n in one.threads.most_common(THREADS) if n >= least]
        yield "  by " + ", ".join(f"{name} {100 * n / one.busy:.0f} %" for name, n in most)
    told = words(first.name)
    if first.percent >= FOREMOST and told.advice:
        yield from wrap(f"{told.means}. {told.advice}", 78, initial_indent="  → ",
                        subsequent_indent="    ")  # fmt: skip


def document(
    source: Source, known: Samples, cost: Cost | None, target: int | None
) -> dict[str, object]:
    """The --json document."""
    from ..collect import profiles
    from ..facts import work

    return {
        "host": source.host,
        **picked(known, "seconds event rate"),
        "samples": sum(known.stacks.values()),
        **picked(known, "lost omitted"),
        "cost": None if cost is None else cost._asdict(),
        "targets": [_target(one) for one in work.groups(profiles.rows(known.stacks), target)],
    }


def _target(one: work.Group) -> dict[str, object]:
    from ..collect.profiles import words

    return {
        **picked(one, "name samples busy"),
        "classes": [
            {
                "class": work,
                "samples": count,
                "share": count / one.busy,
                "means": words(work).means or None,
                "advice": words(work).advice or None,
                "functions": [
                    {"function": function, "samples": n}
                    for (of, function), n in one.functions.most_common()
                    if of == work
                ],
            }
            for work, count in one.classes.most_common()
        ],
        "threads": [{"name": name, "samples": n} for name, n in one.threads.most_common()],
    }
