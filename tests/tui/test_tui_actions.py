"""Actions: what they refuse, what they say, what they read back."""

from dataclasses import replace
from pathlib import Path

import fake_host
import pytest
from hang import HANG
from heard import Heard
from scenes import RING, lossy

from nettop.changes import Change
from nettop.changes.entry import JournaledChange
from nettop.changes.journal import Journal
from nettop.facts.limits import Limit, Reading
from nettop.facts.limits.following import Prediction
from nettop.host.source import Live
from nettop.settings import Host
from nettop.trials import prove
from nettop.trials import result as trials
from nettop.trials.result import Standing
from nettop.tui.actions import Actions
from nettop.tui.changing import Changing
from nettop.tui.keys import Ask
from nettop.tui.notes import Update
from nettop.tui.planning import spread_of, steps_back
from nettop.tui.screen import Nettop, Tick
from nettop.tui.trying import TrialBench, options_of
from nettop.views.kept import result_of
from nettop.views.scene import Ended, JournalEntry, Scene
from nettop.views.view import View

WIRE = Reading("wire", "here")
FORECAST = Prediction(Limit("nic", "eth0", "rx"), (1e8, 1e9), WIRE, WIRE)
WANTED = [("ring.rx@eth0", "512")]
FORM = {"tool": "bulk", "to": "", "peer": "", "seconds": "10", "streams": "1", "reverse": "no"}


VERBS = "apply undo set spread prove test study confirm persist export mute agree stop".split()


def test_a_directory_is_never_changed(tmp_path: Path) -> None:
    heard = Heard(lossy())
    actions = Actions(Live(str(tmp_path)), heard, lambda: None)
    for verb in VERBS:
        actions.do(Ask(verb, RING.id), View(), heard.scene)
        assert actions.wait(HANG)
        said = "no test runs" if verb == "stop" else "nothing can be changed"
        assert said in heard.last


def test_the_journal_of_this_host_is_not_shown_under_anothers_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path / "state"))
    Journal().begin(JournaledChange(1, 1e9, "sysctl.net.ipv4.tcp_sack", "1", "0"))
    for source, shown in ((Live(str(tmp_path)), 0), (Live(), 1)):
        heard = Heard(replace(lossy(), journal=()))
        Actions(source, heard, lambda: None).reload()
        assert len(heard.scene.journal) == shown


def test_an_unknown_verb_is_said() -> None:
    heard = Heard(lossy())
    Actions(Live(), heard, lambda: None).do(Ask("dance"), View(), heard.scene)
    assert "dance" in heard.last


def test_what_cannot_be_applied_is_said() -> None:
    heard = Heard(lossy())
    actions = Actions(Live(), heard, lambda: None)
    actions.planning.do_apply(Ask("apply", "pause-off@eth0"), View(), heard.scene)
    assert "p tests it" in heard.last
    actions.planning.do_apply(Ask("apply", "gone@eth0"), View(), heard.scene)
    assert "no finding" in heard.last
    bare = replace(RING, wanted=(), id="words@host")
    heard.scene = replace(heard.scene, findings=(bare,))
    actions.planning.do_apply(Ask("apply", "words@host"), View(), heard.scene)
    assert "advice only" in heard.last


def test_why_a_setting_cannot_be_set_is_said() -> None:
    heard = Heard(lossy())
    actions = Actions(Live(), heard, lambda: None)
    actions.planning.do_set(Ask("set", value="tx-0 has none"), View(), heard.scene)
    assert heard.last == "tx-0 has none"
    actions.planning.do_set(Ask("set"), View(), heard.scene)
    assert "no setting is under the cursor" in heard.last


def test_a_change_is_shown_before_it_is_made() -> None:
    heard = Heard(lossy())
    actions = Actions(Live(), heard, lambda: None)
    now = Path("/proc/sys/net/ipv4/tcp_sack").read_text().strip()
    other = "0" if now == "1" else "1"
    actions.planning.do_set(Ask("set", "sysctl.net.ipv4.tcp_sack", other), View(), heard.scene)
    question = heard.scene.question
    assert question is not None
    told = "\n".join("".join(t for t, _ in row) for row in question.sheets[0][1])
    assert f"sysctl.net.ipv4.tcp_sack: {now} → {other}" in told
    assert f"sysctl -w net.ipv4.tcp_sack={other}" in told
    assert Path("/proc/sys/net/ipv4/tcp_sack").read_text().strip() == now
    heard.scene = replace(heard.scene, question=None)
    actions.planning.do_set(Ask("set", "sysctl.net.ipv4.tcp_sack", now), View(), heard.scene)
    assert heard.scene.question is None
    assert "already" in heard.last


