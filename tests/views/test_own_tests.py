"""What nettop's own tests do makes no findings; what a change did is told."""

import subprocess
import sys
from dataclasses import replace

import pytest
from hang import until
from scenes import RING, lossy, storied

from nettop.host import session
from nettop.tui import engine
from nettop.views import altered
from nettop.views.past import History, Summary
from nettop.views.scene import JournalEntry, Scene, StoredResult


def test_the_processes_that_this_one_started_are_known_while_they_run() -> None:
    inner = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    with subprocess.Popen([sys.executable, "-c", inner], stdin=subprocess.PIPE) as process:
        until(lambda: len(session.running()) >= 2)
        assert process.pid in session.running()
        process.kill()
    until(lambda: process.pid not in session.running())


@pytest.mark.parametrize(
    ("target", "left"),
    [("352", False), ("iperf3[352]", False), ("tar[352]/read", False), ("3520", True),
     ("eth0", True), ("cpu352", True), ("flow", False)],
)  # fmt: skip
def test_findings_about_them_are_left_out(target: str, left: bool) -> None:
    facts = lossy().facts
    assert facts is not None
    flow = replace(facts.flows[0], id="flow", pid=352)
    facts = replace(facts, flows=(flow,))
    found = replace(RING, target=target)
    assert engine.without_own((found,), facts, {352}) == (found,) * left
    assert engine.without_own((found,), facts, ()) == (found,)


def after(rates: tuple[float, float], lost: tuple[float, float], *settings: str) -> Scene:
    """A host whose eth0 sends and loses so much before and after changes at 100 s."""
    scene = storied()

    def moment(at: int) -> Summary:
        now = at > 100
        row = (0.0, rates[now] / 8, 0.0, 0.0, lost[now], None, None, None, None)
        ports = scene.past.fine[0].ports.then({"eth0": row})
        return replace(scene.past.fine[0], at=float(at), wall=float(at), ports=ports)

    entries = tuple(
        JournalEntry(str(n), 100.0, setting, "0", "1", "applied")
        for n, setting in enumerate(settings)
    )
    past = History(tuple(moment(at) for at in range(80, 108)))
    return replace(scene, wall=107.5, past=past, journal=entries)


def test_the_effect_of_a_change_is_told_once_and_from_the_rates_around_it() -> None:
    scene = after((1.7e9, 4.1e9), (0.0, 0.0), "feature.tso@eth0", "feature.gso@eth0")
    before = replace(scene, wall=106.0)
    assert altered.told(before, scene) == ["2 settings: eth0 tx 1.7 Gb/s → 4.1 Gb/s (means of 5 s)"]
    assert altered.told(scene, replace(scene, wall=108.0)) == []
    assert altered.told(replace(scene, wall=105.0), before) == []


def test_losses_are_a_part_of_the_effect_and_a_small_difference_is_none() -> None:
    scene = after((1e9, 1.01e9), (6109.0, 0.0), "ring.rx@eth0")
    told = altered.told(replace(scene, wall=106.0), scene)
    assert told == ["ring.rx@eth0: eth0 tx 1.01 Gb/s, as before, lost 6,109 → 0/s (means of 5 s)"]
    quiet = after((10.0, 10.0), (0.0, 0.0), "ring.rx@eth0")
    assert altered.told(replace(quiet, wall=106.0), quiet) == []
    undone = replace(scene.journal[0], state="undone")
    assert altered.told(replace(scene, wall=106.0), replace(scene, journal=(undone,))) == []


def test_what_a_proof_kept_has_no_effect_but_that_of_the_proof() -> None:
    """Its last test ends when the change stays: the rates around it are those of the test."""
    scene = after((1.9e9, 6e3), (0.0, 0.0), "sysctl.net.ipv4.tcp_rmem@eth0")
    kept = (replace(scene.journal[0], finding="rcvbuf-small@eth0"),)
    proof = StoredResult("5", 20.0, "prove", "rcvbuf-small@eth0", verdict="better")
    scene = replace(scene, journal=kept)
    before = replace(scene, wall=106.0)
    assert altered.told(before, scene)
    assert altered.told(before, replace(scene, results=(proof,))) == []
    played = replace(proof, title=proof.title + altered.DEMO)
    assert altered.told(before, replace(scene, results=(played,))) == []
    held = replace(scene, journal=(replace(kept[0], state="held"),))  # another nettop proves it
    assert altered.told(before, held) == []


def test_what_was_before_the_start_of_nettop_is_no_effect() -> None:
    scene = after((0.0, 1.9e8), (0.0, 0.0), "sysctl.net.ipv4.tcp_sack")
    short = History(tuple(one for one in scene.past.fine if one.wall >= 98))
    assert altered.told(replace(scene, wall=106.0), replace(scene, past=short)) == []
