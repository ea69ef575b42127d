"""How long a prefix may take to log in: as long as a user types, and else a bounded time."""

import sys
import threading
from io import StringIO
from types import SimpleNamespace

import pytest
from hang import HANG

from nettop.cli import main
from nettop.commands import _distant
from nettop.host.distant import Distant

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


def test_a_host_that_hangs_does_not_delay_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that waits for its answer has the lock."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    source = _distant("env")
    assert isinstance(source, Distant)
    waits, over = threading.Event(), threading.Event()

    def awaited() -> None:
        with source._lock:
            waits.set()
            over.wait(HANG)

    thread = threading.Thread(target=awaited, daemon=True)
    thread.start()
    assert waits.wait(HANG)
    source.close()
    assert not over.is_set()
    assert thread.is_alive()
    assert source._connection is None
    over.set()
    thread.join()
