"""What nettop starts anew is the one file where it came from one."""

from __future__ import annotations

import sys

import pytest

from nettop.box import unit
from nettop.changes import privilege
from nettop.commands import serve
from nettop.files import own

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
    assert unit.hidden(own.command()) == ""
    assert unit.hidden(["/home/me/nettop-x86_64"]) == "/home/me/nettop-x86_64"


def test_without_one_file_it_is_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/nonexistent/__main__.py"])
    assert own.again("-I") == [sys.executable, "-I", "-m", "nettop"]
    assert own.command() == [sys.executable, "-P", "-m", "nettop"]


def test_the_screen_for_a_browser_is_the_one_file(one_file: None) -> None:
    import argparse

    parser = argparse.ArgumentParser()
    serve.arguments(parser)
    assert serve.command(parser.parse_args(["--demo"])) == [FILE, "--demo", "--read-only"]
