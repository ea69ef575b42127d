"""Proofs of fixes at another host: what is asked, where the test runs, and what runs there."""

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hang import HANG
from test_away import ENTRY, PLANNED, SACK, There
from test_beyond import HOST, Pair, finding

from nettop.changes import Change
from nettop.changes.remote import Remote
from nettop.facts.limits import Limit
from nettop.facts.pair import Joined
from nettop.host.once import Held
from nettop.host.source import HostLostError
from nettop.terms.text import text_of
from nettop.trials import lever, prove
from nettop.trials.elsewhere import Elsewhere
from nettop.trials.result import Options
from nettop.tui.keys import press
from nettop.views.ask import Ask
from nettop.views.scene import Scene, Step
from nettop.views.view import View

Ran = list[tuple[str, Options, Any]]


def joined(flow: str, direction: str) -> Joined:
    return Joined(Limit("flow", flow, direction, 1e8), "a", "b")


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Ran:
    """The proofs that were started: finding, options, lever."""
    seen: Ran = []

    def proved(name: str, wanted: Any, on: Any, *, predicted: Any, lever: Any) -> Any:
        seen.append((name, on.options, lever))
        return {"verdict": "better", "kept": True}

    monkeypatch.setattr(prove, "prove", proved)
    return seen


def body(scene: Scene) -> str:
    assert scene.question is not None
    return "\n".join(text_of(row) for row in scene.question.sheets[0][1])


def test_a_finding_of_the_other_end_is_proved_with_the_change_made_there(
    pair: Pair, ran: Ran
) -> None:
    flow = joined("10.0.0.1:5000>10.0.0.2:80", "rx")
    pair.heard.scene = replace(pair.heard.scene, peer=replace(pair.peer, joined=(flow,)))
    pair.answers("plan", PLANNED)
    pair.answers("journal")
    shown = pair.do("prove", finding().id)
    assert shown.question is not None
    assert (shown.question.verb, shown.question.host) == ("prove", HOST)
    assert "Set and reverted in turn at web2" in body(shown)
    assert "tests to 10.0.0.2 (env PATH=" in body(shown)
    assert ", which sends," in body(shown)
    assert "--dry-run" in pair.ran
    scene = pair.do("agree")
    ((name, options, switch),) = ran
    assert name == finding().id
    assert (options.to, options.host, options.reverse) == ("10.0.0.2", None, True)
    assert options.peer is not None
    assert options.peer.startswith("env PATH=")
    assert isinstance(switch, Elsewhere)
    assert [(one.setting, one.before, one.after) for one in switch.changes] == [(SACK, "0", "1")]
    assert switch.finding == "tcp-sack-off@host"
    assert scene.notes[-1].text == f"{finding().id}: better; kept"


def test_without_a_joined_flow_the_address_is_asked_for(pair: Pair) -> None:
    scene = pair.heard.scene
    view = replace(View(pane="advisor"), spots={})
    view = view.at(on=finding().id)
    after, ask = press("p", "p", view, scene)
    assert (after.editing, ask) == ("form.to", None)
    flow = joined("10.0.0.1:5000>10.0.0.2:80", "tx")
    known = replace(scene, peer=replace(pair.peer, joined=(flow,)))
    assert press("p", "p", view, known)[1] == Ask("prove", finding().id)
    assert pair.do("prove", finding().id).notes[-1].text.startswith("a proof needs the address")


def test_another_host_is_proved_against_this_machine(tmp_path: Path, ran: Ran) -> None:
    there = There(tmp_path)
    there.answers("plan", PLANNED)
    there.answers("journal")
    known = replace(finding(), host="", id="tcp-sack-off@host")
    there.heard.scene = replace(there.heard.scene, findings=(known,))
    view = View(form={"to": "192.0.2.9"})
    there.actions.do(Ask("prove", known.id), view, there.heard.scene)
    assert there.actions.wait(HANG)
    asked = body(there.heard.scene)
    assert "at web1" in asked
    assert "tests to 192.0.2.9 (this machine)" in asked
    there.do("agree")
    ((_, options, _),) = ran
    assert (options.to, options.peer) == ("192.0.2.9", "env")
    assert options.host is not None
    assert options.host.startswith("env PATH=")


def test_a_proof_of_another_host_can_be_stopped(tmp_path: Path) -> None:
    there = There(tmp_path)
    there.actions.bench.cancel = threading.Event()
    there.do("stop")
    assert there.actions.bench.cancel.is_set()


