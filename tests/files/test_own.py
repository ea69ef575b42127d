"""What nettop starts anew is the one file where it came from one."""

import sys
from pathlib import Path

import pytest

from nettop.changes import Result, privilege, report
from nettop.commands import serve
from nettop.files import own
from nettop.host import systemd

FILE = "/opt/nettop-x86_64"


@pytest.fixture
def one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys._xoptions, "file", FILE)
    monkeypatch.setattr(sys, "argv", ["/var/cache/nettop/0/bin/nettop", "undo"])
    monkeypatch.setattr(sys, "executable", "/tmp/nettop-0/0/bin/python")


def test_root_gets_the_one_file_and_never_the_python_in_the_cache_of_a_user(one_file: None) -> None:
    assert privilege.line(["undo", "3"]) == f"sudo {FILE} undo 3"
    assert own.again("-I") == own.again() == own.command() == [FILE]


def test_a_service_of_the_one_file_is_not_hidden_by_where_it_was_unpacked(one_file: None) -> None:
    assert systemd.hidden(own.command()) == ""
    assert systemd.hidden(["/home/me/nettop-x86_64"]) == "/home/me/nettop-x86_64"


def test_without_one_file_it_is_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/nonexistent/__main__.py"])
    assert own.again("-I") == [sys.executable, "-I", "-m", "nettop"]
    assert own.command() == [sys.executable, "-P", "-m", "nettop"]


def test_the_screen_for_a_browser_is_the_one_file(one_file: None) -> None:
    import argparse

    parser = argparse.ArgumentParser()
    serve.arguments(parser)
    assert serve.command(parser.parse_args(["--demo"])) == [FILE, "--demo", "--read-only"]


def test_a_printed_command_leads_to_this_nettop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is enough where the search path leads to it, also by a link; else its path."""
    here = tmp_path / "a folder/nettop"
    for folder in ("a folder", "bin", "other"):
        (tmp_path / folder).mkdir()
    for program in (here, tmp_path / "other/nettop"):
        program.write_text("")
        program.chmod(0o755)
    (tmp_path / "bin/nettop").symlink_to(here)
    monkeypatch.setattr(sys, "argv", [str(here), "undo"])
    monkeypatch.setattr(own, "SYSTEM", (str(tmp_path / "other"),))
    for searched, called in (
        (f"{tmp_path}/bin:/bin", "nettop"),
        (f"{tmp_path}/other:{tmp_path}/bin", f"'{here}'"),
        ("/nonexistent", f"'{here}'"),
    ):
        assert own.called(searched) == called
    assert own.called_as_root() == f"sudo '{here}'"
    monkeypatch.setitem(sys._xoptions, "file", str(tmp_path / "nettop-x86_64"))
    assert own.called(str(tmp_path / "other")) == f"{tmp_path}/nettop-x86_64"


def test_a_module_of_python_has_no_program_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/nonexistent/__main__.py"])
    assert own.called("/nonexistent") == "nettop"


@pytest.mark.usefixtures("one_file")
def test_the_command_that_confirms_a_change_can_be_typed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report.show([Result("link.mtu@v", "1", "2", "pending", 7, "2", deadline=0.0)])
    assert f"unless confirmed: {FILE} confirm 7" in capsys.readouterr().out
