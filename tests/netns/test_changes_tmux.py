"""A countdown in tmux: its session is detached, resized, attached, or ends."""

import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from changes_netns import Nettop, mtu
from hang import HANG, until
from pty_terminal import Terminal

pytestmark = [
    pytest.mark.netns,
    pytest.mark.needs("tmux"),
]
Tmux = Callable[..., str]


@pytest.fixture
def tmux(nettop: Nettop, tmp_path: Path) -> Iterator[Tmux]:
    """A session in which a change of the MTU waits for its confirmation."""
    base = ["tmux", "-S", str(tmp_path / "tmux"), "-f", "/dev/null"]

    def run(*words: str) -> str:
        done = subprocess.run(
            [*base, *words], capture_output=True, text=True, check=True, timeout=HANG,
            env={**nettop.environment, "TERM": "xterm-256color"},
        )  # fmt: skip
        return done.stdout

    words = [*nettop.inside, sys.executable, "-m", "nettop", "set", "link.mtu@va", "1400"]
    command = shlex.join([*words, "--confirm", "3600"])
    run("new-session", "-d", "-s", "a", "-x", "100", "-y", "30", f"{command}; exec sleep 600")
    try:
        until(lambda: "Press only Enter" in run("capture-pane", "-p", "-t", "a"))
        yield run
    finally:
        subprocess.run([*base, "kill-server"], capture_output=True, check=False)
        nettop.see("ip", "link", "set", "va", "mtu", "1500")


def test_a_countdown_that_was_detached_and_resized_takes_the_answer(
    nettop: Nettop, tmux: Tmux, tmp_path: Path
) -> None:
    for width, height in ((20, 5), (200, 60), (40, 10)):
        tmux("resize-window", "-t", "a", "-x", str(width), "-y", str(height))
    words = ["tmux", "-S", str(tmp_path / "tmux"), "attach", "-t", "a"]
    for _ in range(2):
        one = Terminal(tmp_path, command=words)
        try:
            until(lambda one=one: one.take() and tmux("list-clients") != "")  # type: ignore[misc]
            tmux("detach-client", "-s", "a")
            one.ended()
        finally:
            one.close()
    tmux("resize-window", "-t", "a", "-x", "100", "-y", "30")
    assert nettop("journal")[-1]["state"] == "pending"
    tmux("send-keys", "-t", "a", "Enter")
    until(lambda: nettop("journal")[-1]["state"] == "applied")
    assert mtu(nettop) == 1400


def test_a_countdown_whose_session_ends_is_reverted_by_the_guard(
    nettop: Nettop, tmux: Tmux
) -> None:
    tmux("kill-session", "-t", "a")
    assert nettop("journal")[-1]["state"] == "pending"
    nettop.expires()
    assert mtu(nettop) == 1500
    assert nettop("journal")[-1]["state"] == "reverted"
