"""One trial: run a tool, sample both hosts, check the result.

Any thread can cancel a trial by setting its event. All processes of the trial have ended before
`Cancelled` is raised. Each end closes what it started; what a tool left behind, or an end that did
not answer, is ended with its children.
"""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, field, fields, replace
from functools import partial
from math import isfinite
from types import ModuleType
from typing import TYPE_CHECKING, Final

from ..files import bounds
from ..terms.dataclass import dataclass
from . import checks, end, ends, names, tool
from .end import Cancelled, End, Peer, PeerError
from .far.schema import HelperOptions, Message
from .result import Measured, Options, Progress, TrialResult
from .samples import Samples, settings_in_force

if TYPE_CHECKING:
    from psutil import Process


Watch = Callable[[Progress], None]

# options of each trial; the others are those of the tools that list them in TAKES
COMMON: Final = (
    "to", "peer", "host", "seconds", "warmup", "cpu_here", "cpu_there", "port", "neighbour",
    "no_ends",
)  # fmt: skip
# characters that a tool may print: the JSON of iperf3 with 100 streams for hours
OUTPUT: Final = 256 << 20


class TrialError(Exception):
    """The trial failed, or its output is invalid; one sentence."""


@dataclass
class Trial:
    """A running trial, as tools use it."""

    options: Options
    here: Peer
    there: Peer | None  # None: the user started the server of the tool
    watch: Watch
    cancel: threading.Event
    samples: Samples = field(default_factory=Samples)
    begun: float | None = None  # when traffic began, monotonic

    @property
    def length(self) -> float:
        """Seconds of traffic: the warm-up and the measured time."""
        return self.options.seconds + self.options.warmup

    def far(self) -> Peer:
        """The other end of a built-in tool; TrialError without a peer."""
        if self.there is None:
            raise TrialError("this tool starts both ends: --peer is required")
        return self.there

    def start(
        self, where: Peer, argv: Sequence[str], *, cpus: Sequence[int] = (), at: str = "",
        port: int = 0,
    ) -> End:  # fmt: skip
        """Start a program at an end, on these CPUs (empty: all); it ends with nettop.

        With `port`, it is a server: `{address}` and `{port}` in `argv` become `at` and a free port,
        if possible this one. The message with `port` follows when the server listens.
        """
        options: HelperOptions = {"argv": argv, "cpus": cpus}
        if port:
            options |= {"at": at, "port": port, "wait": True}
        return where.start("program", options)

    def follow(self, end: End, seconds: float) -> Iterator[Message]:
        """Messages of an end until it ends, with progress to the watcher.

        TrialError after `seconds`; other errors as `End.receive`.
        """
        if self.begun is None:
            self.begun = time.monotonic()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.pump()
            try:
                message = end.receive(0.1)
            except TimeoutError:
                continue
            if message is None:
                return
            yield message
        raise TrialError(f"the trial did not end within {seconds:.0f} s")

    def pump(self) -> None:
        """Read the samples and pass progress to the watcher; Cancelled."""
        if self.cancel.is_set():
            raise Cancelled
        for progress in self.samples.progress(self.options, self.begun, self.length):
            self.watch(progress)

    def output(self, end: End, seconds: float) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of a program, once it has ended.

        PeerError if it prints more than OUTPUT characters or its helper fails.
        """
        out: list[str] = []
        err: list[str] = []
        size = 0
        for message in self.follow(end, seconds):
            size += len(message.get("out", "")) + len(message.get("err", ""))
            if size > OUTPUT:
                raise PeerError(f"a tool {end.where} printed more than {OUTPUT >> 20} MiB")
            if "out" in message:
                out.append(message["out"])
            elif "err" in message:
                err.append(message["err"])
            elif "exit" in message:
                return message["exit"], "\n".join(out), "\n".join(err)
        raise PeerError(f"the helper {end.where} ended early")


def nobody(_progress: Progress) -> None:
    """Discard the progress."""


def run(
    name: str,
    options: Options,
    watch: Watch = nobody,
    cancel: threading.Event | None = None,
    settings: Mapping[str, str] | None = None,
) -> TrialResult:
    """Run the tool once; `watch` gets the progress, `cancel` ends the trial.

    `settings` are those in force; by default they are read from this host, and empty if the test is
    between two others. PeerError, TrialError,
    ValueError: one sentence says why there is no result. Cancelled.
    """
    module = tool(name)
    _takes(module, options)
    cancel = cancel or threading.Event()
    far = None if options.peer is None else replace(end.parse(options.peer), cancel=cancel)
    near = replace(end.parse(options.host), cancel=cancel)
    trial = partial(Trial, options, near, far, watch, cancel)
    try:
        return _run(module, trial(), settings)
    except end.Absent as absent:
        if not any(one is not None and one.by_file(absent) for one in (near, far)):
            raise
        return _run(module, trial(), settings)


def _run(module: ModuleType, trial: Trial, settings: Mapping[str, str] | None) -> TrialResult:
    """The same with the Python that is known to be at each end; Absent: one has none."""
    options = trial.options
    with none_left(), ExitStack() as stack:
        trial.samples.begin(stack, trial.here, trial.there)
        if options.neighbour is not None:
            load: HelperOptions = {"cpus": [options.neighbour]}
            stack.enter_context(trial.here.start("neighbour", load)).wait_for("walking")
        at = time.time()
        try:
            with ends.watching(options) as seen:
                measured: Measured = module.measure(trial)
        except end.Absent as absent:
            if absent.program == end.PYTHON:
                raise
            raise TrialError(_missing(module, absent)) from None
        if not all(map(isfinite, _numbers(asdict(measured)))):
            raise TrialError(f"{module.TOOL} reported a number that is not finite")
        trial.samples.finish()
    here, there = trial.samples.sides(trial.begun, options)
    verdicts = checks.judge(options, measured, here, there)
    if settings is None:
        settings = {} if options.host else settings_in_force(here.busiest())
    both = seen.document() if seen is not None else None
    return TrialResult(
        module.TOOL, options, measured, here, there, dict(settings), verdicts, at, both
    )


def _takes(module: ModuleType, options: Options) -> None:
    """TrialError for an option that the tool does not list in TAKES."""
    for option in fields(Options):
        given = getattr(options, option.name) != option.default
        if given and option.name not in {*COMMON, *module.TAKES.split()}:
            able = [one for one in names() if option.name in tool(one).TAKES.split()]
            raise TrialError(
                f"{module.TOOL} does not support --{option.name.replace('_', '-')};"
                f" tools that do: {', '.join(able)}"
            )


def _numbers(value: object) -> Iterator[float]:
    """Every floating-point number within dictionaries and lists."""
    if isinstance(value, float):
        yield value
    elif isinstance(value, Mapping):
        yield from _numbers(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _numbers(item)


def _missing(module: ModuleType, absent: end.Absent) -> str:
    package = getattr(module, "PACKAGE", "")
    if absent.program == "python3" or not package:
        return str(absent)
    return f"{absent}: install the package {package}"


GRACE: Final = 2.0  # seconds between SIGTERM and SIGKILL
STEP: Final = 0.02


@contextmanager
def none_left() -> Iterator[None]:
    """At the end of the block, end all descendants of nettop that did not exist before it.

    OSError where /proc/stat cannot be read, or has no boot time, by which psutil numbers processes:
    it reads the file without a bound when it is imported.
    """
    if b"\nbtime " not in bounds.read("/proc/stat", "host-file"):
        raise OSError(errno.ENODATA, "the time of the boot is not there", "/proc/stat")
    from psutil import Error

    before = descendants()
    try:
        yield
    finally:
        left: set[Process] = set()
        deadline = time.monotonic() + GRACE
        while True:
            new = descendants() - before - left
            for process in new:
                with suppress(Error):
                    process.terminate()
            left |= new  # an orphan is no longer a descendant
            if not any(map(_runs, left)) or time.monotonic() >= deadline:
                break
            time.sleep(STEP)  # psutil.wait_procs would reap the exit code that Popen needs
        _kill({process for process in left if _runs(process)}, before)


def _kill(left: set[Process], before: set[Process]) -> None:
    """End these processes and all that they start meanwhile: a stopped process starts none."""
    from psutil import Error

    halted: set[Process] = set()
    while new := (left | (descendants() - before)) - halted:
        for process in new:
            with suppress(Error):
                process.suspend()
        halted |= new
    for process in halted:
        with suppress(Error):
            process.kill()


def descendants() -> set[Process]:
    """All running descendants of this process."""
    import psutil

    return {child for child in psutil.Process().children(recursive=True) if _runs(child)}


def _runs(process: Process) -> bool:
    """Whether the process runs; a zombie does not."""
    import psutil

    try:
        return process.is_running() and process.status() not in (
            psutil.STATUS_ZOMBIE,
            psutil.STATUS_DEAD,
        )
    except psutil.NoSuchProcess:
        return False
