"""What a whole frame costs: sample, rates, facts, rules and the Overview's lines at 120 x 40.

    python tests/benchmarks/frame_whole.py [--frames 20] [--profile]

Prints the CPU time of steady frames by stage; asserts nothing. First this host, then a generated
one of 256 CPUs, 1,200 interrupt lines of which one in ten changes, and 64 queues
(`tests/hosts/make_big.py`), whose files another process writes, as a kernel would. A frame a second
is simulated, so slow tables are read when due: the mean holds their share, the median is a frame
without them. On a machine with other work the least is the figure to compare.
"""

import argparse
import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from cProfile import Profile
from itertools import pairwise
from pathlib import Path
from pstats import Stats
from statistics import mean, median

sys.path.insert(0, str(Path(__file__).parents[1] / "hosts"))

import make_big  # type: ignore[import-not-found]

from nettop.facts.joined import NEEDS
from nettop.host.source import Live
from nettop.panes import page
from nettop.views.observer import Observer
from nettop.views.past import History
from nettop.views.scene import Scene
from nettop.views.view import View

STAGES = ("sample", "facts", "rules", "lines")
SETTLED = 4  # frames until everything is imported, compiled and remembered


class Stepped(Live):
    """A source whose clock advances by one second each frame."""

    def __init__(self, root: str, step: Callable[[int], None]) -> None:
        """`step` changes the host to a later second."""
        super().__init__(root)
        self.live = not self.root
        self.second = 0
        self.step = step

    def now(self) -> float:
        """Simulated seconds."""
        return float(self.second)

    def wait(self, seconds: float) -> bool:
        """Go on by one second."""
        self.second += 1
        self.step(self.second)
        return True


@contextmanager
def host(big: make_big.Big) -> Iterator[tuple[str, Callable[[int], None]]]:
    """A directory that stands in for that host, and a function that advances it by one second."""
    with tempfile.TemporaryDirectory() as folder:
        make_big.write(folder, big)
        asked, ask = os.pipe()
        told, tell = os.pipe()
        writer = os.fork()
        if not writer:
            os.close(ask)
            while second := os.read(asked, 8):
                make_big.step(folder, big, int.from_bytes(second, "big"))
                os.write(tell, b".")
            os._exit(0)

        def step(second: int) -> None:
            os.write(ask, second.to_bytes(8, "big"))
            os.read(told, 1)

        try:
            yield folder, step
        finally:
            for end in (asked, ask, told, tell):
                os.close(end)
            os.waitpid(writer, 0)


def frames(
    source: Stepped, count: int, profile: Profile | None = None
) -> tuple[list[list[float]], list[str]]:
    """Milliseconds of CPU a frame, by stage; and the last screen."""
    observer, past, view = Observer(source), History(), View()
    out, rows = [], []
    for number in range(count + SETTLED):
        if number == SETTLED:
            gc.collect()
            gc.freeze()  # as the engine does
        if profile is not None and number >= SETTLED:
            profile.enable()
        marks = [time.process_time_ns()]
        frame = observer.sampler.take(NEEDS)
        marks.append(time.process_time_ns())
        facts = observer.joiner.build(frame)
        marks.append(time.process_time_ns())
        judgement = observer.judge.judge(facts)
        marks.append(time.process_time_ns())
        past = past.add(facts, frame.wall)
        scene = Scene(facts=facts, frame=frame, findings=judgement.findings, past=past)
        rows = page.compose(scene, view, 120, 40, lambda *_: [])
        marks.append(time.process_time_ns())
        if profile is not None:
            profile.disable()
        out.append([(b - a) / 1e6 for a, b in pairwise(marks)])
        source.wait(1.0)
    return out[SETTLED:], ["".join(text for text, _ in row) for row in rows]


def report(name: str, spent: list[list[float]]) -> None:
    """One line a host."""
    whole = [sum(frame) for frame in spent]
    parts = "  ".join(
        f"{stage} {median(column):.2f}"
        for stage, column in zip(STAGES, zip(*spent, strict=True), strict=True)
    )
    print(
        f"{name:<58} frame {median(whole):6.2f} ms (mean {mean(whole):.2f}, least {min(whole):.2f})"
        f"   {parts}",
        flush=True,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=20)
    parser.add_argument("--profile", action="store_true", help="where the time goes, large host")
    parser.add_argument("--show", action="store_true", help="the last screens")
    args = parser.parse_args()
    gc.set_threshold(50_000)  # as the command line does
    spent, rows = frames(Stepped("/", lambda _second: time.sleep(0.1)), args.frames)
    report("this host", spent)
    if args.show:
        print("\n".join(rows))
    for big in (make_big.Big(), make_big.Big(spread=True)):
        with host(big) as (folder, step):
            source = Stepped(folder, step)
            if args.profile:
                profile = Profile()
                frames(source, args.frames, profile)
                print(f"seconds of {args.frames} frames:")
                Stats(profile).strip_dirs().sort_stats("tottime").print_stats(30)
                Stats(profile).strip_dirs().sort_stats("cumtime").print_stats(40)
                return
            spent, rows = frames(source, args.frames)
            found = ", 1 finding of 64 changes" if big.spread else ""
            report(f"{big.cpus} CPUs, {big.lines} lines, {big.queues} queues{found}", spent)
            if args.show:
                print("\n".join(rows))


if __name__ == "__main__":
    main()
