"""The session of the README: a problem, its fix and the proof, as the keys of the screen show them.

Keys go through the table of the program, and every picture is drawn by it. Only the requests that
would act on a host are answered by the scenes of `stories`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import stories
from scenes import FAR, RING, SACK, WALL, lossy

from nettop.panes import page
from nettop.terms.text import Line, line
from nettop.tui.keys import press
from nettop.views.past import History
from nettop.views.scene import (
    Ended,
    JournalEntry,
    Note,
    Question,
    RunningTest,
    Scene,
    StoredResult,
)
from nettop.views.view import View

SIZE = (110, 30)
PAIRS = 5
START = 110  # seconds of traffic before the session
PEER, PREFIX = "192.0.2.20", "ssh vm8"


@dataclass(frozen=True)
class Frame:
    """What is shown for some seconds: the caption under the screen, and the screen's rows."""

    seconds: float
    caption: str
    rows: tuple[Line, ...]


@cache
def past(end: int, cured_from: int) -> History:
    """The seconds up to `end`; the losses end at `cured_from`."""
    before = past(end - 1, min(cured_from, end)) if end > 1 else History()
    facts = stories.cured() if end > cured_from else lossy(end).facts
    assert facts is not None
    return before.add(replace(facts, at=float(end)), WALL + end)


def problem(second: int) -> Scene:
    """The host with its full receive ring."""
    return replace(lossy(second), past=past(second, second), findings=(RING, FAR, SACK))


QUESTION = Question(
    f"Prove {RING.id}",
    (("", (
        line(" ring.rx@eth0: ", ("256", "dim"), " → ", ("512", "strong"),
             ("   the link may drop for seconds; reverts unless confirmed", "warn")),
        line(("   # ", "dim"), ("ethtool -G eth0 rx 512", "key")),
        line(f" Set and reverted in turn, with tests to {PEER} ({PREFIX}) in between."),
        line((" Kept only if significantly better; Ctrl-X stops and reverts.", "dim")),
    )),),
    "prove", "start (Ctrl-X stops)",
)  # fmt: skip


def running(scene: Scene, pairs: int, *, changed: bool) -> Scene:
    """The proof while it runs: so many pairs are complete."""
    proof = stories.PROOF
    rates = [rate for pair in zip(proof.before, proof.after, strict=True) for rate in pair]
    done = 2 * pairs + changed
    half = replace(
        proof, before=proof.before[: pairs + 1], after=proof.after[:pairs],
        interval=(0.31, 0.382) if pairs else (0.0, 0.0), middle=0.34 if pairs else 0.0,
    )  # fmt: skip
    note = f"{'changed' if changed else 'baseline'}, run {pairs + 1}"
    progress = RunningTest(
        f"prove {RING.id}", 14.0 * done, 140.0, tuple(rates[: done + 1]), 0.0,
        {6: 97.0, 2: 65.0, 5: 16.0, 7: 16.0}, {3: 58.0, 1: 22.0}, note, half, open_ended=True,
    )  # fmt: skip
    return replace(scene, progress=progress)


def proved(second: int, cured_from: int) -> Scene:
    """The proof has kept the change: the link is full."""
    entry = JournalEntry(
        "14", WALL + cured_from, "ring.rx@eth0", "256", "512", "applied", RING.id, "root"
    )
    return replace(
        lossy(second), facts=stories.cured(), past=past(second, cured_from), findings=(FAR, SACK),
        journal=(entry,), results=(result(),), ended=(Ended(RING, (), WALL + cured_from + 1),),
        notes=(Note(f"{RING.id}: better; kept", "good"),), wall=WALL + second,
    )  # fmt: skip


def result() -> StoredResult:
    """The stored proof."""
    return replace(stories.PROOF, wall=WALL + START + 20)


class Recorder:
    """Plays keys and scenes, and keeps what the screen shows after each."""

    def __init__(self) -> None:
        self.second = START
        self.scene = problem(START)
        self.view = View()
        self.frames: list[Frame] = []
        self.caption = ""

    def shot(self, seconds: float, caption: str = "") -> None:
        """Draw the screen, which is shown for so long."""
        self.caption = caption or self.caption
        rows = page.compose(self.scene, self.view, *SIZE)
        self.view = page.painted(self.scene, self.view, *SIZE)
        self.frames.append(Frame(seconds, self.caption, tuple(rows)))

    def key(self, name: str, seconds: float, caption: str = "") -> str:
        """Press a key; gives the verb of its request."""
        typed = name if len(name) == 1 else None
        self.view, ask = press(name, typed, self.view, self.scene)
        if ask is not None and ask.verb == "prove":
            self.scene = replace(self.scene, question=QUESTION)
            self.view = replace(self.view, sheet=0, scroll=0, read=0, unread=-1)
        elif ask is not None:
            self.scene = replace(self.scene, question=None)
        if seconds:
            self.shot(seconds, caption)
        return ask.verb if ask is not None else ""

    def pass_second(self, make: Callable[[int], Scene]) -> None:
        """The next sample."""
        self.second += 1
        self.scene = make(self.second)
        self.shot(1.0)


def played() -> Iterator[Frame]:
    """The frames of the session."""
    here = Recorder()
    here.shot(2.0, "A host receives 600 Mb/s over a link of 1 Gb/s. nettop: what limits it?")
    for _ in range(2):
        here.pass_second(problem)
    here.key("enter", 5.0, "Enter: why. The figures of this host, and what others have measured")
    here.key("escape", 0.0)
    assert here.key("p", 1.2, "p: prove the fix. Which host is at the other end?") == ""
    for char in PEER:
        here.key(char, 0.0)
    here.shot(0.8)
    here.key("enter", 0.6)
    for char in PREFIX:
        here.key(char, 0.0)
    here.shot(0.8)
    assert here.key("enter", 3.4, "The plan: setting, values, command, risk") == "prove"
    assert here.key("enter", 0.0) == "agree"
    here.key("6", 0.0)
    for pairs in range(PAIRS):
        for changed in (False, True):
            here.scene = running(here.scene, pairs, changed=changed)
            here.shot(0.6, "Enter: test, change, test, five times in turn (here in short)")
    cured_from = here.second
    here.second += 1
    here.scene = proved(here.second, cured_from)
    here.view = here.view.at(on=f"result.{stories.PROOF.id}")
    here.shot(5.0, "Better, by 31 to 38 %: the change is kept. u would undo it")
    here.key("1", 1.0, "The ring loses nothing, and the link is full")
    for _ in range(6):
        here.pass_second(lambda second: proved(second, cured_from))
    yield from here.frames