def test_another_device_with_the_name_that_was_shown_is_left_alone(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nettop.changes.privilege.needed", lambda _address: False)
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path / "state"))
    nic = tmp_path / "host/sys/class/net/eth0"
    heard = Heard(lossy())
    actions = Actions(host.source, heard, lambda: None, host)
    actions.planning.do_set(Ask("set", "link.txqueuelen@eth0", "2000"), View(), heard.scene)
    question = heard.scene.question
    assert question is not None
    index = (nic / "ifindex").read_text()
    (nic / "ifindex").write_text("99\n")  # renamed, moved or plugged in between
    actions.changing.agree(question, "")
    assert "eth0 is no longer the one that was shown" in heard.last
    assert (nic / "tx_queue_len").read_text() == "1000\n"
    (nic / "ifindex").write_text(index)
    actions.changing.agree(question, "")
    assert (nic / "tx_queue_len").read_text().strip() == "2000"


def test_what_would_keep_a_setting_is_shown_word_for_word() -> None:
    heard = Heard(lossy())
    actions = Actions(Live(), heard, lambda: None)
    actions.planning.do_persist(Ask("persist", "sysctl.net.ipv4.tcp_sack"), View(), heard.scene)
    question = heard.scene.question
    assert question is not None
    assert question.verb == "keep"
    ((path, text),) = question.files
    assert path == "/etc/sysctl.d/90-nettop.conf"
    rows = ["".join(text for text, _ in row).strip() for row in question.sheets[0][1]]
    assert rows[rows.index(path) + 1 :] == [row.strip() for row in text.splitlines()]
    heard.scene = replace(heard.scene, question=None)
    actions.planning.do_persist(Ask("persist", "nothing@all"), View(), heard.scene)
    assert "nothing under the cursor" in heard.last


def test_an_export_is_written_as_it_was_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    now = Path("/proc/sys/net/ipv4/tcp_sack").read_text().strip()
    made = JournalEntry("1", 5.0, "sysctl.net.ipv4.tcp_sack", "0", now, "applied")
    heard = Heard(replace(lossy(), journal=(made,)))
    actions = Actions(Live(), heard, lambda: None)
    actions.planning.do_export(Ask("export"), View(pane="journal"), heard.scene)
    question = heard.scene.question
    assert question is not None
    assert [name for name, _ in question.sheets] == ["shell", "sysctl", "systemd", "ansible"]
    actions.changing.agree(question, "sysctl")
    (file,) = tmp_path.iterdir()
    assert file.suffix == ".conf"
    assert f"\nnet.ipv4.tcp_sack = {now}\n" in file.read_text()


def test_an_export_of_a_finding_that_is_done_has_what_was_made_for_it() -> None:
    wall = lossy().wall
    made = JournalEntry("1", wall, "sysctl.net.ipv4.tcp_sack", "0", "1", "applied", RING.id)
    ended = Ended(replace(RING, wanted=()), (), wall)
    heard = Heard(replace(lossy(), findings=(), journal=(made,), ended=(ended,)))
    Actions(Live(), heard, lambda: None).planning.do_export(
        Ask("export", RING.id), View(pane="advisor"), heard.scene
    )
    question = heard.scene.question
    assert question is not None
    assert question.title == "Export"


def test_interrupts_are_spread_over_cores_before_their_siblings() -> None:
    scene = lossy()
    assert scene.facts is not None
    threads = {4: 6, 6: 4, 5: 7, 7: 5}
    cores = tuple(
        replace(c, siblings=(threads[c.cpu],)) if c.cpu in threads else c for c in scene.facts.cores
    )
    nics = tuple(
        replace(n, local_cpus=(4, 5, 6, 7)) if n.name == "eth0" else n for n in scene.facts.nics
    )
    queues = tuple(
        replace(q, nic="eth0", irq=30 + i, number=i, name=f"rx-{i}")
        for i, q in enumerate([scene.facts.queues[0]] * 4)
    )
    facts = replace(scene.facts, cores=cores, nics=nics, queues=queues)
    _, wanted = spread_of(replace(scene, facts=facts), "eth0")
    assert [value for _, value in wanted] == ["4", "5", "6", "7"]
    assert wanted[0][0] == "irq.affinity@eth0/rx-0"
    assert spread_of(scene, "nope")[1] == []


