"""Whether memory stays flat: resident size over many frames of a small host with a day's traffic.

    python tests/benchmarks/memory_flat.py [--frames 100000]
    python tests/benchmarks/memory_flat.py --screen [--frames 36000]

Each frame is sampled, joined and judged, added to the past that the screen keeps, and drawn. The
past is full after 900 fine and 2,880 coarse moments (29,700 frames at one a second); flat means
from there on. With --screen each frame goes through the screen itself (no terminal, every pane in
turn), ten a second of the host's clock: 36,000 are an hour of a replay at 10 Hz. Prints resident
MiB; asserts nothing (`tests/test_memory.py` counts objects).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import replace

from nettop.facts.joined import NEEDS
from nettop.observe import Observation, Observer
from nettop.panes import page
from nettop.panes.past import Past
from nettop.panes.scene import Scene, View
from nettop.source import Live

CPUS = 4


class Small(Live):
    """A host of four CPUs and one interface, all in memory; its counters go on with the clock."""

    def __init__(self, every: float = 1.0) -> None:
        """Second 0; `every` seconds of its clock pass for each step of its counters."""
        super().__init__("/nowhere", host="small")
        self.second = 0
        self.every = every

    def now(self) -> float:
        """Simulated seconds."""
        return self.second * self.every

    def data(self, path: str) -> bytes:
        """The few files there are."""
        write = FILES.get(path)
        if write is None:
            raise FileNotFoundError(2, "no such file", path)
        return write(self.second).encode()

    def listing(self, path: str) -> list[str]:
        """No directories."""
        raise FileNotFoundError(2, "no such directory", path)

    def link(self, path: str) -> str:
        """No links."""
        raise FileNotFoundError(2, "no such link", path)


def _stat(t: int) -> str:
    return "".join(f"cpu{n} {t * 5} 0 {t * 9} {t * 80} 0 0 {t * 6} 0 0 0\n" for n in range(CPUS))


def _interrupts(t: int) -> str:
    head = "           " + " ".join(f"CPU{n:<7}" for n in range(CPUS))
    rows = [
        f"{30 + n:>4}:" + "".join(f"{t * 700 if n == c else 0:>11}" for c in range(CPUS))
        + f"  PCI-MSI {n}-edge      eth0-TxRx-{n}"
        for n in range(CPUS)
    ]  # fmt: skip
    return "\n".join([head, *rows, ""])


def _softnet(t: int) -> str:
    return "".join(f"{t * 900:08x} " + "00000000 " * 11 + f"{n:08x}\n" for n in range(CPUS))


FILES: dict[str, Callable[[int], str]] = {
    "/proc/stat": _stat,
    "/proc/interrupts": _interrupts,
    "/proc/net/softnet_stat": _softnet,
    "/proc/softirqs": lambda t: f"   CPU0 CPU1 CPU2 CPU3\nNET_RX: {t} {t} {t} {t}\n",
    "/proc/net/dev": lambda t: (
        "Inter-|   Receive                            |  Transmit\n"
        " face |bytes packets errs drop fifo frame compressed multicast|bytes packets\n"
        f" eth0: {t * 10**8} {t * 10**5} {t % 7} 0 0 0 0 0 "
        f"{t * 10**6} {t * 10**4} 0 0 0 0 0 0\n"
    ),
    "/proc/sys/kernel/osrelease": lambda _: "6.1.0\n",
}


def resident() -> float:
    """Resident size of this process, MiB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def always(seen: Observation, past: Past) -> Callable[[Scene], Scene]:
    """An update that forgets the scene before."""
    scene = Scene(seen.facts, seen.frame, seen.judgement.findings, past=past, wall=seen.frame.at)
    return lambda _old: scene


async def screen(frames: int) -> None:
    """Each frame drawn by the application, as the engine's scenes are."""
    os.environ["TEXTUAL_FPS"] = "1000"  # drawn at once: nothing here waits for an eye
    from nettop import panes
    from nettop.tui.screen import Nettop, Tick

    source = Small(every=0.1)
    observer, past, began = Observer(source), Past(), time.process_time()
    app = Nettop(View(), Scene())
    names = panes.names()
    async with app.run_test(size=(120, 40)):
        for number in range(1, frames + 1):
            if number % 250 == 0:
                app.step(replace(app.view, pane=names[number // 250 % len(names)]), None)
            seen = observer.step(panes.pane(app.view.pane).NEEDS)
            past = past.add(seen.facts, seen.frame.at)
            app.on_tick(Tick(always(seen, past)))
            drawn = asyncio.Event()
            app.call_after_refresh(drawn.set)
            await drawn.wait()
            source.second += 1
            if number in (1, frames // 10, frames // 2, frames):
                spent = time.process_time() - began
                print(
                    f"{number:>7} frames: {resident():6.1f} MiB resident, "
                    f"{1e3 * spent / number:.2f} ms a frame, {app.board.drawn} rows drawn",
                    flush=True,
                )


def main() -> None:
    """Run the frames and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int)
    parser.add_argument("--screen", action="store_true")
    args = parser.parse_args()
    if args.screen:
        asyncio.run(screen(args.frames or 36_000))
        return
    frames = args.frames or 100_000
    marks = {1, 1_000, 10_000, 30_000, frames // 2, frames}
    source = Small()
    observer, past, view = Observer(source), Past(), View()
    began = time.process_time()
    for number in range(1, frames + 1):
        seen = observer.step(NEEDS)
        past = past.add(seen.facts, seen.frame.at)
        scene = Scene(facts=seen.facts, frame=seen.frame, past=past, wall=seen.frame.at)
        page.compose(scene, view, 120, 40)
        source.second += 1
        if number in marks:
            spent = time.process_time() - began
            print(
                f"{number:>7} frames: {resident():6.1f} MiB resident, "
                f"{1e3 * spent / number:.2f} ms a frame, {len(past.moments())} moments kept",
                flush=True,
            )


if __name__ == "__main__":
    main()
