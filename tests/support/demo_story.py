"""The four scenes of the README: the demo with its problem, its finding, its change, its proof."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from nettop.config import rules_folder
from nettop.host.played import Played
from nettop.host.recording import load
from nettop.trials.statistics import compare
from nettop.views.build import Plans, merge, scene_of
from nettop.views.observer import Observer
from nettop.views.past import History
from nettop.views.scene import JournalEntry, Note, Pending, Scene, StoredResult, origin_of
from nettop.views.view import View

FINDING, SETTING = "rx-ring-overrun@ens2np0", "ring.rx@ens2np0"
BEFORE, AFTER, PAIRS = 21, 12, 5  # samples of both courses; pairs of the proof
GUARD = 30.0  # seconds in which a change is confirmed


@cache
def played(samples: int) -> tuple[Scene, list[float]]:
    """The demo after so many samples, and the bit/s of each; after `BEFORE` its change is made."""
    demo, cured = (load(str(rules_folder() / f"{name}.host.gz")) for name in ("demo", "demo-cured"))
    source = Played(demo, cured)
    observer, plans, past = Observer(source), Plans(source), History()
    scene, rates = Scene(origin=origin_of(source)), []
    for sample in range(samples):
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
        scene = merge(scene, scene_of(observation, past, plans, ("silent",)))
        nic = scene.foremost
        rates.append(8 * (nic.per_s.rx_bytes or 0.0) if nic is not None else 0.0)
    return scene, rates


def scene_and_view(at: int) -> tuple[Scene, View]:
    """The scene and the view of step 1 to 4 of the story."""
    if at < 3:
        view = View() if at == 1 else View(pane="advisor").at(open=FINDING)
        return played(BEFORE)[0], view
    now, rates = played(BEFORE + AFTER)
    wall = now.wall - AFTER + 1
    entry = JournalEntry("1", wall, SETTING, "1024", "8192", "pending", FINDING, "root")
    if at == 3:
        note = Note(f"{SETTING}: 1024 → 8192: pending (read back after the link came up)", "warn")
        waits = Pending("1", SETTING, wall + GUARD)
        return replace(now, journal=(entry,), pending=(waits,), notes=(note,)), View()
    before, after = (
        tuple(sum(own[2 * n : 2 * n + 2]) / 2 for n in range(PAIRS))
        for own in (rates[BEFORE - 2 * PAIRS : BEFORE], rates[-2 * PAIRS :])
    )
    found = compare(before, after)
    low, high = found.interval
    proof = StoredResult(
        "20261120-171037-prove", now.wall, "prove", FINDING, None,
        (("median", f"{found.median_difference:+.1%}"),
         (f"{found.confidence:.0%} interval", f"{low:+.1%} … {high:+.1%}"),
         ("pairs", str(found.pairs)), ("", "kept")),
        verdict=found.verdict, unit="bit/s", before=before, after=after,
        interval=found.interval, middle=found.median_difference, higher=True,
        settings={SETTING: "8192"},
    )  # fmt: skip
    kept = replace(
        now, journal=(replace(entry, state="applied"),), results=(proof,),
        notes=(Note(f"{FINDING}: better; kept", "good"),),
    )  # fmt: skip
    return kept, View(pane="tests").at(on=f"result.{proof.id}")
