"""A fix of the other end proved by key: from this end, and from a third host (--host, --peer).

The server of the login has the offloads off; a third namespace sees both ends over SSH.
"""

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from changes_netns import no_guard, python, run
from hang import until
from ssh_login import Login, logged_in

pytestmark = [
    pytest.mark.netns,
    pytest.mark.needs("sshd", "ssh", "ssh-keygen", "ethtool"),
]
HERE, THERE = f"nt-prv-a-{os.getpid()}", f"nt-prv-b-{os.getpid()}"
SETTING = "feature.tx-tcp-segmentation@va"
# the actions of the screen: a finding of the other end, `p`, agreed, then `u`, agreed
KEYS = """
import dataclasses, json, psutil, sys
from hang import HANG
from types import SimpleNamespace
from nettop.advice.rules.rule import Finding, Wanted
from nettop.host.distant import behind
from nettop.host.source import Live
from nettop.trials import experiment, prove
from nettop.tui.actions import Actions
from nettop.tui.beyond import Beyond
from nettop.views.both import named
from nettop.views.ask import Ask
from nettop.views.scene import Peer, Scene
from nettop.views.view import View

near, far, to, better = sys.argv[1:]
FIGURES = iter([1, 1] + [1, 2 if better == "better" else 0] * 5)
SEEN = []

def sample(result, metric):  # counted, but its rate is not what is tested here
    SEEN.append((shown(), (result.bits_per_second or 0) > 0, result.here.host, result.there.host))
    if better == "cut" and SEEN[-1][0] == "on":
        for child in psutil.Process().children(recursive=True):
            if child.name() == "ssh":
                child.kill()
    return experiment.Sample(1e6 * (1 + next(FIGURES)))

def shown():
    from nettop import settings
    source_there.fetch([])  # what it showed before is not asked again in one frame
    return settings.read(source_there, settings.parse(SETTING))

experiment.sample = sample
experiment.STEADY = 1.0
SETTING = "feature.tx-tcp-segmentation@va"
one = named(Finding("offloads-off@va", "offloads-off", "va", "warning", "TSO is off", "", 3.0,
                    *[()] * 5, ""), "web2")
one = dataclasses.replace(one, wanted=(Wanted(SETTING, "on"),))
source = behind(near) if near else Live()
source_there = behind(far)
peer = Peer(("web1", "web2"), findings=(one,))
state = {"scene": Scene(peer=peer)}
def post(update):
    state["scene"] = update(state["scene"])
actions = Actions(source, post, lambda: None)
actions.beyond = Beyond(SimpleNamespace(far=behind(far), shown=peer), post, actions.altered,
                        actions.proving)
view = View(form={"to": to, "seconds": "0.2"})

def agreed(verb, target=""):
    actions.do(Ask(verb, target), view, state["scene"])
    actions.wait(HANG)
    question = state["scene"].question
    if question is None:
        return None
    actions.do(Ask("agree"), view, state["scene"])
    post(lambda old: dataclasses.replace(old, question=None))
    actions.wait(HANG)
    return question.title

def done(**more):
    scene = state["scene"]
    print(json.dumps({"notes": [one.text for one in scene.notes], **more,
        "journal": [(e.id, e.setting, e.state, e.finding) for e in scene.journal]}), flush=True)

title = agreed("prove", one.id)
done(title=title, seen=SEEN, value=None if better == "cut" else shown())
if better == "better":
    done(title=agreed("undo"), value=shown())
"""


@pytest.fixture
def login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Login]:
    for name in ("NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "own"))
    with logged_in(tmp_path, HERE, THERE) as user:
        run("ip", "netns", "exec", HERE, "ethtool", "-K", "va", "tso", "off")
        for place, name in ((HERE, "va"), (THERE, "vb")):  # no load: the figures are planted
            shaped = f"qdisc add dev {name} root tbf rate 20mbit burst 20kb latency 50ms"
            run("tc", "-n", place, *shaped.split())
        yield user


def played(netns: str, *words: str) -> list[dict[str, Any]]:
    return [json.loads(row) for row in python(netns, KEYS, *words).splitlines()]


def test_a_far_fix_is_proved_kept_there_and_undone_there(login: Login) -> None:
    login.install()
    with login.connected() as client:
        proved, undone = played(THERE, "", client, "10.79.0.1", "better")
    assert proved["title"] == "Prove: web2: TSO is off"
    assert proved["notes"][-1] == "offloads-off@va at web2: better; kept"
    values = [value for value, _, _, _ in proved["seen"]]
    assert values[-6:] == ["off", "on"] * 3  # a clear effect ends it
    assert set(values[:-6]) == {"off"}
    assert all(moved for _, moved, _, _ in proved["seen"])
    assert proved["value"] == "on"
    ((_, setting, state, finding),) = [
        row for row in proved["journal"] if row[2] in ("applied", "pending")
    ]
    assert (setting, state, finding) == (SETTING, "applied", "offloads-off@va at web2")
    assert undone["title"] == "Undo 1 change at web2"
    assert [one["state"] for one in login.nettop("journal")][-1] in ("undone", "pending")
    assert undone["value"] == "off"
    assert not list((login.folder / "own").glob("**/journal*"))


def test_from_a_third_host_the_test_runs_between_both_ends(login: Login) -> None:
    """What is not better is reverted there."""
    login.install()
    near = f"ip netns exec {THERE}"
    with login.connected() as client:
        (proved,) = played("", near, f"{near} {client}", "10.79.0.1", "worse")
    assert proved["notes"][-1].startswith("offloads-off@va at web2: ")
    assert proved["notes"][-1].endswith("; reverted")
    values = [value for value, _, _, _ in proved["seen"]]
    assert values[-6:] == ["off", "on"] * 3
    assert all(moved for _, moved, _, _ in proved["seen"])
    assert proved["value"] == "off"
    assert {row[2] for row in proved["journal"]} == {"undone"}


def test_without_a_nettop_there_the_sentence_has_the_command(login: Login) -> None:
    (refused,) = played(THERE, "", shlex.join(login.client), "10.79.0.1", "worse")
    assert refused["title"] is None
    *_, text = refused["notes"]
    assert text.startswith("nettop is not installed at root@10.79.0.1")
    assert "so p cannot test there; y copies the command" in text
    assert refused["value"] == "off"


def test_the_connection_is_cut_while_the_change_is_tried(login: Login) -> None:
    """That host reverts it, and this end says what happened in one sentence."""
    login.install()
    (cut,) = played(THERE, "", shlex.join(login.client), "10.79.0.1", "cut")
    assert [value for value, _, _, _ in cut["seen"]].count("on") >= 1
    assert cut["notes"][-1] == (
        "prove offloads-off@va at web2: root@10.79.0.1: killed by signal 9; the change there is "
        "reverted when that host notices"
    )
    until(lambda: not offloaded())
    no_guard(login.folder / "state")
    assert [one["state"] for one in login.nettop("journal")] == ["undone"]


def offloaded() -> bool:
    """Whether the setting is on at the other host, as ethtool says."""
    text = run("ip", "netns", "exec", HERE, "ethtool", "-k", "va")
    return "tcp-segmentation-offload: on" in text
