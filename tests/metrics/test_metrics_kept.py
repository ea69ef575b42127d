"""The samples of the journal."""

import subprocess
from pathlib import Path

import pytest

from nettop.changes import context
from nettop.changes.entry import JournaledChange
from nettop.changes.journal import Journal
from nettop.metrics import families
from nettop.metrics.families import CHANGES, DRIFT

SETTING = "sysctl.net.ipv4.tcp_rmem"


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journal:
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path))
    return Journal()


def write(journal: Journal, netns: str) -> None:
    with journal.lock():
        entry = journal.begin(
            JournaledChange(0, 0.0, SETTING, "1 2 3", "4 5 6", netns=netns, boot=context.boot())
        )
        journal.note(entry.id, "end", state="applied", after="4 5 6")


def values() -> tuple[dict[str, float], list[float]]:
    """The changes by state, without zeros, and the drifted settings."""
    found = list(families.journaled())
    changes = {one.labels[0]: one.value for one in found if one.family == CHANGES and one.value}
    return changes, [one.value for one in found if one.family == DRIFT]


def test_without_changes_there_are_zeros(journal: Journal) -> None:
    assert values() == ({}, [0])


def test_another_value_is_drift(journal: Journal) -> None:
    write(journal, context.netns().inode)
    assert values() == ({"applied": 1}, [1])


def test_another_namespace_costs_no_process(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(*words: object, **more: object) -> None:
        raise AssertionError(words)

    monkeypatch.setattr(subprocess, "Popen", start)
    write(journal, "1")
    assert values() == ({"applied": 1}, [0])


def test_a_journal_that_cannot_be_read_has_no_zeros(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def entries(self: Journal) -> tuple[JournaledChange, ...]:
        raise PermissionError(13, "Permission denied", self.path)

    monkeypatch.setattr(Journal, "entries", entries)
    assert values() == ({}, [])
