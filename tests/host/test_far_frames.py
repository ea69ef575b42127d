"""Every collector gives the same rows through a reader as from the recording itself."""

from pathlib import Path

import pytest
from far_host import Far
from folded import folded

from nettop import collect
from nettop.frame.rates import Frame
from nettop.host.recording import Replay, load
from nettop.sampling.sampler import Sampler

FED = Path(__file__).parents[1] / "live/recordings"
HOSTS = sorted((Path(__file__).parents[1] / "hosts").glob("*.host*"))
FRAMES = 4


def reasons(frame: Frame) -> dict[str, str]:
    """Why tables are missing, without the names of entries of a recording."""
    return {
        name: why.partition(": netlink/")[0].partition(": ioctl/")[0]
        for name, why in frame.missing.items()
    }


@folded("path", HOSTS, ids=lambda path: path.name.partition(".")[0])
def test_a_far_host_gives_the_frames_of_its_recording(path: Path) -> None:
    data = load(str(path))
    near, behind = Replay(data), Replay(data)
    far = Far(behind)
    here, there = Sampler(near), Sampler(far)
    trips = []
    for _ in range(FRAMES):
        before = far.wires[0].exchanges
        expected, frame = here.take(collect.always()), there.take(collect.always())
        trips.append(far.wires[0].exchanges - before)
        assert reasons(frame) == reasons(expected)
        for name, rows in expected.tables.items():
            assert list(frame.tables[name]) == list(rows), name
        if not near.wait(1.0):
            break
        behind.wait(1.0)
    assert trips[0] + 1 <= 5, "the start is a round trip too"
    assert max(trips[1:], default=1) <= 2, trips
    assert len(far.wires) == 1


@pytest.mark.parametrize("name", ["lock", "pipe-from-work", "request", "timer", "read-by-a-pipe"])
def test_what_feeds_a_flow_is_read_at_a_far_host_too_some_samples_later(name: str) -> None:
    data = load(str(FED / f"feed-{name}.host.gz"))
    near, behind = Replay(data), Replay(data)
    here, there = Sampler(near), Sampler(Far(behind))
    while True:
        rows = [
            [(one.now.tid, one.now.kind, one.now.object, one.now.feeds, one.now.drains)
             for one in end.take(collect.always()).tables["waits"]]
            for end in (here, there)
        ]  # fmt: skip
        if not near.wait(0.5):
            break
        behind.wait(0.5)
    assert rows[0]
    assert rows[1] == rows[0]
