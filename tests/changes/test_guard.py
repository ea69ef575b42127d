"""Confirm or revert: the guard's own process, systemd's timer by a stand-in, the terminal."""

import os
import select
import signal
import sys
import time
from pathlib import Path

import pytest
from changes_netns import end_guards
from hang import until

from nettop import settings
from nettop.changes import arm, context, guard, plan, undo, unguarded
from nettop.changes.apply import Terms, apply
from nettop.changes.entry import JournaledChange
from nettop.changes.journal import Journal, since_boot
from nettop.settings import Host


def pending(host: Host, book: Journal, seconds: float = 60) -> int:
    terms = Terms(confirm=seconds, arm=lambda *_: None)
    (made,) = apply(plan.plan([("link.mtu@eth0", "9000")], host.source), host, book, terms)
    assert made.state == "pending"
    assert made.id is not None
    return made.id


def mtu(tmp_path: Path) -> str:
    return (tmp_path / "host/sys/class/net/eth0/mtu").read_text().strip()


def test_the_guard_is_nobodys_child_and_holds_nothing_of_nettop(
    book: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arm, "_SYSTEMD", str(tmp_path / "none"))
    nowhere(book, 3)
    arm.start(book, 1, since_boot() + 3)  # does not wait: the guard still lives
    mine = guards(book)
    assert len(mine) == 1
    stat = (mine[0] / "stat").read_text().rpartition(")")[2].split()
    parent, session, terminal = int(stat[1]), int(stat[3]), int(stat[4])
    assert parent != os.getpid()
    assert session != os.getsid(0)
    assert terminal == 0

    def held() -> set[str]:
        try:
            names = {os.readlink(fd) for fd in (mine[0] / "fd").iterdir()}
        except FileNotFoundError:  # closed meanwhile: it reads the journal
            return set()
        return {name for name in names if not name.startswith("socket:")}

    # it closes the pipe a moment after it said that it waits; it keeps the journal open
    until(lambda: held() == {"/dev/null", book.path}, held)
    until(lambda: not mine[0].exists(), "the guard did not end")


def nowhere(book: Journal, seconds: float) -> None:
    """A pending change of a process that this machine does not have: a real guard may run.

    Of an interface only root can see that it is gone.
    """
    due = since_boot() + seconds
    book.begin(JournaledChange(0, time.time(), "process.affinity@999999999", "0", "1", due=due,
                     armed=True, boot=context.boot(), identity="gone started 1"))  # fmt: skip


def guards(book: Journal) -> list[Path]:
    """The processes of this journal's guards."""
    return [p for p in Path("/proc").iterdir() if p.name.isdigit() and _is_guard(p, book.folder)]


def _is_guard(process: Path, folder: str) -> bool:
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"nettop.changes.guard" in words and folder.encode() in words


def test_a_guard_that_cannot_start_is_an_error(
    book: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arm, "_SYSTEMD", str(tmp_path / "none"))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(OSError, match="did not start"):
        arm.start(book, 1, since_boot() + 60)


