"""`record --peer`: two files that belong together."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nettop.cli import main
from nettop.commands import _ends, record
from nettop.host.recording import Replay, load
from nettop.sampling.sampler import Sampler

WORDS = ("--seconds", "0.01", "--interval", "0.02")


def macs(source: Replay) -> dict[str, object]:
    return {row.interface: row.address for row in Sampler(source).take(("links",)).rows("links")}


def test_both_ends_have_one_pair_and_the_same_replacements(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "a.host.gz")
    assert main(["record", file, "--peer", "env", "--json", *WORDS]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["peer_file"] == str(tmp_path / "a.peer.host.gz")
    here, there = Replay(load(file)), Replay(load(document["peer_file"]))
    assert len(here.moments) == len(there.moments) == document["moments"]
    assert any(macs(here).values())
    assert macs(here) == macs(there)
    numbers = [re.findall(r"Pair (\w+), (.+ end): the clock", one.comment) for one in (here, there)]
    ((first, near),), ((second, far),) = numbers
    assert first == second
    assert (near, far) == ("this end", "the other end")


def test_the_clock_of_the_other_end_is_told_with_its_error() -> None:
    here: Any = SimpleNamespace(wall=lambda: 100.0)
    there: Any = SimpleNamespace(
        wall=lambda: 97.5, batches=SimpleNamespace(fetch=lambda _asks: None)
    )
    one, other = _ends.pair(here, there)
    assert "other host is 2.5000 s behind, within 0.00" in one
    assert "other host is 2.5000 s ahead, within 0.00" in other


@pytest.mark.parametrize(
    ("words", "code"),
    [(["-", "--peer", "env"], 2), (["x.host", "--peer", "env", "--root", "/var"], 2),
     (["x.host", "--peer", "false"], 3)],
)  # fmt: skip
def test_a_pair_that_cannot_be_recorded_writes_nothing(
    words: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["record", *words, *WORDS]) == code
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("path", "other"),
    [("a.host.gz", "a.peer.host.gz"), ("/x.y/a", "/x.y/a.peer"), ("d/a.host", "d/a.peer.host")],
)
def test_the_file_of_the_other_end_is_beside_it(path: str, other: str) -> None:
    assert record._beside(path) == other
