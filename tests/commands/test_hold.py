"""`nettop set --hold`: changes that are reverted when standard input ends."""

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

import pytest

from nettop.changes import Change, Result
from nettop.commands import apply
from nettop.commands import set as command
from nettop.host.archive import load
from nettop.host.recording import Replay
from nettop.terms.errors import Refused
from nettop.trials import lever

SACK = Change("sysctl.net.ipv4.tcp_sack", "1", "0")


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The end of a pipe that is standard input."""
    read, write = os.pipe()
    kept = os.dup(0)
    os.dup2(read, 0)
    os.close(read)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    yield write
    os.dup2(kept, 0)
    os.close(kept)


class Switch:
    """Notes what it is told."""

    told: list[str]

    def __init__(
        self, _states: object, finding: str, exactly: tuple[Change, ...], silence: float
    ) -> None:
        self.told.append(f"{finding} {exactly[0].after}")
        self.silence = silence

    def hold(self) -> None:
        self.told.append(f"held {self.silence:g}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.told.append("restored")

    def put(self, state: int) -> None:
        self.told.append(f"put {state}")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    Switch.told = []
    monkeypatch.setattr(lever, "Switch", Switch)
    return Switch.told


def options(**more: object) -> argparse.Namespace:
    return argparse.Namespace(**{"hold": 60.0, "keep": False, "finding": "x@y", **more})


def show(results: Sequence[Result]) -> int:
    Switch.told.append(" ".join(f"{one.setting} {one.state}" for one in results))
    return 0


def test_the_change_lasts_to_the_end_of_standard_input(door: int, told: list[str]) -> None:
    os.write(door, b"\n")
    os.close(door)
    assert command.hold((SACK,), options(), show) == 0
    held = 3 * ["held 60"]  # at first, after a line, and at the end
    assert told == ["x@y 0", "put 1", f"{SACK.setting} applied", *held, "restored"]


def test_silence_reverts_it_and_is_an_error(door: int, told: list[str]) -> None:
    with pytest.raises(Refused, match=r"silent for 0\.01 s: the change is reverted") as caught:
        command.hold((SACK,), options(hold=0.01), show)
    os.close(door)
    assert caught.value.code == 4
    assert told[-1] == "restored"


def test_what_cannot_be_held_is_refused(
    door: int, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    os.close(door)
    with pytest.raises(Refused, match="give one of them"):
        command.hold((SACK,), options(keep=True), show)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(Refused, match="--hold needs root"):
        command.hold((SACK,), options(), show)
    assert told == []


def test_a_host_that_has_the_values_already_is_said_at_once(door: int, told: list[str]) -> None:
    assert command.hold((), options(), len) == 0
    os.close(door)
    assert told == []


def test_a_command_without_the_option_makes_its_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """`nettop apply` makes its changes by the same function, and has no --hold."""
    parser = argparse.ArgumentParser()
    apply.arguments(parser)
    args = parser.parse_args(["loss-recovery-crippled@host"])
    made: list[Change] = []

    def note(changes: Sequence[Change], *_: object) -> tuple[Result, ...]:
        made.extend(changes)
        return ()

    monkeypatch.setattr(command, "_apply", note)
    host = Replay(load(str(Path(__file__).parents[1] / "hosts/guest-transfer.host")))
    assert command.change([("sysctl.net.ipv4.tcp_sack", "0")], args, host) == 0
    assert [(one.setting, one.after) for one in made] == [("sysctl.net.ipv4.tcp_sack", "0")]
