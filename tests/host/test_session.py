"""The SSH session is known, also where sudo took it out of the environment."""

import os
import subprocess
import sys

import pytest

from nettop.files import bounds
from nettop.host.session import ssh_peer

TOLD = "192.0.2.7 50000 192.0.2.1 22"
ASK = "from nettop.host.session import ssh_peer; print(ssh_peer())"
CLEAN = ("SSH_CONNECTION", "SSH_CLIENT")


def asked(*environments: dict[bytes, bytes]) -> str:
    """What a process without the variables says under shells started with these, nearest first."""
    words = [sys.executable.encode(), b"-c", ASK.encode()]
    for more in ({}, *environments):
        kept = {name: value for name, value in os.environb.items() if name.decode() not in CLEAN}
        words = [b"env", b"-i", *(name + b"=" + value for name, value in (kept | more).items()),
                 b"sh", b"-c", b'"$@"; exit $?', b"sh", *words]  # fmt: skip
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CLEAN:
        monkeypatch.delenv(name, raising=False)


def test_our_own_environment_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", TOLD)
    monkeypatch.setattr(os, "getppid", None)  # no parent is asked
    assert ssh_peer() == "192.0.2.7"


@pytest.mark.parametrize("name", [b"SSH_CONNECTION", b"SSH_CLIENT"])
def test_a_parent_far_above_knows_it(name: bytes) -> None:
    assert asked({b"SUDO_USER": b"me"}, {}, {b"A": b"\xff", name: TOLD.encode()}) == "192.0.2.7"


def test_the_nearest_parent_counts() -> None:
    nearest, other = ({b"SSH_CLIENT": b"192.0.2.%d 1 22" % last} for last in (9, 7))
    assert asked(nearest, other) == "192.0.2.9"


@pytest.mark.parametrize("told", [b"", b"UNKNOWN 65535 UNKNOWN 65535"])
def test_what_names_no_address_is_passed_over(told: bytes) -> None:
    assert asked({b"SSH_CONNECTION": told}, {b"SSH_CLIENT": TOLD.encode()}) == "192.0.2.7"


@pytest.mark.parametrize("error", [PermissionError(), ProcessLookupError(), OSError()])
def test_parents_that_cannot_be_read_tell_nothing(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> bytes:
        raise error

    monkeypatch.setattr(bounds, "read", refused)
    assert ssh_peer() is None


def test_outside_a_session_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getppid", lambda: 1)
    assert ssh_peer() is None
