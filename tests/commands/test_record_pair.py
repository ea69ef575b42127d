"""`record --peer`: two files that belong together."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nettop.cli import main
from nettop.commands import record
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
    one, other = record.pair(here, there)
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


def test_both_ends_of_a_pair_are_read_by_the_commands_for_a_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "a.host.gz")
    assert main(["record", file, "--peer", "env", *WORDS]) == 0
    beside = str(tmp_path / "a.peer.host.gz")
    source = Replay(load(file))
    assert source.body("close/before/netlink/sock_diag/tcp") is not None
    assert source.body("close/after/netlink/sock_diag/tcp") is not None
    assert Replay(load(beside)).body("close/there/netlink/sock_diag/tcp") is not None
    capsys.readouterr()
    assert main(["compare", file]) in (0, 1)
    assert main(["why", "--replay", file]) == 0
    assert "host and peer · " in capsys.readouterr().out
    assert main(["advise", "--replay", beside, "--fail-on", "never"]) in (0, 3)
    assert f"{file} shows both ends" in capsys.readouterr().err
    Path(beside).unlink()
    assert main(["advise", "--replay", file, "--fail-on", "never"]) in (0, 3)
    assert f"the other one, {beside}, is not there" in capsys.readouterr().err


def test_a_recording_of_one_host_has_no_other_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, other = str(tmp_path / "a.host.gz"), str(tmp_path / "b.host.gz")
    assert main(["record", file, *WORDS]) == 0
    assert main(["record", other, "--peer", "env", *WORDS]) == 0
    capsys.readouterr()
    for words, code, sentence in (
        (["compare", file], 2, "is no end of a recorded pair: give B too"),
        (["compare", "live"], 2, "is no end of a recorded pair: give B too"),
        (["why", "--replay", file, "--peer", other], 3, "both need the same pair number"),
        (["why", "--replay", other, "--peer", other], 3, "give the file that"),
        (["why", "--replay", other, "--peer", "/no/file"], 3, "cannot read /no/file"),
    ):
        assert main(words) == code
        assert sentence in capsys.readouterr().err
