"""Confirm or revert: the guard's own process, systemd's timer by a stand-in, the terminal."""

from __future__ import annotations

import os
import pty
import select
import sys
import time
from pathlib import Path

import pytest

from nettop import settings
from nettop.changes import guard, place, plan, undo
from nettop.changes.apply import Terms, apply
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


def test_the_guard_is_nobodys_child_and_holds_nothing(
    book: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "_SYSTEMD", str(tmp_path / "none"))
    book.append({"event": "told", "id": 0})
    guard.arm(book, 1, since_boot() + 3)  # does not wait: the guard still lives
    mine = [p for p in Path("/proc").iterdir() if p.name.isdigit() and _is_guard(p, book.folder)]
    assert len(mine) == 1
    stat = (mine[0] / "stat").read_text().rpartition(")")[2].split()
    parent, session, terminal = int(stat[1]), int(stat[3]), int(stat[4])
    assert parent != os.getpid()
    assert session != os.getsid(0)
    assert terminal == 0

    def held() -> set[str]:
        try:
            return {os.readlink(fd) for fd in (mine[0] / "fd").iterdir()}
        except FileNotFoundError:  # closed meanwhile: it reads the journal
            return set()

    end = time.monotonic() + 2  # it closes the pipe a moment after it said that it waits
    while (seen := held()) != {"/dev/null"} and time.monotonic() < end:
        time.sleep(0.01)
    assert seen == {"/dev/null"}
    end = time.monotonic() + 8
    while mine[0].exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not mine[0].exists(), "the guard did not end"


def _is_guard(process: Path, folder: str) -> bool:
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"nettop.changes.guard" in words and folder.encode() in words


def test_a_guard_that_cannot_start_is_an_error(
    book: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "_SYSTEMD", str(tmp_path / "none"))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(OSError, match="did not start"):
        guard.arm(book, 1, since_boot() + 60)


