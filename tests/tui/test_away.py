"""Changes at another host by the nettop that is installed there: what runs, and what is refused."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hang import HANG
from heard import Heard
from scenes import lossy

from nettop.changes import remote
from nettop.host import once
from nettop.host.source import HostLostError, Live
from nettop.panes import hints
from nettop.terms.text import text_of
from nettop.tui.actions import Actions
from nettop.tui.keys import act
from nettop.tui.leaving import in_force
from nettop.views.ask import Ask
from nettop.views.scene import JournalEntry, Pending, Scene, SceneOrigin
from nettop.views.view import Spot, View

SACK = "sysctl.net.ipv4.tcp_sack"
PLANNED = {
    "setting": SACK, "before": 0, "wanted": 1, "state": "planned", "after": 1,
    "shell": "sysctl -w net.ipv4.tcp_sack=1",
}  # fmt: skip
ENTRY = {
    "id": 7, "time": 1e9, "who": "root", "finding": "", "setting": SACK, "before": 0, "wanted": 1,
    "after": 1, "state": "applied", "shell": "",
}  # fmt: skip
SCRIPT = """#!/bin/sh
for word in "$@"; do printf '%s\\n' "$word"; done >> {log}
case " $* " in *" --dry-run "*) name=plan;; *) name=$1;; esac
cat {folder}/$name.json
echo "nettop: no answer was prepared" >&2
"""


@dataclass(frozen=True)
class Behind:
    """The requests of a host behind a prefix; only the prefix is used."""

    prefix: tuple[str, ...]
    name = "ssh web1"
    root = True


class Other(Live):
    """This machine as if it were another host."""

    def __init__(self, prefix: tuple[str, ...]) -> None:
        super().__init__()
        self.live = False
        self.host = "web1"
        self.batches = Behind(prefix)  # type: ignore[assignment]


class There:
    """A host with a nettop that prints prepared answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.log.touch()
        program = folder / "nettop"
        program.write_text(SCRIPT.format(log=self.log, folder=folder))
        program.chmod(0o755)
        self.prefix = ("env", f"PATH={folder}:{os.environ['PATH']}")
        self.heard = Heard(replace(lossy(), journal=(), origin=SceneOrigin("host", "ssh web1")))
        self.actions = Actions(Other(self.prefix), self.heard, lambda: None)

    def answers(self, name: str, *changes: Mapping[str, object], **more: object) -> None:
        document = {"schema": 1, "changes": changes, **more}
        (self.folder / f"{name}.json").write_text(json.dumps(document))

    def do(self, verb: str, target: str = "", value: str = "") -> Scene:
        """The scene after the request is done."""
        self.actions.do(Ask(verb, target, value), View(), self.heard.scene)
        assert self.actions.wait(HANG)
        return self.heard.scene

    @property
    def ran(self) -> list[str]:
        return self.log.read_text().splitlines()


@pytest.fixture
def there(tmp_path: Path) -> There:
    return There(tmp_path)


def test_the_plan_of_the_other_host_is_shown_and_exactly_that_is_made(there: There) -> None:
    there.answers("plan", PLANNED, notes=["tuned sets it too"])
    question = there.do("set", SACK, "1").question
    assert question is not None
    assert question.changes == ((SACK, "0", "1"),)
    assert "tuned sets it too" in question.warnings
    rows = "\n".join(text_of(row) for row in question.sheets[0][1])
    assert "0 → 1" in rows
    assert "sysctl -w net.ipv4.tcp_sack=1" in rows
    assert "--dry-run" in there.ran
    there.log.write_text("")
    there.answers("set", {**PLANNED, "id": 7, "state": "applied"})
    there.answers("journal", ENTRY)
    scene = there.do("agree")
    assert there.ran == [
        "set",
        SACK,
        "1",
        "--before=0",
        "--confirm=30",
        "--json",
        "journal",
        "--json",
    ]
    assert scene.notes[-1].text == f"{SACK}: 0 → 1: applied"
    assert [entry.id for entry in scene.journal] == ["7"]


def test_a_change_names_the_device_that_was_shown(there: There) -> None:
    there.answers("plan", {**PLANNED, "setting": "link.mtu@lo", "before": 65536, "wanted": 9000})
    there.answers("set")
    there.answers("journal")
    there.do("set", "link.mtu@lo", "9000")
    there.do("agree")
    (given,) = (word for word in there.ran if word.startswith("--identity="))
    assert len(given) > len("--identity=")


def test_another_device_of_that_name_is_not_changed(capsys: pytest.CaptureFixture[str]) -> None:
    from nettop.cli import main

    words = ["set", "link.mtu@lo", "9000", "--dry-run", "--json"]
    assert main([*words, "--identity=node 1 index 999999"]) == 4
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert "no longer the one that was shown" in change["because"]
    assert main([*words, "--identity=a", "--identity=b"]) == 2


