"""The colours follow the terminal."""

import os

import pytest

from nettop.tui import app as starter


def test_the_theme_follows_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLORTERM", raising=False)
    monkeypatch.setenv("TERM", "linux")
    assert starter.theme("") == "ansi"
    monkeypatch.setenv("TEXTUAL_DRIVER", "textual.drivers.web_driver:WebDriver")
    assert starter.theme("") == "dark"
    monkeypatch.delenv("TEXTUAL_DRIVER")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert starter.theme("") == "dark"
    assert starter.theme("light") == "light"
    monkeypatch.setenv("NO_COLOR", "1")
    assert starter.theme("light") == "mono"


@pytest.mark.parametrize(
    ("term", "colours"),
    [
        ("xterm-kitty", "truecolor"), ("foot", "truecolor"), ("wezterm", "truecolor"),
        ("tmux-256color", "truecolor"), ("xterm-256color", None), ("linux", None),
    ],
)  # fmt: skip
def test_a_terminal_that_is_known_for_it_has_all_colours_over_ssh(
    monkeypatch: pytest.MonkeyPatch, term: str, colours: str | None
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLORTERM", "")
    monkeypatch.delenv("COLORTERM")
    monkeypatch.setenv("TERM", term)
    starter.environment()
    assert os.environ.get("COLORTERM") == colours
    assert starter.theme("") == ("ansi" if term == "linux" else "dark")
