"""The SSH session is known, also where sudo took it out of the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nettop.host.session import ssh_peer

TOLD = "192.0.2.7 50000 192.0.2.1 22"
ASK = "from nettop.host.session import ssh_peer; print(ssh_peer('{}'))"


def tree(proc: Path, *environments: bytes) -> None:
    """Our parent, its parent and so on, started with one of these each; init above them."""
    number = os.getppid()
    for place, environment in enumerate(environments):
        above = 1 if place == len(environments) - 1 else 900_000 + place
        (proc / str(number)).mkdir()
        (proc / str(number) / "environ").write_bytes(environment)
        (proc / str(number) / "stat").write_text(f"{number} (a (shell) ) S {above} 1 1 0")
        number = above


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SSH_CONNECTION", "SSH_CLIENT"):
        monkeypatch.delenv(name, raising=False)


def test_our_own_environment_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, b"SSH_CONNECTION=198.51.100.1 1 2 3\0")
    monkeypatch.setenv("SSH_CONNECTION", TOLD)
    assert ssh_peer(str(tmp_path)) == "192.0.2.7"


@pytest.mark.parametrize("name", ["SSH_CONNECTION", "SSH_CLIENT"])
def test_a_parent_far_above_knows_it(tmp_path: Path, name: str) -> None:
    tree(tmp_path, b"SUDO_USER=me\0", b"", b"A=\xff\0" + f"{name}={TOLD}".encode() + b"\0")
    assert ssh_peer(str(tmp_path)) == "192.0.2.7"


def test_the_nearest_parent_counts(tmp_path: Path) -> None:
    tree(tmp_path, b"SSH_CLIENT=192.0.2.9 1 22\0", b"SSH_CLIENT=192.0.2.7 1 22\0")
    assert ssh_peer(str(tmp_path)) == "192.0.2.9"


@pytest.mark.parametrize("environments", [(), (b"",), (b"HOME=/root\0", b"SSH_CONNECTION=\0")])
def test_outside_a_session_there_is_none(tmp_path: Path, environments: tuple[bytes, ...]) -> None:
    tree(tmp_path, *environments)
    assert ssh_peer(str(tmp_path)) is None


def test_a_real_parent_is_asked() -> None:
    """As under sudo: the variable is the shell's and not its child's."""
    child = ["env", "-u", "SSH_CONNECTION", sys.executable, "-c", ASK.format("/proc")]
    parent = ["sh", "-c", '"$@"; exit $?', "sh", *child]
    told = subprocess.run(
        parent, env={**os.environ, "SSH_CONNECTION": TOLD}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert told.stdout == "192.0.2.7\n"
