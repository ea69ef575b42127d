"""The survey of namespaces while others come and go: what root could not enter is tried again."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from nettop.changes import context, namespaces
from nettop.changes.namespaces import Survey

DEVICES = {"eth0": "driver virtio_net"}


def test_a_name_that_has_no_namespace_is_not_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`ip netns add` makes a file before it mounts the namespace on it; `delete` unmounts first."""
    name = tmp_path / "blue"
    name.touch()
    (tmp_path / "red").symlink_to("/proc/self/ns/net")
    monkeypatch.setattr(context, "NAMESPACES", str(tmp_path))
    found = dict(namespaces._paths())
    assert str(name) not in found.values()
    assert found[context.netns().inode] == str(tmp_path / "red")


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """The paths by inode that each look finds; those in /run/netns can be entered."""
    told: list[dict[str, str]] = []

    def paths() -> Iterator[tuple[str, str]]:
        return iter((told.pop(0) if len(told) > 1 else told[0]).items())

    def contents(paths: list[str]) -> dict[str, object]:
        return {p: {"cookie": "7", "devices": DEVICES} for p in paths if p.startswith("/run/")}

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(namespaces, "_paths", paths)
    monkeypatch.setattr(namespaces, "_contents", contents)
    return told


def test_a_namespace_whose_process_ended_is_entered_in_another_way(
    looks: list[dict[str, str]],
) -> None:
    looks += [{"1": "/proc/999999999/ns/net", "2": "/run/netns/two"}, {"1": "/run/netns/one"}]
    survey = Survey()
    assert [space.path for space in survey.found] == ["/run/netns/two", "/run/netns/one"]
    assert survey.complete


def test_a_namespace_that_has_gone_leaves_the_survey_complete(looks: list[dict[str, str]]) -> None:
    looks += [{"1": "/proc/1/ns/net"}, {}]
    assert (Survey().found, Survey().complete) == ((), True)


def test_root_is_told_that_a_namespace_could_not_be_entered(looks: list[dict[str, str]]) -> None:
    looks += [{"1": "/proc/1/ns/net"}]
    survey = Survey()
    assert (survey.found, survey.complete) == ((), False)
    assert survey.unseen == "not all of them could be entered"


def test_a_survey_is_settled_while_the_kernel_reports_no_event(
    looks: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks += [{"1": "/run/netns/one"}]
    number = ["7"]
    monkeypatch.setattr(namespaces, "_events", lambda: number[0])
    survey = Survey()
    number[0] = "8"
    assert survey.settled, "it looked at nothing yet"
    assert survey.found
    assert not survey.settled
    survey.again()
    assert survey.found
    assert survey.settled
    number[0] = ""
    survey.again()
    assert survey.found
    assert not survey.settled, "the number cannot be read"


def test_a_survey_of_some_processes_is_not_complete(
    looks: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks += [{"1": "/run/netns/one"}]
    monkeypatch.setattr(namespaces, "_all_processes", lambda: False)
    assert not Survey().complete
    assert Survey().unseen == "processes outside of this PID namespace cannot be seen"
