"""How long a prefix may take to log in: as long as a user types, and else a bounded time."""

from __future__ import annotations

import sys
from io import StringIO
from types import SimpleNamespace

import pytest

from nettop.cli import main
from nettop.commands import _distant

SHORT = 0.2  # seconds


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nettop.host.connection.HELLO", SHORT)
    monkeypatch.setattr("nettop.commands.SLOW", SHORT / 4)


@pytest.mark.parametrize("words", [["advise", "--host"], ["advise", "--peer"], ["why", "--peer"]])
def test_without_a_terminal_a_silent_far_end_is_one_sentence(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO())
    assert main([*words, "sh -c 'exec sleep 600'"]) == 3
    told = capsys.readouterr().err
    assert f"did not start a reader within {SHORT:g} s" in told
    assert f"still connecting to sh -c 'exec sleep 600', for {SHORT:g} s at most" in told
    assert "Ctrl-C" not in told


def test_with_a_terminal_the_user_may_take_longer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    source = _distant(f"""sh -c 'sleep {5 * SHORT}; exec "$@"' sh""")
    assert source.text("/proc/sys/kernel/ostype") == "Linux\n"
    assert "Ctrl-C ends it" in capsys.readouterr().err
