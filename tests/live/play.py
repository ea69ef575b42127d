"""A play: real traffic with a known fault or limit, which nettop records and judges by replay.

`make live` stages plays and writes their recordings; `make test` judges the stored ones
(test_recordings.py). Both score in the same way. A play is one entry of `PLAYS` of a module in
`plays/`. What a play knows beside its recordings, such as how many packets were lost, is its truth:
numbers as JSON, kept with the recordings in `truth.json`.
"""

import contextlib
import importlib
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from gzip import compress
from pathlib import Path
from typing import Any, Final

from hosts.record import plain
from warm import shared

from nettop import collect
from nettop.cli import main
from nettop.host.recording import Replay, load
from nettop.sampling.sampler import Sampler

HERE: Final = Path(__file__).parent
RECORDINGS: Final = HERE / "recordings"
TRUTH: Final = "truth.json"
UNREAD: Final = "not in the recording"  # a file that was not there, or not read
# tables read since, on which the verdict of no play rests: none fills a queue of netlink
BESIDE: Final = ("program_queues",)
ABSENT: Final = "absent"  # tables that the host did not have when a play was recorded
RIGHT, LATER, WRONG, SILENT = VERDICTS = ("right", "later", "wrong", "silent")
Truth = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict of `VERDICTS`, and what nettop said."""

    verdict: str
    said: str

    @property
    def right(self) -> bool:
        """Nothing is to be mended."""
        return self.verdict == RIGHT


@dataclass(frozen=True, slots=True)
class Play:
    """`stage` makes the fault and records it in a folder; `judge` replays what lies there.

    `quick`: `make live` plays it without being asked. `alone`: its fault depends on how much of the
    cores it gets, so nothing is played beside it.
    """

    name: str
    stage: Callable[[Path], Truth]
    judge: Callable[[Path, Truth], Outcome]
    files: tuple[str, ...]
    quick: bool = False
    alone: bool = False


def slug(words: str) -> str:
    """A name as part of a file name."""
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


@cache
def plays() -> Mapping[str, Play]:
    """All plays by name; ValueError if two have one name."""
    names = sorted(path.stem for path in (HERE / "plays").glob("[a-z]*.py"))
    found = [one for name in names for one in importlib.import_module(f"live.plays.{name}").PLAYS]
    by_name = {one.name: one for one in found}
    if len(by_name) < len(found):
        raise ValueError("two plays have one name")
    return by_name


def record(
    path: Path, space: str, *, seconds: float = 4.0, peer: str = "", sysfs: bool = True,
    interval: float = 1.0,
) -> None:  # fmt: skip
    """Record a network namespace, with `peer` (a command prefix) both ends of its flows."""
    words = ["record", str(path), "--seconds", str(seconds), "--interval", str(interval)]
    words += ["--keep-addresses", "--comment", f"{path.name.partition('.')[0]}."]
    done = shared().run(
        [*words, *(("--peer", peer) if peer else ())], dict(os.environ), netns=space, sysfs=sysfs
    )
    if done.returncode:
        raise RuntimeError(f"nettop record: {done.stderr.decode().strip()}")


def nameless(path: Path) -> None:
    """Whose kernel build and control groups it was is nobody's business; the version is.

    What a kernel worker does at the moment is in its name, and changes from frame to frame.
    """
    release = os.uname().release
    version = re.match(r"[\d.]+", release)[0]  # type: ignore[index]
    text = zlib.decompress(path.read_bytes(), 31).decode("utf-8", "surrogateescape")
    text = re.sub(r"(kworker/[\w:]+)[-+][\w-]+", r"\1", text.replace(release, version))
    text = plain(text, release, version)
    paths = [line.split(":", 2)[2] for line in Path("/proc/self/cgroup").read_text().splitlines()]
    parts = dict.fromkeys(part for path in paths for part in path.split("/") if part)
    for number, part in enumerate(parts):
        text = text.replace(f"/{part}", f"/group{number}")
    path.write_bytes(compress(text.encode("utf-8", "surrogateescape"), 9, mtime=0))


def answer(*words: str) -> dict[str, Any]:
    """The JSON of a command, in this process; RuntimeError if it prints none."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        main([*words, "--json"])
    if not out.getvalue():
        raise RuntimeError(f"nettop {' '.join(words)}: {errors.getvalue().strip()}")
    return dict(json.loads(out.getvalue()))


def text(*words: str) -> str:
    """What a command prints, with one space for each white space."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        main([*words])
    return " ".join(out.getvalue().split())


def worst(outcomes: Iterator[Outcome]) -> Outcome:
    """The worst of several looks at one play."""
    return max(outcomes, key=lambda one: VERDICTS.index(one.verdict))


def unread(play: Play, folder: Path = RECORDINGS) -> list[str]:
    """Tables that nettop reads now, and that the recordings of a play do not have."""
    lacking = set()
    for name in play.files:
        frame = Sampler(Replay(load(str(folder / name)))).take(collect.always())
        lacking |= {table for table, why in frame.missing.items() if why.startswith(UNREAD)}
    return sorted(lacking)


def stale(play: Play) -> list[str]:
    """Tables that were not read when the play was recorded, although the host may have them."""
    known = {*truths()[play.name][ABSENT], *BESIDE}
    return [name for name in unread(play) if name not in known]


@cache
def truths() -> Mapping[str, Any]:
    """What each recorded play knows."""
    path = RECORDINGS / TRUTH
    return dict(json.loads(path.read_text())) if path.exists() else {}
