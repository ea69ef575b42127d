"""The journal on the screen: read again after a line of another nettop, whole before a plan."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hang import HANG
from heard import Heard
from scenes import lossy

from nettop.changes.entry import JournaledChange
from nettop.changes.journal import Journal
from nettop.host.source import Live
from nettop.settings import Host
from nettop.tui.actions import Actions
from nettop.tui.keys import Ask
from nettop.tui.planning import Planning
from nettop.views.kept import journal
from nettop.views.scene import JournalEntry, RunningTest
from nettop.views.view import View


def test_a_change_of_another_nettop_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path / "state"))
    heard = Heard(replace(lossy(), journal=(), pending=()))
    actions = Actions(Live(), heard, lambda: None)
    reads: list[str] = []
    for made in (0, 1, 1, 2):
        while len(Journal().entries()) < made:
            Journal().begin(JournaledChange(1, 1e9, "sysctl.net.ipv4.tcp_sack", "1", "0"))
        before = actions.threads
        actions.follow(heard.scene, View())
        assert actions.wait(HANG)
        reads.append("read" if actions.threads is not before else "")
        assert len(heard.scene.journal) == made
    assert reads == ["", "read", "", "read"]


def test_after_a_change_of_another_nettop_the_host_is_judged_anew_but_not_during_a_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path / "state"))
    heard = Heard(replace(lossy(), journal=(), pending=()))
    judged: list[str] = []
    actions = Actions(Live(), heard, lambda: judged.append("anew"))
    test = RunningTest("iperf3", 1.0, 10.0)
    for progress in (None, test, None):
        Journal().begin(JournaledChange(1, 1e9, "sysctl.net.ipv4.tcp_sack", "1", "0"))
        for _ in range(2):
            actions.follow(replace(heard.scene, progress=progress), View())
            assert actions.wait(HANG)
    assert judged == ["anew"] * 2


def test_what_a_slow_reader_has_read_does_not_hide_a_later_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path / "state"))
    heard = Heard(replace(lossy(), journal=(), pending=()))
    actions = Actions(Live(), heard, lambda: None)
    slow, second = threading.Event(), threading.Event()

    def held(host: Host) -> object:
        """What is in the journal; the first reader is held until another has shown it, or 0.2 s."""
        found = journal(host)
        if not slow.is_set():
            slow.set()
            second.wait(0.2)
        return found

    monkeypatch.setattr("nettop.tui.actions.journal", held)
    first = threading.Thread(target=actions.reload)
    first.start()
    assert slow.wait(HANG)
    Journal().begin(JournaledChange(1, 1e9, "sysctl.net.ipv4.tcp_sack", "1", "0"))
    actions.reload()
    second.set()
    first.join(HANG)
    assert len(heard.scene.journal) == 1


def test_a_journal_that_may_not_be_read_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").mkdir(mode=0o777)
    (tmp_path / "state").chmod(0o777)
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path / "state"))
    heard = Heard(replace(lossy(), pending=()))
    actions = Actions(Live(), heard, lambda: None)
    actions.start()
    assert actions.wait(HANG)
    assert "others than root can change this folder" in heard.last
    actions.follow(heard.scene, View())
    assert len(actions.threads) == 1


@pytest.mark.parametrize(
    ("setting", "state", "warnings"),
    [
        ("ring.rx@eth0", "applied", ("reverts after 30 s unless confirmed with c",)),
        ("ring.rx@eth0", "pending", ()),  # an undo of it is at once
        ("rps.cpus@eth0/rx-0", "applied",
         ("reverts after 30 s unless confirmed with c: eth0 carries this SSH session",)),
        ("rps.cpus@eth1/rx-0", "applied", ()),
    ],
)  # fmt: skip
def test_an_undo_says_whether_it_must_be_confirmed(
    monkeypatch: pytest.MonkeyPatch, setting: str, state: str, warnings: tuple[str, ...]
) -> None:
    monkeypatch.setattr("nettop.changes.ssh.carriers", lambda *_: ("eth0",))
    heard = Heard(lossy())
    entry = JournalEntry("1", 1.0, setting, "1", "2", state)
    scene = replace(heard.scene, journal=(entry,), pending=())
    Planning(Live(), heard).do_undo(Ask("undo"), View(), scene)
    assert heard.scene.question is not None
    assert heard.scene.question.warnings == warnings


def test_no_plan_is_made_while_a_change_is_written() -> None:
    """Its journal entries are not all there yet: an undo would miss those that follow."""
    heard = Heard(lossy())
    actions = Actions(Live(), heard, lambda: None)
    entry = JournalEntry("1", 1.0, "link.mtu@eth0", "1500", "1400", "pending")
    heard.scene = replace(heard.scene, journal=(entry,), question=None)
    with actions.changing.writing():
        actions.do(Ask("undo"), View(), heard.scene)
        assert actions.wait(HANG)
    assert heard.last == "a change is being written: press the key again after it"
    assert heard.scene.question is None
    actions.do(Ask("undo"), View(), heard.scene)
    assert actions.wait(HANG)
    assert heard.scene.question is not None
    assert heard.scene.question.title == "Undo 1 change"


def test_the_journal_tells_another_namespace_and_the_test_that_made_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nettop.changes import context
    from nettop.views.kept import journal

    monkeypatch.setenv("NETTOP_STATE", str(tmp_path / "state"))
    here = context.netns().inode
    for number, (space, name) in enumerate(((here, ""), ("1", "blue"), ("1", ""))):
        Journal().begin(
            JournaledChange(
                0, 1e9 + number, "mtu@lo", "1", "0", netns=space, netns_name=name,
                keeper="812-1" * (number == 1),
            )
        )  # fmt: skip
    made, _ = journal(Host.at())
    assert [(one.space, one.test) for one in made] == [
        ("", ""), ("blue", "812-1"), ("another network namespace", ""),
    ]  # fmt: skip
