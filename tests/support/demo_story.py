"""The story of the README: the demo with its problem, its finding, its change and its proof."""

from dataclasses import replace
from functools import cache

from nettop.config import rules_folder
from nettop.host.played import Played
from nettop.host.recording import load
from nettop.trials.statistics import compare
from nettop.views.build import Plans, merge, scene_of
from nettop.views.observer import Observer
from nettop.views.past import History
from nettop.views.scene import JournalEntry, Note, Pending, Scene, StoredResult
from nettop.views.view import View

FINDING, SETTING = "rx-ring-overrun@ens2np0", "ring.rx@ens2np0"
BEFORE, AFTER, PAIRS = 21, 12, 5  # samples of both courses; pairs of the proof
FORM = {"to": "10.60.7.21", "peer": "ssh dtn2"}
GUARD = 30.0  # seconds in which a change is confirmed


@cache
def samples() -> tuple[Scene, ...]:
    """The demo sample by sample; after `BEFORE` of them its change is made."""
    demo, cured = (load(str(rules_folder() / f"{name}.host.gz")) for name in ("demo", "demo-cured"))
    source = Played(demo, cured)
    observer, plans, past = Observer(source), Plans(source), History()
    scenes = [Scene()]  # as on that host: the demo's own screen says that it is one
    for sample in range(BEFORE + AFTER):
        if sample == BEFORE:
            source.turn(cured=True)
        if sample:
            source.wait(1)
        if source.opening:
            observer.restart()
        observation = observer.step()
        if sample == BEFORE:
            observer.refresh()
        past = past.add(observation.facts, observation.frame.wall)
        scenes.append(merge(scenes[-1], scene_of(observation, past, plans, ("silent",))))
    return tuple(scenes[1:])


def entry(state: str) -> JournalEntry:
    """The change in the journal."""
    wall = samples()[BEFORE].wall
    return JournalEntry("1", wall, SETTING, "1024", "8192", state, FINDING, "root")


@cache
def proof() -> StoredResult:
    """The stored proof, of the rates of both courses."""
    rates = [8 * (one.foremost.per_s.rx_bytes or 0.0) if one.foremost is not None else 0.0
             for one in samples()]  # fmt: skip
    before, after = (
        tuple(sum(own[2 * n : 2 * n + 2]) / 2 for n in range(PAIRS))
        for own in (rates[BEFORE - 2 * PAIRS : BEFORE], rates[-2 * PAIRS :])
    )
    found = compare(before, after)
    low, high = found.interval
    return StoredResult(
        "20261120-171037-prove", samples()[-1].wall, "prove", FINDING, None,
        (("median", f"{found.median_difference:+.1%}"),
         (f"{found.confidence:.0%} interval", f"{low:+.1%} … {high:+.1%}"),
         ("pairs", str(found.pairs)), ("", "kept")),
        verdict=found.verdict, unit="bit/s", before=before, after=after,
        interval=found.interval, middle=found.median_difference, higher=True,
        settings={SETTING: "8192"},
    )  # fmt: skip


def proved(sample: int) -> Scene:
    """A sample after the proof has kept the change."""
    return replace(
        samples()[sample], journal=(entry("applied"),), results=(proof(),),
        notes=(Note(f"{FINDING}: better; kept", "good"),),
    )  # fmt: skip


def scene_and_view(at: int) -> tuple[Scene, View]:
    """The scene and the view of step 1 to 4 of the story."""
    if at < 3:
        view = View() if at == 1 else View(pane="advisor").at(open=FINDING)
        return samples()[BEFORE - 1], view
    if at == 4:
        return proved(-1), View(pane="tests", form=FORM).at(on=f"result.{proof().id}")
    note = Note(f"{SETTING}: 1024 → 8192: pending (read back after the link came up)", "warn")
    made = entry("pending")
    waits = Pending(made.id, SETTING, made.wall + GUARD)
    return replace(samples()[-1], journal=(made,), pending=(waits,), notes=(note,)), View()
