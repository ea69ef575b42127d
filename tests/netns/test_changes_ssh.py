"""A user logged in over the very interface that is changed: sshd and ssh in two namespaces."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ssh_login import POSSIBLE, Login, logged_in, run

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes network namespaces"),
    pytest.mark.skipif(not POSSIBLE, reason="needs an SSH server and client"),
]
HERE, THERE = f"nt-ssh-a-{os.getpid()}", f"nt-ssh-b-{os.getpid()}"
SETTING = "link.txqueuelen@va"


@pytest.fixture
def login(tmp_path: Path) -> Iterator[Login]:
    with logged_in(tmp_path, HERE, THERE) as user:
        yield user


def length() -> str:
    return run("ip", "netns", "exec", HERE, "cat", "/sys/class/net/va/tx_queue_len").strip()


def after(value: str, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while length() != value and time.monotonic() < end:
        time.sleep(0.05)
    return length() == value


def test_whatever_is_changed_on_the_sessions_own_device_must_be_confirmed(login: Login) -> None:
    (made,) = login.nettop("set", SETTING, "2000", "--confirm", "3")
    assert (made["state"], made["risk"], length()) == ("pending", "none", "2000")
    assert after("1000", 3 + 5)
    (made,) = login.nettop("set", SETTING, "2000", "--confirm", "9")
    (kept,) = login.nettop("confirm", str(made["id"]))
    time.sleep(10)
    assert (kept["state"], length()) == ("applied", "2000")
    (back,) = login.nettop("undo", "--all", "--confirm", "3")
    assert (back["state"], length()) == ("pending", "1000")
    assert after("2000", 3 + 5)  # its undo is guarded as the change was
    login.nettop("undo", "--all")
    (back,) = login.nettop("confirm")
    assert (back["state"], length()) == ("undone", "1000")


def test_enter_at_the_countdown_keeps_it_and_a_lost_session_reverts_it(login: Login) -> None:
    words = [
        *login.ssh[:-1],
        "-tt",
        login.ssh[-1],
        login.line("set", SETTING, "2000", "--confirm=4"),
    ]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as terminal:
        assert terminal.stdin is not None
        assert terminal.stdout is not None
        screen = b""
        while b"Enter" not in screen and (more := os.read(terminal.stdout.fileno(), 4096)):
            screen += more
        terminal.stdin.write(b"\n")
        terminal.stdin.flush()
        assert terminal.wait(30) == 0, screen
    time.sleep(5)
    assert length() == "2000"
    login.nettop("undo", "--all")
    login.nettop("confirm")
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as terminal:
        assert after("2000", 20)
        terminal.kill()
    assert after("1000", 4 + 5)
    time.sleep(1)
    assert login.nettop("journal")[-1]["state"] == "reverted"


def test_a_host_over_ssh_is_read_with_nothing_installed_and_nothing_left(login: Login) -> None:
    prefix = shlex.join(login.ssh)
    words = [sys.executable, "-m", "nettop", "snapshot", "--json", "--table", "links"]
    done = subprocess.run(
        [*words, "--table", "sockets_tcp", "--host", prefix],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    tables = json.loads(done.stdout)["tables"]
    assert {row["interface"] for row in tables["links"]} == {"lo", "va"}
    assert any(row["local_port"] == 2222 for row in tables["sockets_tcp"])
    for _ in range(100):
        left = run("ip", "netns", "pids", HERE).split()
        lines = [_command_line(pid) for pid in left]
        if not any("nettop" in line for line in lines):
            break
        time.sleep(0.1)
    assert not any("nettop" in line for line in lines), lines
    refused = subprocess.run(
        [sys.executable, "-m", "nettop", "advise", "--host", prefix.replace("2222", "2223")],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (refused.returncode, refused.stdout) == (3, "")
    assert "Connection refused" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def _command_line(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