def test_where_no_nettop_is_installed_the_command_is_said(pair: Pair) -> None:
    (pair.folder / "nettop").unlink()
    flow = joined("10.0.0.1:5000>10.0.0.2:80", "tx")
    plans = {finding().id: (Step(SACK, "0", "1", "sysctl -w x"),)}
    peer = replace(pair.peer, joined=(flow,), plans=plans)
    pair.heard.scene = replace(pair.heard.scene, peer=peer)
    scene = pair.do("prove", finding().id)
    assert scene.question is None
    text = scene.notes[-1].text
    assert text.startswith("nettop is not installed at env PATH=")
    assert text.endswith(", so p cannot test there; y copies the command: sysctl -w x")


HOLDING = """#!/bin/sh
for word in "$@"; do printf '%s\\n' "$word"; done >> {folder}/log
case " $* " in
*" --hold"*) echo 'a shell that prints'; echo '{{"schema": 1, "changes": []}}'; cat >/dev/null
  echo reverted >> {folder}/log; {end};;
*) cat {folder}/$1.json;;
esac
"""


def elsewhere(folder: Path, end: str = "exit 0") -> Elsewhere:
    program = folder / "nettop"
    program.write_text(HOLDING.format(folder=folder, end=end))
    program.chmod(0o755)
    remote = Remote(("env", f"PATH={folder}:{os.environ['PATH']}"), root=True)
    return Elsewhere(remote, [Change(SACK, "0", "1")], "tcp-sack-off@host", ["sysctl -w x"])


def test_a_state_lasts_as_long_as_its_command_there(tmp_path: Path) -> None:
    switch = elsewhere(tmp_path)
    log = tmp_path / "log"
    with switch:
        switch.put(1)
        switch.put(1)
        words = log.read_text().splitlines()
        assert words[:4] == ["set", SACK, "1", "--before=0"]
        assert {"--hold=30", "--finding=tcp-sack-off@host"} <= set(words)
        assert words.count("set") == 1
        switch.put(0)
        assert log.read_text().splitlines()[-1] == "reverted"
        switch.put(1)
    assert log.read_text().splitlines().count("reverted") == 2
    assert switch.rows[0]["shell"] == "sysctl -w x"
    assert switch.way == f"{' '.join(switch.remote.prefix)} nettop"


def test_a_change_whose_answer_cannot_be_read_is_reverted_there(tmp_path: Path) -> None:
    switch = elsewhere(tmp_path)
    program = tmp_path / "nettop"
    text = program.read_text()
    answer = """echo '{"schema": 1, "changes": []}'"""
    assert answer in text
    program.write_text(text.replace(answer, "head -c 1100000 /dev/zero"))
    with pytest.raises(lever.LeverError, match=r"sent more than 1 MiB$"):
        switch.put(1)
    assert (tmp_path / "log").read_text().splitlines()[-1] == "reverted"
    assert not any(one.name == "nettop-held" for one in threading.enumerate())


def test_a_change_that_was_not_reverted_there_is_an_error(tmp_path: Path) -> None:
    switch = elsewhere(tmp_path, "echo 'nettop: cannot restore it' >&2; exit 4")
    switch.put(1)
    with pytest.raises(lever.LeverError, match=r"cannot restore it$"):
        switch.restore()
    switch.restore()


def answer(folder: Path, name: str, *changes: Mapping[str, object]) -> None:
    (folder / f"{name}.json").write_text(json.dumps({"schema": 1, "changes": changes}))


def test_what_is_kept_is_confirmed_there(tmp_path: Path) -> None:
    switch = elsewhere(tmp_path)
    answer(tmp_path, "set", {**PLANNED, "id": 7, "state": "pending", "deadline": 4e9})
    answer(tmp_path, "confirm", {**ENTRY, "state": "applied"})
    (kept,) = switch.keep(1)
    assert kept.id == 7
    words = (tmp_path / "log").read_text().splitlines()
    assert words[-3:] == ["confirm", "7", "--json"]
    answer(tmp_path, "set", {**PLANNED, "id": 7, "state": "refused", "because": "it is busy"})
    with pytest.raises(lever.LeverError, match=r"it is busy$"):
        switch.keep(1)


def test_a_program_that_prints_nothing_is_not_waited_for_without_end(tmp_path: Path) -> None:
    held = Held(("env",), ["sleep", "1000"])
    assert os.getsid(held._process.pid) != os.getsid(0)  # Ctrl-C is not for it
    with pytest.raises(HostLostError, match="did not answer within 0 s"):
        held.line(0.0)
    with pytest.raises(HostLostError, match=r"did not answer within 0\.1 s"):
        held.end(0.1)
    assert held._process.wait(HANG)
    assert not any(one.name == "nettop-held" for one in threading.enumerate())
