"""The recorded hosts of `tests/hosts`, and the golden text of each."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from golden_text import same

from nettop import collect
from nettop.host.recording import Replay, load
from nettop.views.observer import Observation, Observer

HERE = Path(__file__).parents[1]
GOLDEN = HERE / "golden"
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


def golden(path: Path, kind: str, text: str, update: bool) -> None:
    """Compare with the golden text of this kind, or write it."""
    same(GOLDEN / name(path) / f"{kind}.txt", text, update)
