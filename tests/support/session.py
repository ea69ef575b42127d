"""The session of the README: a problem, its fix and the proof, as the keys of the screen show them.

Keys go through the table of the program, and every picture is drawn by it. Only the requests that
would act on a host are answered by the scenes of `demo_story`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from demo_story import AFTER, BEFORE, FINDING, FORM, SETTING, proof, proved, samples

from nettop.panes import page
from nettop.terms.text import Line, line
from nettop.tui.keys import press
from nettop.views.scene import Question, RunningTest, Scene
from nettop.views.view import View

SIZE = (110, 30)
PAIRS = 5
START = BEFORE - 3  # the sample with which it begins
PEER, PREFIX = FORM["to"], FORM["peer"]


@dataclass(frozen=True)
class Frame:
    """What is shown for some seconds: the caption under the screen, and the screen's rows."""

    seconds: float
    caption: str
    rows: tuple[Line, ...]


def problem(sample: int) -> Scene:
    """The host with its full receive ring."""
    return samples()[sample]


QUESTION = Question(
    "Prove: Receive ring of ens2np0 is full: packets are dropped",
    (("", (
        line(f" {SETTING}: ", ("1024", "dim"), " → ", ("8192", "strong"),
             ("   the link may drop for seconds; reverts unless confirmed", "warn")),
        line(("   # ", "dim"), ("ethtool -G ens2np0 rx 8192", "key")),
        line(f" Set and reverted in turn, with tests to {PEER} ({PREFIX}) in between."),
        line((" Kept only if significantly better; Ctrl-X stops and reverts.", "dim")),
    )),),
    "prove", "start (Ctrl-X stops)",
)  # fmt: skip


def running(scene: Scene, pairs: int, *, changed: bool) -> Scene:
    """The proof runs: that many pairs are done, and one half of the next one."""
    whole = proof()
    rates = [rate for pair in zip(whole.before, whole.after, strict=True) for rate in pair]
    done = 2 * pairs + changed
    half = replace(
        whole, before=whole.before[: pairs + 1], after=whole.after[:pairs],
        interval=whole.interval if pairs else (0.0, 0.0), middle=whole.middle if pairs else 0.0,
    )  # fmt: skip
    note = f"{'changed' if changed else 'baseline'}, run {pairs + 1}"
    progress = RunningTest(
        f"prove {FINDING}", 14.0 * done, 140.0, tuple(rates[: done + 1]), 0.0,
        {28: 44.0, 30: 43.0, 16: 42.0, 20: 41.0}, {18: 58.0, 20: 52.0}, note, half,
        open_ended=True,
    )  # fmt: skip
    return replace(scene, progress=progress)


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
    here.shot(2.0, "A host receives 30 Gb/s over a link of 100 Gb/s. nettop: what limits it?")
    for _ in range(2):
        here.pass_second(problem)
    here.key("enter", 4.0, "Enter: why. The figures of this host, and what others have measured")
    here.key("pagedown", 3.0)
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
    here.second = BEFORE + AFTER - 7
    here.scene = proved(here.second)
    here.view = here.view.at(on=f"result.{proof().id}")
    low, high = (round(100 * one) for one in proof().interval)
    here.shot(5.0, f"Better, by {low} to {high} %: the change is kept. u would undo it")
    here.key("1", 1.0, "The ring loses nothing, and the link is full")
    for _ in range(6):
        here.pass_second(proved)
    yield from here.frames