def test_without_nettop_there_the_commands_stay(tmp_path: Path) -> None:
    heard = Heard(lossy())
    actions = Actions(Other(("env", f"PATH={tmp_path}")), heard, lambda: None)
    actions.do(Ask("set", SACK, "1"), View(), heard.scene)
    assert actions.wait(HANG)
    assert "nettop is not installed at env" in heard.last
    assert "y copies the command" in heard.last
    assert heard.scene.question is None


BAD: Mapping[str, Any] = {
    "sent an invalid answer": {"schema": 1, "changes": [{"setting": SACK}]},
    "sent an invalid answer ": {"schema": 1, "changes": "many"},
    "another version of nettop": {"schema": 2, "changes": []},
    "planned another setting": {"schema": 1, "changes": [{**PLANNED, "setting": "link.mtu@eth0"}]},
    "no answer was prepared": [],
}


@pytest.mark.parametrize("because", BAD)
def test_an_answer_that_cannot_be_used_asks_nothing(there: There, because: str) -> None:
    (there.folder / "plan.json").write_text(json.dumps(BAD[because]))
    scene = there.do("set", SACK, "1")
    assert because.strip() in scene.notes[-1].text
    assert scene.question is None


def test_what_is_refused_there_is_said(there: There) -> None:
    there.answers("plan", {**PLANNED, "state": "refused", "because": "beyond the limits"})
    scene = there.do("set", SACK, "1")
    assert "beyond the limits" in scene.notes[-1].text
    assert scene.question is None


def test_an_undo_reads_the_journal_there_and_names_its_numbers(there: There) -> None:
    there.answers("journal", ENTRY)
    question = there.do("undo").question
    assert question is not None
    assert question.entries == ("7",)
    there.log.write_text("")
    there.answers("undo", {**PLANNED, "id": 7, "state": "undone", "before": 1, "after": 0})
    scene = there.do("agree")
    assert there.ran[:2] == ["undo", "7"]
    assert scene.notes[-1].text == f"{SACK}: back to 0: undone"


def test_only_what_was_shown_as_pending_is_confirmed(there: There) -> None:
    there.answers("journal")
    assert "no change waits" in there.do("confirm").notes[-1].text
    there.heard.scene = replace(there.heard.scene, pending=(Pending("9", SACK, 2e9),))
    there.answers("confirm", {**PLANNED, "id": 9, "state": "applied"})
    there.do("confirm")
    assert there.ran[:2] == ["confirm", "9"]


KEPT = {**PLANNED, "setting": "kept.sysctl@net.ipv4.tcp_sack", "before": "absent", "shell": ""}
FILES = {"/etc/sysctl.d/90-nettop.conf": "# Written by nettop.\nnet.ipv4.tcp_sack = 1\n"}


def test_a_setting_is_made_persistent_there_with_the_files_that_were_shown(there: There) -> None:
    there.answers("plan", PLANNED, KEPT, files=FILES)
    question = there.do("persist", SACK).question
    assert question is not None
    assert question.verb == "keep"
    assert question.files == tuple(FILES.items())
    rows = "\n".join(text_of(row) for row in question.sheets[0][1])
    assert "net.ipv4.tcp_sack = 1" in rows
    assert {"--keep", "--dry-run"} <= set(there.ran)
    there.log.write_text("")
    there.answers("set", {**PLANNED, "id": 7, "state": "applied"})
    there.answers("journal", ENTRY)
    scene = there.do("agree")
    ran = there.ran
    made = ran[ran.index("--json") + 1 :]  # after the second plan
    assert made[:4] == ["set", SACK, "1", "--before=0"]
    assert "--keep" in made
    assert "--dry-run" not in made
    assert scene.notes[-1].text == f"{SACK}: 0 → 1: applied"


def test_files_that_changed_there_are_not_written(there: There) -> None:
    there.answers("plan", PLANNED, KEPT, files=FILES)
    there.do("persist", SACK)
    there.answers("plan", PLANNED, KEPT, files={"/etc/sysctl.d/90-nettop.conf": "other\n"})
    there.answers("journal")
    scene = there.do("agree")
    assert "the files there changed" in scene.notes[-1].text
    assert there.ran.count("set") == there.ran.count("--dry-run") == 2


@pytest.mark.parametrize(
    ("changes", "more", "sentence"),
    [
        ([PLANNED, {**KEPT, "state": "refused", "because": "no systemd"}], {}, "no systemd"),
        ([{**PLANNED, "state": "unchanged"}], {}, "it already is"),
        ([{**PLANNED, "setting": "link.mtu@eth0"}], {"files": FILES}, "another setting"),
        ([PLANNED], {"files": []}, "sent an invalid answer"),
    ],
)
def test_what_cannot_persist_there_is_said(
    there: There, changes: list[Mapping[str, object]], more: Mapping[str, Any], sentence: str
) -> None:
    there.answers("plan", *changes, **more)
    scene = there.do("persist", SACK)
    assert sentence in scene.notes[-1].text
    assert scene.question is None