def test_systemds_timer_is_used_where_it_is_in_charge(
    book: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = tmp_path / "bin/systemd-run"
    stand_in.parent.mkdir()
    stand_in.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/words\nexit "$CODE"\n')
    stand_in.chmod(0o755)
    (tmp_path / "systemd").mkdir()
    monkeypatch.setattr(guard, "_SYSTEMD", str(tmp_path / "systemd"))
    monkeypatch.setattr(place, "first_netns", lambda: True)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(guard, "program", lambda name: str(stand_in.parent / name))
    monkeypatch.setattr(guard, "environment", lambda: dict(os.environ))
    monkeypatch.setenv("CODE", "0")
    guard.arm(book, 7, since_boot() + 30)
    words = (tmp_path / "words").read_text().splitlines()
    assert words[0].startswith("--on-active=29.") or words[0] == "--on-active=30.000"
    assert words[-7:-3] == [sys.executable, "-I", "-m", "nettop.changes.guard"]
    assert words[-3:-1] == [book.folder, "7"]
    monkeypatch.setenv("CODE", "1")  # no bus: then a process of its own waits
    guard.arm(book, 7, since_boot() + 1)
    assert [p for p in Path("/proc").iterdir() if p.name.isdigit() and _is_guard(p, book.folder)]
    stand_in.unlink()
    guard.arm(book, 8, since_boot() + 1)


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
    monkeypatch.setattr(guard, "_PATIENCE", 0.2)
    group = pending(host, book)
    with book.lock():
        assert [r.state for r in guard.revert(book, group)] == ["reverted"]
    assert mtu(tmp_path) == "1500"


def test_what_is_written_after_the_revert_is_taken_back_when_the_lock_is_free(
    host: Host, book: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Host, "at", classmethod(lambda _cls, _root="/": host))
    group = pending(host, book)
    guard.revert(book, group)
    assert guard.once_more(book, group) == ()
    (tmp_path / "host/sys/class/net/eth0/mtu").write_text("9000")
    assert [r.state for r in guard.once_more(book, group)] == ["reverted"]
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
    assert any("the interface is gone" in line for line in guard.notices(book))
    book.told()
    assert not any("the interface is gone" in line for line in guard.notices(book))


def test_a_guard_that_died_is_noticed(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = pending(host, book, 5)
    assert guard.notices(book) == ()
    later = since_boot() + 60
    monkeypatch.setattr(guard, "since_boot", lambda: later)
    (told,) = guard.notices(book)
    assert f"nettop undo {number}" in told


def test_a_guard_waits_only_once_it_has_loaded_what_it_needs(
    host: Host, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nettop writes, and time counts, when it says so: loading may take longer than that time."""
    entry = pending(host, book, 30)
    end, ours = os.pipe()
    told: list[tuple[str, bool]] = []

    def prepare(_host: Host, address: settings.Address) -> None:
        told.append((str(address), bool(select.select([end], [], [], 0)[0])))

    monkeypatch.setattr(Host, "at", lambda *_: host)
    monkeypatch.setattr(settings, "prepare", prepare)
    monkeypatch.setattr(os, "fork", lambda: 0)
    monkeypatch.setattr(os, "setsid", lambda: None)
    monkeypatch.setattr(guard, "since_boot", lambda: 1e9)
    guard.main([book.folder, str(entry), "0", str(ours)])
    assert told == [("link.mtu@eth0", False)]
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


COUNTDOWN = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
sys.path.insert(0, {tests!r})
import fake_host
from nettop.changes import guard, plan, report
from nettop.changes.apply import Terms, apply
from nettop.changes.journal import Journal
from nettop.settings import Host
host, book = Host.at({root!r}), Journal({state!r})
Host.at = classmethod(lambda cls, root="/": host)
terms = Terms(confirm={seconds}, arm=lambda *_: None)
made = apply(plan.plan([("link.mtu@eth0", "9000")], host.source), host, book, terms)
print("READY", flush=True)
made = report.await_enter(book, made)
print("STATE", made[0].state, report.code(made), flush=True)
"""


@pytest.mark.parametrize(
    ("typed", "shows", "left"),
    [(b"\r", "STATE applied 0", "9000"), (b"\x03", "STATE reverted 5", "1500")],
)
def test_on_a_terminal_enter_keeps_and_ctrl_c_takes_back(
    host: Host, book: Journal, tmp_path: Path, typed: bytes, shows: str, left: str
) -> None:
    code = COUNTDOWN.format(
        tests=str(Path(__file__).parent), root=host.root, state=book.folder, seconds=30
    )
    pid, terminal = pty.fork()
    if not pid:
        os.execv(sys.executable, [sys.executable, "-c", code])
    seen = b""
    sent = False
    end = time.monotonic() + 20
    while b"STATE" not in seen.rpartition(b"\n")[0] and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            seen += os.read(terminal, 4096)
        if not sent and b"reverts in" in seen:
            os.write(terminal, typed)
            sent = True
    os.close(terminal)
    os.waitpid(pid, 0)
    assert shows.encode() in seen, seen
    assert mtu(tmp_path) == left


@pytest.mark.parametrize(
    "words", [["undo", "--all"], ["undo", "1"], ["confirm"], ["journal"],
              ["set", "sysctl.net.ipv4.tcp_fin_timeout", "59"]],
)  # fmt: skip
def test_a_journal_that_cannot_be_used_is_told_in_a_sentence(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    from nettop.cli import main

    (tmp_path / "state").write_text("no folder")
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path / "state"))
    before = Path("/proc/sys/net/ipv4/tcp_fin_timeout").read_text()
    assert main(words) in (3, 4)
    told = capsys.readouterr()
    assert len((told.err + told.out).strip().splitlines()) <= 2
    assert Path("/proc/sys/net/ipv4/tcp_fin_timeout").read_text() == before


def test_a_user_is_given_the_line_that_root_would_type(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from nettop.cli import main

    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("nettop.trust.SYSTEM", ("/nonexistent",))
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