def four_cores() -> Scene:
    """The losing host with the four cores that the fake host's files have."""
    scene = lossy()
    assert scene.facts is not None
    cores = tuple(replace(core, node=None, siblings=()) for core in scene.facts.cores[:4])
    nics = tuple(replace(n, local_cpus=(0, 1, 2, 3)) for n in scene.facts.nics if n.name == "eth0")
    queues = tuple(
        replace(q, cpu=3, allowed=(0, 1, 2, 3), node=None, off_node=False)
        for q in scene.facts.queues
        if q.nic == "eth0"
    )
    return replace(scene, facts=replace(scene.facts, cores=cores, nics=nics, queues=queues))


async def test_interrupts_are_spread_moved_and_put_back_by_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nettop.changes.privilege.needed", lambda _address: False)
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    host = fake_host.make(tmp_path / "host")
    host.source.live = True  # type: ignore[misc]

    def affinity() -> list[str]:
        folder = tmp_path / "host/proc/irq"
        return [(folder / irq / "smp_affinity_list").read_text().strip() for irq in ("25", "26")]

    app = Nettop(View(pane="cores"), four_cores())

    def post(update: Update) -> None:
        app.post_message(Tick(update))

    app.actions = actions = Actions(host.source, post, lambda: None, host)

    def shown() -> str:
        return "\n".join("".join(text for text, _ in row) for row in app.board.shown)

    async with app.run_test(size=(120, 40)) as pilot:

        async def done(*pressed: str) -> None:
            await pilot.press(*pressed)
            assert actions.wait(HANG)
            await pilot.pause()

        await done("S")
        assert "Spread 2 interrupts of eth0" in shown()
        assert "irq.affinity@eth0/rx-0: 0-3 → 0" in shown()
        assert "irq.affinity@eth0/tx-0: 0-3 → 1" in shown()
        assert affinity() == ["0-3", "0-3"]  # shown, not done
        await done("escape")
        assert "nothing was changed" in shown()
        await done("S")
        await done("enter")
        assert affinity() == ["0", "1"]
        await done("e", "2")
        assert "irq.affinity@eth0/rx-0 = 2" in shown()
        await done("enter")
        assert "irq.affinity@eth0/rx-0: 0 → 2" in shown()
        await done("enter")
        assert affinity() == ["2", "1"]
        await done("u")  # the newest change first
        assert "irq.affinity@eth0/rx-0: 2 → 0" in shown()
        assert affinity() == ["2", "1"]
        await done("enter")
        assert affinity() == ["0", "1"]
        await done("8")
        assert "2 in force of 3" in shown()
        for _ in range(2):
            await done("j", "u")
            await done("enter")
        assert affinity() == ["0-3", "0-3"]


def test_without_rights_the_line_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from nettop.changes import privilege

    heard = Heard(lossy())
    changing = Actions(Live(), heard, lambda: None).changing
    monkeypatch.setattr(privilege, "needed", lambda _address: True)
    monkeypatch.setattr(privilege, "may", lambda: False)
    now = Path("/proc/sys/net/ipv4/tcp_sack").read_text().strip()
    other = "0" if now == "1" else "1"
    changing.change([Change("sysctl.net.ipv4.tcp_sack", now, other)], "")
    assert heard.last.endswith("needs root: start nettop with sudo, or y copies the command")
    assert not changing.used_sudo
    assert Path("/proc/sys/net/ipv4/tcp_sack").read_text().strip() == now


def test_a_form_is_checked() -> None:
    made = options_of({**FORM, "to": "192.0.2.1", "streams": "4", "reverse": "yes"})
    assert (made.to, made.streams, made.reverse, made.peer) == ("192.0.2.1", 4, True, None)
    for wrong in ({"seconds": "soon"}, {"streams": "0"}, {"seconds": "-1"}):
        with pytest.raises(ValueError, match="seconds and streams"):
            options_of({**FORM, **wrong})


def test_a_test_without_an_address_is_not_started() -> None:
    heard = Heard(lossy())
    bench = TrialBench(heard, lambda: None)
    bench.test(FORM)
    assert "address" in heard.last
    assert not bench.stop()


