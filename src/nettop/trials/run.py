"""One trial: run a tool, sample both hosts, check the result.

Any thread can cancel it by setting the event. All processes of the trial have ended before
`Cancelled` is raised.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from math import isfinite
from typing import Any, Final

from . import checks, peer, tool
from .leftovers import ended
from .peer import Cancelled, End, Peer, PeerError
from .result import Measured, Options, Progress, TrialResult
from .samples import Samples, settings_in_force

Watch = Callable[[Progress], None]

OUTPUT: Final = (
    256 << 20
)  # characters that a tool may print: iperf3's JSON of 100 streams for hours


class TrialError(Exception):
    """The trial failed, or its output is invalid; one sentence."""


@dataclass
class Trial:
    """A running trial: what tools get to work with."""

    options: Options
    here: Peer
    there: Peer | None
    watch: Watch
    cancel: threading.Event
    samples: Samples = field(default_factory=Samples)
    begun: float | None = None  # when traffic began, monotonic

    @property
    def length(self) -> float:
        """Seconds of traffic: the warm-up and the measured time."""
        return self.options.seconds + self.options.warmup

    def far(self) -> Peer:
        """The other end, which a built-in tool cannot do without."""
        if self.there is None:
            raise TrialError("this tool starts both ends: --peer is required")
        return self.there

    def start(self, where: Peer, argv: list[str], **options: Any) -> End:
        """Start a program at an end; it ends with nettop."""
        return where.start("program", {"argv": argv, **options})

    def follow(self, end: End, seconds: float) -> Iterator[dict[str, Any]]:
        """Messages of an end until it ends, telling progress; TrialError after `seconds`."""
        if self.begun is None:
            self.begun = time.monotonic()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.pump()
            try:
                message = end.hear(0.1)
            except TimeoutError:
                continue
            if message is None:
                return
            yield message
        raise TrialError(f"the trial did not end within {seconds:.0f} s")

    def pump(self) -> None:
        """Take what the sampler here says, tell the watcher; raise when cancelled."""
        if self.cancel.is_set():
            raise Cancelled
        for progress in self.samples.progress(self.options, self.begun, self.length):
            self.watch(progress)

    def output(self, end: End, seconds: float) -> tuple[int, str, str]:
        """A kept program's exit code, standard output and standard error, once it has ended."""
        out: list[str] = []
        err: list[str] = []
        size = 0
        for message in self.follow(end, seconds):
            size += sum(len(message[key]) for key in ("out", "err") if key in message)
            if size > OUTPUT:
                raise PeerError(f"a tool {end.where} printed more than {OUTPUT >> 20} MiB")
            if "out" in message:
                out.append(str(message["out"]))
            elif "err" in message:
                err.append(str(message["err"]))
            elif "exit" in message:
                return int(message["exit"]), "\n".join(out), "\n".join(err)
        raise PeerError(f"the helper {end.where} ended early")


def nobody(_progress: Progress) -> None:
    """A watcher that does not look."""


def run(
    name: str,
    options: Options,
    watch: Watch = nobody,
    cancel: threading.Event | None = None,
    settings: Mapping[str, str] | None = None,
) -> TrialResult:
    """Run the tool once. PeerError, TrialError, ValueError: one sentence why not; Cancelled."""
    module = tool(name)
    cancel = cancel or threading.Event()
    far = None if options.peer is None else replace(peer.parse(options.peer), cancel=cancel)
    trial = Trial(options, replace(peer.HERE, cancel=cancel), far, watch, cancel)
    with ended(), ExitStack() as stack:
        trial.samples.begin(stack, trial.here, trial.there)
        if options.neighbour is not None:
            load = {"cpus": [options.neighbour]}
            stack.enter_context(trial.here.start("neighbour", load)).wait_for("walking")
        at = time.time()
        try:
            measured: Measured = module.measure(trial)
        except peer.Absent as absent:
            raise TrialError(_missing(module, absent)) from None
        if not all(map(isfinite, _numbers(asdict(measured)))):
            raise TrialError(f"what {module.TOOL} reports is not a finite number")
        trial.samples.finish()
    here, there = trial.samples.sides(trial.begun, options)
    found = checks.judge(module.TOOL, options, measured, here, there)
    force = dict(settings) if settings is not None else settings_in_force(here.busiest())
    return TrialResult(module.TOOL, options, measured, here, there, force, found, at)


def _numbers(value: Any) -> Iterator[float]:
    """Every floating-point number within dictionaries and lists."""
    if isinstance(value, float):
        yield value
    elif isinstance(value, Mapping):
        yield from _numbers(list(value.values()))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _numbers(one)


def _missing(module: Any, absent: peer.Absent) -> str:
    package = getattr(module, "PACKAGE", "")
    if absent.program == "python3" or not package:
        return str(absent)
    return f"{absent}: install the package {package}"
