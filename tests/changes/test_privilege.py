"""Changes through sudo: the command that runs as root has the same terms from screen and shell."""

from collections.abc import Sequence

import pytest

from nettop.changes import Change, Result, privilege
from nettop.cli import main
from nettop.host.source import Live
from nettop.tui.changing import Changing
from nettop.views.kept import ROOTS

SACK = "sysctl.net.ipv4.tcp_sack"
PEER = "192.0.2.7"


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that sudo would run; each makes its change."""
    seen: list[list[str]] = []

    def results(words: Sequence[str]) -> tuple[Result, ...]:
        seen.append(list(words))
        return (Result(SACK, "1", "0", "done"),)

    monkeypatch.setattr(privilege, "results", results)
    monkeypatch.setattr(privilege, "needed", lambda _address: True)
    monkeypatch.setattr("os.geteuid", lambda: 4711)
    monkeypatch.setenv("SSH_CONNECTION", f"{PEER} 50000 192.0.2.1 22")
    return seen


def test_a_change_by_key_keeps_its_terms_as_root(commands: list[list[str]]) -> None:
    changing = Changing(Live(), lambda _message: None, lambda: None)
    changing.change([Change(SACK, "1", "0")], "sack-off")
    assert commands == [
        ["set", SACK, "0", "--before=1", "--confirm=30", "--finding=sack-off",
         f"--ssh-peer={PEER}"],
    ]  # fmt: skip
    assert changing.used_sudo


def test_an_undo_by_key_keeps_its_terms_as_root(commands: list[list[str]]) -> None:
    Changing(Live(), lambda _message: None, lambda: None).undo([f"{ROOTS}4"])
    assert commands == [["undo", "4", "--confirm=30", f"--ssh-peer={PEER}"]]


def test_a_change_by_command_keeps_its_terms_as_root(commands: list[list[str]]) -> None:
    value = Live().text("/proc/sys/net/ipv4/tcp_sack").strip()
    other = "0" if value == "1" else "1"
    terms = ["--anyway", "--confirm", "45", "--finding", "x", "--keep"]
    assert main(["set", SACK, other, *terms]) == 0
    (words,) = commands
    assert words[:4] == ["set", SACK, other, f"--before={value}"]
    assert words[4:] == ["--confirm=45", "--finding=x", f"--ssh-peer={PEER}", "--keep"]


def test_root_persists_a_setting_that_has_its_value(commands: list[list[str]]) -> None:
    value = Live().text("/proc/sys/net/ipv4/tcp_sack").strip()
    assert main(["set", SACK, value, "--keep"]) == 0
    (words,) = commands
    assert words[:4] == ["set", SACK, value, f"--before={value}"]
    assert words[-1] == "--keep"


def test_absent_terms_are_no_options() -> None:
    assert privilege.options(30.0) == ["--confirm=30"]