def test_a_proof_shows_its_pairs_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, Scene]] = []
    heard = Heard(lossy())

    def prove_(finding: str, wanted: object, on: prove.Bench, **more: object) -> dict[str, str]:
        assert more == {"predicted": FORECAST, "lever": None}
        standing = Standing("bit/s", True, (1e9, 1.1e9), (2e9,), 1.0, (0.9, 1.1))
        on.outer(trials.Progress("experiment", 12.0, 40.0, note="changed, run 2",
                                 standing=standing))  # fmt: skip
        on._inner(trials.Progress("send", 1.0, 2.0, 1.9e9, (50.0,)))
        seen.append((f"{on.tool} {finding} {wanted}", heard.scene))
        return {"verdict": "better", "kept": "yes"}

    monkeypatch.setattr(prove, "prove", prove_)
    TrialBench(heard, lambda: None).prove(RING.id, WANTED, {**FORM, "to": "192.0.2.1"}, FORECAST)
    ((told, scene),) = seen
    assert told.startswith(f"bulk {RING.id}")
    progress = scene.progress
    assert progress is not None
    assert progress.proof is not None
    assert (progress.elapsed, progress.seconds, progress.stage) == (13.0, 40.0, "changed, run 2")
    assert progress.proof.before == (1e9, 1.1e9)
    assert progress.proof.after == (2e9,)
    assert (progress.proof.interval, progress.proof.middle) == ((0.9, 1.1), 1.0)
    assert progress.intervals == (1.9e9,)
    assert heard.scene.progress is None
    assert "'ring.rx@eth0', '512'" in told
    assert heard.last == f"{RING.id}: better; kept"


def test_a_stored_result_is_read_in_the_panes_words() -> None:
    found = result_of(
        {
            "id": "x", "kind": "test", "at": 5.0, "tool": "iperf3", "to": "192.0.2.1",
            "seconds": 10, "streams": 4, "bits_per_second": 9.4e9, "retransmits": 1882,
            "intervals": [{"bits_per_second": 9.3e9}, {"bits_per_second": 9.5e9}],
            "latency": {"p50": 42.0, "p99": 61.0, "max": 310.0, "unit": "us"},
        }
    )  # fmt: skip
    assert found.bits_per_second == 9.4e9
    assert found.intervals == (9.3e9, 9.5e9)
    assert ("retransmits", "1,882") in found.figures
    assert ("p99", "61.0 us") in found.figures
    proof = result_of(
        {"kind": "prove", "finding": "a@b", "median_difference": 0.348, "verdict": "better"}
    )
    assert (proof.title, proof.verdict) == ("a@b", "better")
    assert ("median", "+34.8%") in proof.figures


def test_an_undo_that_may_cut_the_link_waits_for_c_and_c_keeps_what_was_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nettop.changes import guard, plan
    from nettop.changes.apply import Terms, apply
    from nettop.views.kept import journal

    monkeypatch.setenv("NETTOP_STATE", str(tmp_path / "state"))
    host = fake_host.make(tmp_path / "host")
    mtu = tmp_path / "host/sys/class/net/eth0/mtu"
    terms = Terms(confirm=60, arm=lambda *_: None)
    apply(plan.plan([("link.mtu@eth0", "9000")], host.source), host, Journal(), terms)
    guard.confirm(Journal())
    heard = Heard(lossy())
    changing = Changing(host.source, heard, lambda: None, host)
    monkeypatch.setattr(changing, "_terms", lambda _finding: terms)

    def look() -> None:
        made, pending = journal(host)
        heard.scene = replace(heard.scene, journal=made, pending=pending)

    look()
    changing.undo([heard.scene.journal[0].id])
    assert (mtu.read_text().strip(), "pending" in heard.last) == ("1500", True)
    before = heard.scene  # this countdown was not yet on the screen
    look()
    (shown,) = heard.scene.pending
    assert (shown.setting, shown.id) == ("link.mtu@eth0", "2")
    changing.do_confirm(Ask("confirm"), View(), replace(before, pending=()))
    assert "no change waits" in heard.last
    changing.do_confirm(Ask("confirm"), View(), heard.scene)
    assert "undone" in heard.last
    assert [entry.state for entry in Journal().entries()] == ["undone", "undone"]
    assert mtu.read_text().strip() == "1500"


def test_changes_of_one_setting_are_undone_in_one_row() -> None:
    rows = [("3", "a", "5000", "9000"), ("2", "b", "1", "2"), ("1", "a", "1000", "5000"),
            ("0", "a", "7", "8")]  # fmt: skip
    entries = [JournalEntry(id_, 1.0, name, was, now, "pending") for id_, name, was, now in rows]
    steps = [[entry.id for entry in step] for step in steps_back(entries)]
    assert steps == [["3", "1"], ["2"], ["0"]]
