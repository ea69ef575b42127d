"""The disk that a box takes while an incident is written, which stands beside its segments."""

from __future__ import annotations

import os
import random
from contextlib import suppress
from pathlib import Path

import pytest
from box_parts import SIZE, WALL, moment, opened

from nettop.box import incident as incidents
from nettop.box.incident import Incident
from nettop.box.ring import Ring
from nettop.box.stretch import moments
from nettop.box.waiting import Waiting
from nettop.host.archive import RecordedMoment, written

ONE = Incident("rx-ring-overrun", "eth0", "critical", "Ring full", 60.0, WALL + 60, "one")


def on_disk(folder: Path) -> int:
    """The bytes of all files of the folder, also of open ones that have no name."""
    files = {(one := os.stat(path)).st_ino: one for path in (folder, *folder.rglob("*"))}
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            if os.readlink(f"/proc/self/fd/{name}").startswith(f"{folder}/"):
                one = os.stat(f"/proc/self/fd/{name}")
                files[one.st_ino] = one
    return sum(one.st_blocks * 512 for one in files.values())


@pytest.mark.parametrize(("older", "before"), [(0, 50.0), (1 << 20, 50.0), (0, 500.0)])
def test_the_box_is_not_larger_than_said_while_an_incident_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, older: int, before: float
) -> None:
    folder = opened(tmp_path)
    ring, noise = Ring(folder), random.Random(1)
    (folder.path / "20261122T000000Z-a.host.gz").write_bytes(bytes(older))
    for at in range(90):
        body = noise.randbytes(40_000).hex().encode() + b"\n"
        ring.add(at, written(moment(at, stat=body)), new=ring.full(at))
    waiting = Waiting(folder, before, 20.0)
    waiting.add(ONE)
    sizes: list[int] = []

    def seen(one: RecordedMoment) -> bytes:
        sizes.append(on_disk(folder.path))
        return written(one)

    monkeypatch.setattr(incidents, "written", seen)
    assert waiting.complete(folder.waiting()[0]) == f"{ONE.name}.host.gz"
    assert max(sizes) <= SIZE
    assert len(sizes) > 10
    assert len(list(moments(folder.incidents()[-1]))) > 5
    ring.add(90, written(moment(90)), new=False)  # the open segment is still there
