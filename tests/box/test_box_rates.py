"""Rates of tables that the box reads every five seconds, replayed: the same in each second."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
from box_parts import WALL, Recorded, opened, recorder

from nettop.box import blackbox
from nettop.box.folder import Folder
from nettop.box.minutes import load
from nettop.box.past import Past
from nettop.box.ring import stretch
from nettop.host.archive import written
from nettop.host.netlink.codec import Request
from nettop.host.recording import Record, Replay
from nettop.sampling.sampler import Sampler

RATE: Final = 700.0  # interrupts/s of each queue of the host
SECONDS: Final = 44


class Running(Recorded):
    """The small host as a running machine: the box lets most of its tables rest."""

    def __init__(self) -> None:
        super().__init__(WALL)
        self.live = True

    def netlink(self, request: Request) -> bytes:
        raise FileNotFoundError(2, "no netlink", request.name)

    def statistics(self, interface: str, request: bytes, name: str) -> bytes:
        raise FileNotFoundError(2, "no ioctl", name)


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.setattr(blackbox, "PERCENT", 1e6)  # on a slow machine too
    host, folder = Running(), opened(tmp_path)
    recording = recorder(folder, host)
    for _ in range(SECONDS):
        recording.step()
        host.wait(1)
    recording.end()
    return folder


def replayed(folder: Folder, begin: float) -> list[float | None]:
    """The rate of the first queue at each moment from `begin` on."""
    moments = [*stretch(folder.segments(), lambda one: one.at >= begin)]
    archive = b"x\n" + b"".join(map(written, moments))
    replay = Replay(archive)
    sampler, rates = Sampler(replay), []
    while True:
        entry = sampler.take(["interrupts", "cpu"]).tables["interrupts"][0]
        rates.append(None if entry.per_s is None else sum(entry.per_s.by_cpu.values()))
        if not replay.wait(1):
            return rates


def ages_of(archive: str) -> list[Mapping[str, float]]:
    """The age of each table, at each moment of the recording."""
    replay = Replay(archive)
    ages = [replay.ages]
    while replay.wait(1):
        ages.append(replay.ages)
    return ages


def test_recording_a_replay_keeps_the_ages(box: Folder) -> None:
    archive = "x\n" + b"".join(map(written, stretch(box.segments(), lambda _: True))).decode()
    record = Record(Replay(archive), comment="x")
    sampler = Sampler(record)
    while True:
        sampler.take(["cpu", "interrupts", "netdev", "snmp", "softirqs", "softnet", "kernel"])
        if not record.wait(1):
            break
    assert ages_of(record.archive()) == ages_of(archive)
    assert sum(map(bool, ages_of(archive))) == SECONDS - 1


def test_most_tables_are_recorded_every_five_seconds(box: Folder) -> None:
    moments = [*stretch(box.segments(), lambda _: True)]
    assert len(moments) == SECONDS
    assert sum("/proc/stat" in one.changed for one in moments) == SECONDS
    assert sum("/proc/interrupts" in one.changed for one in moments) == -(-SECONDS // 5)


@pytest.mark.parametrize("begin", [0, 1, 2, 3, 4, 5, 13, 17])
def test_a_table_that_was_not_read_keeps_its_rate(box: Folder, begin: float) -> None:
    rates = replayed(box, begin)
    known = [rate for rate in rates if rate is not None]
    assert known == pytest.approx([RATE] * len(known))
    assert rates.index(known[0]) <= 5
    assert None not in rates[5:]


def test_a_moment_of_the_past_has_the_rates_of_then(box: Folder) -> None:
    minutes = load(Past(box.path), WALL + 10, WALL + SECONDS, ("interrupts", "netdev"))
    for wall in minutes.moments.times:
        scene = minutes.scene(wall)
        assert scene is not None
        assert scene.frame is not None
        queue = scene.frame.tables["interrupts"][0].per_s
        assert queue is not None
        assert sum(queue.by_cpu.values()) == pytest.approx(RATE)
        received = scene.frame.tables["netdev"][0].rate("rx_bytes")
        assert received == pytest.approx(1000 * (wall - WALL))
