"""The recorded hosts of `tests/hosts`."""

from functools import cache
from pathlib import Path

from nettop import collect
from nettop.host.recording import Replay, load
from nettop.views.observer import Observation, Observer

HERE = Path(__file__).parents[1]
GOLDEN = HERE / "golden/hosts"
WHOLE = "vm-virtio-unsent"  # of this one every value is compared
HOSTS = sorted([*(HERE / "hosts").glob("*.host"), *(HERE / "hosts").glob("*.host.gz")])


def name(path: Path) -> str:
    return path.name.split(".")[0]


@cache
def last(path: Path) -> Observation:
    """The last moment of a recording, of which every table was read at every moment."""
    source = Replay(load(str(path)))
    observer = Observer(source)
    seen = observer.step(collect.always())
    while source.wait(1):
        seen = observer.step(collect.always())
    return seen