def test_a_finding_of_another_host_is_muted_in_the_list_of_the_user(
    there: There, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    finding = there.heard.scene.findings[0]
    question = there.do("mute", finding.id).question
    assert question is not None
    assert question.verb == "mute"
    there.do("agree")
    assert finding.id in (tmp_path / "own/nettop/muted").read_text()
    assert there.ran == []


@pytest.mark.parametrize("verb", ["test", "tune"])
def test_other_keys_do_nothing_there(there: There, verb: str) -> None:
    there.do(verb, SACK)
    assert there.ran == []
    assert "another host" in there.heard.last


def test_the_journal_there_is_read_when_its_pane_is_opened(there: There) -> None:
    there.answers("journal", ENTRY)
    there.actions.start()
    assert there.actions.wait(HANG)
    assert there.ran == []
    there.actions.follow(there.heard.scene, View(pane="journal"))
    assert there.actions.wait(HANG)
    assert [entry.setting for entry in there.heard.scene.journal] == [SACK]


def test_the_keys_of_another_host_are_offered() -> None:
    scene = replace(lossy(), origin=SceneOrigin("host", "ssh web1"))
    finding = next(one.id for one in scene.findings if scene.plans.get(one.id))
    shown = [one.key for one in hints.of_row(scene, finding)]
    assert shown == ["a", "p", "y"]
    view = View(pane="nic", spots={"nic": Spot(on="ring.rx@eth0")})
    assert act("enter", view, scene)[0].editing == "ring.rx@eth0"
    recorded = replace(scene, origin=SceneOrigin("recording", "web1"))
    assert [one.key for one in hints.of_row(recorded, finding)] == ["y"]
    assert not act("enter", view, recorded)[0].editing


def test_what_stays_in_force_there_has_its_command() -> None:
    made = JournalEntry("7", 100.0, SACK, "0", "1", "applied", way="ssh web1 nettop")
    (line,) = in_force([made], 50.0)
    assert line.endswith("ssh web1 nettop undo 7")


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("read answer < /dev/tty && echo '{}'", "/dev/tty"),
        ("head -c 9000000 /dev/zero", "more than 8 MiB"),
        ("exec 1>&- 2>&-; sleep 60", "did not end"),
    ],
)
def test_a_command_there_neither_asks_nor_floods_nor_hangs(script: str, sentence: str) -> None:
    with pytest.raises(OSError, match=sentence):
        remote.Remote(("sh", "-c", script), root=True).journal()


def test_a_command_that_answers_late_is_ended() -> None:
    with pytest.raises(HostLostError, match=r"did not answer within 0\.2 s"):
        once.run(("sh", "-c", "sleep 60"), ["nettop"], most=100, seconds=0.2)


@pytest.mark.parametrize("asks", [True, False])
def test_only_a_command_that_asks_may_use_the_terminal(*, asks: bool) -> None:
    script = "cut -d' ' -f6 /proc/$$/stat"  # its session, proc(5)
    answer = once.run(("sh", "-c", script), ["nettop"], most=100, asks=asks)
    assert (int(answer.output) == os.getsid(0)) is asks


LONG = "ssh -p 2222 -i /home/user/.ssh/a_key_of_mine -o BatchMode=yes root@web1"


@pytest.mark.parametrize("absent", [True, False])
def test_a_long_prefix_leaves_room_for_what_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absent: bool
) -> None:
    monkeypatch.setattr(Behind, "name", LONG)
    monkeypatch.setattr(remote, "safe", lambda text: LONG if text.startswith("env") else text)
    there = There(tmp_path)
    if absent:
        (tmp_path / "nettop").unlink()
        there.do("set", SACK, "1")
        assert there.heard.last.startswith("nettop is not installed at root@web1: y copies")
        return
    there.answers("plan", PLANNED)
    question = there.do("set", SACK, "1").question
    assert question is not None
    assert question.warnings == ("written by the nettop at root@web1",)
    assert there.heard.scene.notes[-1].text == "asking the nettop there for its plan"


def test_the_reason_of_a_failure_is_the_note_that_stays(there: There) -> None:
    first, second = PLANNED, {**PLANNED, "setting": "sysctl.net.ipv4.tcp_dsack"}
    there.answers("plan", first)
    there.do("set", SACK, "1")
    there.answers("journal")
    full = {"state": "refused", "because": "No space left on device: /var/lib/nettop/journal"}
    skipped = {"state": "refused", "because": "not tried: the previous change failed"}
    there.answers("set", {**first, **full}, {**second, **skipped})
    notes = [one.text for one in there.do("agree").notes[-2:]]
    assert notes[1] == f"{SACK}: not changed: No space left on device: /var/lib/nettop/journal"
    assert "not tried" in notes[0]