def test_systemd_runs_the_guard_where_it_is_in_charge(
    book: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = tmp_path / "bin/systemd-run"
    stand_in.parent.mkdir()
    stand_in.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/words\nexit "$CODE"\n')
    stand_in.chmod(0o755)
    (tmp_path / "systemd").mkdir()
    monkeypatch.setattr(arm, "_SYSTEMD", str(tmp_path / "systemd"))
    monkeypatch.setattr(context, "first_netns", lambda: True)
    monkeypatch.setattr(arm, "program", lambda name: str(stand_in.parent / name))
    monkeypatch.setattr(arm, "environment", lambda: dict(os.environ))
    monkeypatch.setenv("CODE", "0")
    nowhere(book, 600)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    arm.start(book, 1, since_boot() + 30)
    words = (tmp_path / "words").read_text().splitlines()
    assert f"--unit=nettop-guard-{os.getpid()}-1" in words
    assert "--property=Type=forking" in words
    assert not [word for word in words if word.startswith("--on-")], "a timer reverts nothing"
    assert words[-7:-3] == [sys.executable, "-I", "-m", "nettop.changes.guard"]
    assert words[-3:-1] == [book.folder, "1"]
    monkeypatch.setenv("CODE", "1")  # no bus: then a process of its own waits
    arm.start(book, 1, since_boot() + 1)
    assert len(guards(book)) == 1
    stand_in.unlink()
    arm.start(book, 1, since_boot() + 1)
    assert len(guards(book)) == 2
    monkeypatch.setattr(os, "geteuid", lambda: user)
    book.note(1, "undone")  # both end
    end_guards(Path(book.folder))


def test_a_confirmation_has_been_read_by_the_guard_when_it_is_said(
    book: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the loss of the journal reverts nothing: each guard looks four times a second."""
    monkeypatch.setattr(arm, "_SYSTEMD", str(tmp_path / "none"))
    for group in (1, 2):
        nowhere(book, 600)
        book.note(group, "end", state="pending", after="1")
        arm.start(book, group, since_boot() + 600)
    assert len(guards(book)) == 2
    guard.confirm(book)
    assert guards(book) == []


def test_a_guard_knows_each_change_of_its_group_before_it_is_made(
    host: Host, book: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A journal that is removed right after the second write keeps nothing in place."""
    monkeypatch.setattr(arm, "_SYSTEMD", str(tmp_path / "none"))
    known: list[int] = []

    def write(host: Host, address: settings.Address, value: str) -> None:
        known.append(unguarded.known(book.folder, 1))
        put(host, address, value)

    put = settings.write
    monkeypatch.setattr(settings, "write", write)
    wanted = [("link.mtu@eth0", "9000"), ("link.txqueuelen@eth0", "5000")]
    made = apply(plan.plan(wanted, host.source), host, book, Terms(confirm=600))
    assert [one.state for one in made] == ["pending", "pending"]
    assert known[-1] == 2
    guard.confirm(book)
    assert unguarded.known(book.folder, 1) == -1


def test_a_change_that_its_guard_does_not_know_is_not_made(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arm, "start", lambda *_: None)
    wanted = [("link.mtu@eth0", "9000"), ("link.txqueuelen@eth0", "5000")]
    made = apply(plan.plan(wanted, host.source), host, book, Terms(confirm=600))
    assert [one.state for one in made] == ["pending", "refused"]
    assert "the guard of change 1 has ended" in made[1].because
    assert settings.read(host.source, settings.parse("link.txqueuelen@eth0")) == "1000"


def test_it_reverts_once_and_never_after_a_confirm(
    host: Host, book: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Host, "at", classmethod(lambda _cls, _root="/": host))
    first = pending(host, book)
    assert [r.state for r in guard.revert(book, first)] == ["reverted"]
    assert mtu(tmp_path) == "1500"
    assert guard.revert(book, first) == ()
    second = pending(host, book)
    assert [r.state for r in guard.confirm(book)] == ["applied"]
    assert guard.revert(book, second) == ()
    assert mtu(tmp_path) == "9000"
    undo.undo(book, host, everything=True)
    assert [r.state for r in guard.confirm(book, (first,))] == ["reverted"]


def test_a_stopped_nettop_cannot_hold_the_guard_back(
    host: Host, book: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Host, "at", classmethod(lambda _cls, _root="/": host))
    monkeypatch.setattr(guard, "PATIENCE", 0.2)
    group = pending(host, book)
    with book.lock():
        assert [r.state for r in guard.revert(book, group)] == ["reverted"]
    assert mtu(tmp_path) == "1500"


def test_what_is_written_after_the_revert_is_taken_back_when_the_lock_is_free(
    host: Host, book: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Host, "at", classmethod(lambda _cls, _root="/": host))
    number = pending(host, book)
    guard.revert(book, number)
    assert guard.once_more(book, [number]) == ()
    (tmp_path / "host/sys/class/net/eth0/mtu").write_text("9000")
    assert [r.state for r in guard.once_more(book, [number])] == ["reverted"]
    assert mtu(tmp_path) == "1500"


def test_a_nettop_that_writes_too_late_takes_it_back_itself(
    host: Host, book: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard reverts between the last look at the clock and the write."""
    write = settings.write
    times = iter([since_boot()] * 4)

    def late(to: Host, address: settings.Address, value: str) -> None:
        if value == "9000":
            book.note(1, "reverted")
        write(to, address, value)

    monkeypatch.setattr(settings, "write", late)
    monkeypatch.setattr("nettop.changes.apply.since_boot", lambda: next(times, since_boot() + 3600))
    terms = Terms(confirm=60, arm=lambda *_: None)
    (made,) = apply(plan.plan([("link.mtu@eth0", "9000")], host.source), host, book, terms)
    assert made.state == "reverted"
    assert mtu(tmp_path) == "1500"


def test_a_failure_is_told_at_the_next_start_and_once(host: Host, book: Journal) -> None:
    number = pending(host, book)
    book.note(number, "guard-failed", because="the interface is gone")
    assert any("the interface is gone" in line for line in unguarded.notices(book))
    book.mark_shown()
    assert not any("the interface is gone" in line for line in unguarded.notices(book))


def test_a_guard_that_died_is_noticed(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = pending(host, book, 60)
    monkeypatch.setattr(Host, "at", classmethod(lambda _cls, _root="/": host))
    with monkeypatch.context() as patch:
        patch.setattr(unguarded, "running", lambda *_: {str(number)})
        assert unguarded.notices(book) == ()
    (told,) = unguarded.notices(book)
    assert f"nettop undo {number}, or nettop confirm {number}" in told
    later = since_boot() + 60
    monkeypatch.setattr(unguarded, "since_boot", lambda: later)
    (told,) = unguarded.notices(book)
    assert told.endswith(f"nettop undo {number}")


def test_a_guard_waits_only_once_it_has_loaded_what_it_needs(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nettop writes, and time counts, when it says so: loading may take longer than that time."""
    entry = pending(host, book, 30)
    end, ours = os.pipe()
    told: list[bool] = []

    def ready() -> None:
        told.append(bool(select.select([end], [], [], 0)[0]))

    monkeypatch.setattr(Host, "at", lambda *_: host)
    monkeypatch.setattr("nettop.changes.ready.ready", ready)
    monkeypatch.setattr(os, "fork", lambda: 0)
    monkeypatch.setattr(os, "pipe", lambda: (os.dup(end), ours))
    monkeypatch.setattr(os, "setsid", lambda: None)
    monkeypatch.setattr(guard, "since_boot", lambda: 1e9)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        guard.main([book.folder, str(entry), "0"])
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    assert told == [False]
    assert os.read(end, 2) == b"!"
    os.close(end)
    assert [e.state for e in book.entries()] == ["reverted"]


def test_clocks_that_jump_do_not_matter(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 4e9)
    pending(host, book, 30)
    monkeypatch.setattr(time, "time", lambda: 1e9)
    entry = book.entries()[0]
    assert entry.due is not None
    assert 25 < entry.due - since_boot() <= 30
    assert [r.state for r in undo.undo(book, host, everything=True)] == ["undone"]


@pytest.mark.parametrize(
    "words", [["undo", "--all"], ["undo", "1"], ["confirm"], ["journal"],
              ["set", "sysctl.net.ipv4.tcp_fin_timeout", "OTHER"]],
)  # fmt: skip
def test_a_journal_that_cannot_be_used_is_told_in_a_sentence(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    from nettop.cli import main

    (tmp_path / "state").write_text("no folder")
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path / "state"))
    before = Path("/proc/sys/net/ipv4/tcp_fin_timeout").read_text()
    other = str(int(before) + 1)
    assert main([other if word == "OTHER" else word for word in words]) in (3, 4)
    told = capsys.readouterr()
    assert len((told.err + told.out).strip().splitlines()) <= 2
    assert Path("/proc/sys/net/ipv4/tcp_fin_timeout").read_text() == before


def test_a_user_is_given_the_line_that_root_would_type(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from nettop.cli import main

    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("nettop.files.trust.SYSTEM", ("/nonexistent",))
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path / "none"))
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.7 50000 192.0.2.1 22")
    name = "net.ipv4.tcp_fin_timeout"
    before = Path("/proc/sys/net/ipv4/tcp_fin_timeout").read_text()
    assert main(["set", f"sysctl.{name}", str(int(before) - 1)]) == 4
    shown = capsys.readouterr().out
    assert f"this needs root: sudo {sys.executable} -I -m nettop set sysctl.{name}" in shown
    assert f"--before={before.strip()}" in shown
    assert "--ssh-peer=192.0.2.7" in shown
    assert Path("/proc/sys/net/ipv4/tcp_fin_timeout").read_text() == before
    assert not (tmp_path / "none").exists()
