"""A user logged in over the very interface that is changed: sshd and ssh in two namespaces."""

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from changes_netns import expire, no_guard, run
from hang import HANG, until
from ssh_login import Login, logged_in
from warm import Warm

pytestmark = [
    pytest.mark.netns,
    pytest.mark.needs("sshd", "ssh", "ssh-keygen"),
]
HERE, THERE = f"nt-ssh-a-{os.getpid()}", f"nt-ssh-b-{os.getpid()}"
SETTING = "link.txqueuelen@va"


@pytest.fixture(scope="module")
def login(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Login]:
    with logged_in(tmp_path_factory.mktemp("login"), HERE, THERE) as user:
        yield user


def length() -> str:
    return run("ip", "netns", "exec", HERE, "cat", "/sys/class/net/va/tx_queue_len").strip()


def expires(login: Login) -> str:
    """The queue length when the time to confirm has ended and nothing guards it any more."""
    expire(login.folder / "state")
    no_guard(login.folder / "state")
    return length()


def test_whatever_is_changed_on_the_sessions_own_device_must_be_confirmed(login: Login) -> None:
    (made,) = login.nettop("set", SETTING, "2000", "--confirm", "600")
    assert (made["state"], made["risk"], length()) == ("pending", "none", "2000")
    assert expires(login) == "1000"
    (made,) = login.nettop("set", SETTING, "2000", "--confirm", "600")
    (kept,) = login.nettop("confirm", str(made["id"]))
    no_guard(login.folder / "state")
    assert (kept["state"], length()) == ("applied", "2000")
    (back,) = login.nettop("undo", "--all", "--confirm", "600")
    assert (back["state"], length()) == ("pending", "1000")
    assert expires(login) == "2000"  # its undo is guarded as the change was
    login.nettop("undo", "--all", "--confirm", "600")
    (back,) = login.nettop("confirm")
    assert (back["state"], length()) == ("undone", "1000")


def test_enter_at_the_countdown_keeps_it_and_a_lost_session_reverts_it(login: Login) -> None:
    line = login.line("set", SETTING, "2000", "--confirm=600")
    words = [*login.ssh[:-1], "-tt", login.ssh[-1], line]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as terminal:
        assert terminal.stdin is not None
        assert terminal.stdout is not None
        screen = b""
        while b"Enter" not in screen and (more := os.read(terminal.stdout.fileno(), 4096)):
            screen += more
        terminal.stdin.write(b"\n")
        terminal.stdin.flush()
        assert terminal.wait(HANG) == 0, screen
    no_guard(login.folder / "state")
    assert length() == "2000"
    login.nettop("undo", "--all", "--confirm", "600")
    login.nettop("confirm")
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as terminal:
        until(lambda: length() == "2000")
        terminal.kill()
    assert expires(login) == "1000"
    assert login.nettop("journal")[-1]["state"] == "reverted"


def test_a_host_over_ssh_is_read_with_nothing_installed_and_nothing_left(
    login: Login, warm: Warm
) -> None:
    prefix = shlex.join(login.ssh)
    words = ("snapshot", "--json", "--table", "links", "--table", "sockets_tcp", "--host", prefix)
    done = warm.run(words)
    assert done.returncode == 0, done.stderr
    tables = json.loads(done.stdout)["tables"]
    assert {row["interface"] for row in tables["links"]} == {"lo", "va"}
    assert any(row["local_port"] == 2222 for row in tables["sockets_tcp"])
    pids = ("ip", "netns", "pids", HERE)
    until(lambda: not any("nettop" in _command_line(pid) for pid in run(*pids).split()))
    refused = warm.run(("advise", "--host", prefix.replace("2222", "2223")))
    assert (refused.returncode, refused.stdout) == (3, b"")
    assert b"Connection refused" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def _command_line(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
