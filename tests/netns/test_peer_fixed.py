"""A finding of the other end is fixed there by key, over ssh, with the journal and guard there."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from changes_netns import python, run
from live.limits.programs import READ, WRITE
from ssh_login import Login, logged_in

pytestmark = [
    pytest.mark.netns,
    pytest.mark.needs("sshd", "ssh", "ssh-keygen", "ethtool"),
]
RULE = "offloads-off"
HERE, THERE = f"nt-fix-a-{os.getpid()}", f"nt-fix-b-{os.getpid()}"
# the engine and the actions of the screen; each step waits for what it expects, and prints a line
SCREEN = """
import argparse, dataclasses, json, sys
from changes_netns import expire
from hang import HANG, until as wait
from nettop.host.source import Live
from nettop.tui import away, peering
from nettop.tui.actions import Actions
from nettop.tui.beyond import Beyond
from nettop.tui.engine import Engine
from nettop.views.ask import Ask
from nettop.views.build import merge
from nettop.views.scene import Scene
from nettop.views.view import View

away.CONFIRM = 600.0  # nobody is hurried
state = {"scene": Scene()}
def post(update):
    state["scene"] = update(state["scene"])
source = Live()
engine = Engine(source, lambda new: post(lambda old: merge(old, new)), 0.5, View())
options = argparse.Namespace(peer=sys.argv[1], host=None)
engine.peering = peering.of(options, source, lambda one: post(
    lambda old: merge(old, Scene(notes=(one,)))))
actions = Actions(source, post, engine.refresh)
actions.beyond = Beyond(engine.peering, post, actions.altered, actions.proving)
engine.start()

def until(what, true):
    def said():
        peer = state["scene"].peer
        notes = [n.text for n in state["scene"].notes]
        return what, notes, peer and (peer.message, [f.id for f in peer.findings])
    wait(lambda: true(state["scene"]), said)

def done(what, **more):
    scene = state["scene"]
    print(json.dumps({"step": what, "states": [(e.id, e.setting, e.state) for e in scene.journal],
        "pending": [p.id for p in scene.pending], **more}), flush=True)

def ask(verb, target=""):
    actions.do(Ask(verb, target), View(), state["scene"])
    actions.wait(HANG)

def agreed(verb, target=""):
    ask(verb, target)
    until(verb + " asks", lambda scene: scene.question is not None)
    question = state["scene"].question
    actions.do(Ask("agree"), View(), state["scene"])
    post(lambda old: merge(old, Scene()))
    actions.wait(HANG)
    post(lambda old: dataclasses.replace(old, question=None))
    return question

def waits(scene):
    return bool(scene.pending)

def found(scene):
    return [f for f in scene.peer.findings if f.rule == sys.argv[3]] if scene.peer else []

until("a finding of the other end", lambda scene: bool(found(scene)))
finding = found(state["scene"])[0]
question = agreed("apply", finding.id)
until("pending", waits)
done("applied", title=question.title, host=question.host)

def again(scene):
    actions.follow(scene, View(pane="journal"))
    return not scene.pending

expire(sys.argv[2])
until("reverted by the guard there", again)
done("reverted")
# a look in the middle of the revert finds one of both changes only
until("the whole finding again",
      lambda scene: [len(f.wanted) for f in found(scene)] == [len(finding.wanted)])
agreed("apply", found(state["scene"])[0].id)
until("pending again", waits)
ask("confirm")
until("confirmed", lambda scene: not scene.pending)
done("confirmed")
until("no finding", lambda scene: not found(scene))
agreed("undo")  # both changes of the finding
until("undo waits too", waits)
ask("confirm")
until("undone", lambda scene: not scene.pending)
done("undone")
engine.stop()
"""


@pytest.fixture
def login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Login]:
    for name in ("NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "own"))
    with logged_in(tmp_path, HERE, THERE) as user:
        user.install()
        yield user


@contextmanager
def flow() -> Iterator[None]:
    """The host of the server sends 50 Mb/s."""
    reader = ["ip", "netns", "exec", THERE, sys.executable, "-c", READ, "7300"]
    writer = ["ip", "netns", "exec", HERE, sys.executable, "-c", WRITE, "10.79.0.2", "7300"]
    with subprocess.Popen(reader, stdout=subprocess.PIPE) as one:
        assert one.stdout is not None
        one.stdout.readline()  # it listens
        with subprocess.Popen([*writer, "pace=6250000"]) as other:
            try:
                yield
            finally:  # leaving waits for both
                other.kill()
                one.kill()


def offloads(value: str) -> None:
    run("ip", "netns", "exec", HERE, "ethtool", "-K", "va", "tso", value, "gso", value)


def test_a_far_fix_waits_is_reverted_there_confirmed_there_and_undone_there(login: Login) -> None:
    offloads("off")
    with flow():
        said = python(THERE, SCREEN, shlex.join(login.client), f"{login.folder}/state", RULE)
    steps: list[dict[str, Any]] = [json.loads(row) for row in said.splitlines()]
    by = {one["step"]: one for one in steps}
    assert by["applied"]["host"] == "root@10.79.0.1"
    assert by["applied"]["title"].startswith("Apply: root@10.79.0.1: ")
    assert {state for _, _, state in by["applied"]["states"]} == {"pending"}
    assert all(number.startswith("peer/") for number, _, _ in by["applied"]["states"])
    assert {state for _, _, state in by["reverted"]["states"]} == {"reverted"}
    assert "applied" in {state for _, _, state in by["confirmed"]["states"]}
    assert {state for _, _, state in by["undone"]["states"]} == {"reverted", "undone"}
    journal = login.nettop("journal")
    assert [one["state"] for one in journal] == [state for _, _, state in by["undone"]["states"]]
    assert not (login.folder / "own").exists() or not list(
        (login.folder / "own").glob("**/journal*")
    )
    shown = run("ip", "netns", "exec", HERE, "ethtool", "-k", "va")
    assert "tcp-segmentation-offload: off" in shown
