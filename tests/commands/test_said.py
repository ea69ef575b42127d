"""What commands print at their edges: nothing found, a limit, one sample, both ends together."""

import json
import os
import pty
from dataclasses import replace
from pathlib import Path

import pytest
from warm import Warm

from nettop import config as files
from nettop.cli import main
from nettop.commands import rate, why
from nettop.config import ConfigError
from nettop.files import bounds, trust
from nettop.host import pseudonyms
from nettop.host.recording import Replay, load

HOSTS = Path(__file__).parents[1] / "hosts"
SOUND, DROPS = HOSTS / "guest-transfer.host", HOSTS / "vm-vmxnet3-drops.host"


def test_a_sound_host_is_told_so_and_another_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    for host, sound in ((SOUND, True), (DROPS, False)):
        main(["advise", "--replay", str(host), "--fail-on", "never"])
        assert ("No problem found." in capsys.readouterr().out.splitlines()) == sound


def test_the_limits_of_a_setting_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["get", "ring.rx@enp0s12", "--replay", str(DROPS), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["ring.rx@enp0s12"]
    assert shown == {
        "value": 32, "settable": True, "min": 1, "max": 4096, "because": "the driver's limit",
    }  # fmt: skip


@pytest.mark.parametrize(("words", "replaced"), [([], True), (["--keep-addresses"], False)])
def test_addresses_are_replaced_unless_they_are_kept(
    words: list[str], replaced: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[bool] = []

    class Seen(pseudonyms.Names):
        def __init__(self, *, addresses: bool) -> None:
            made.append(addresses)
            super().__init__(addresses=addresses)

    monkeypatch.setattr("nettop.commands.record.Names", Seen)
    file = str(tmp_path / "x.host")
    assert main(["record", file, "--seconds", "0.05", "--interval", "0.05", *words]) == 0
    assert made == [replaced]


# Small promises of the command line: one spelling, true sentences, no escapes on a terminal.


HOST = str(Path(__file__).parents[1] / "hosts/guest-transfer.host")


def test_a_recording_is_not_printed_on_a_terminal(warm: Warm) -> None:
    outer, inner = pty.openpty()
    words = ["record", "-", "--replay", HOST]
    try:
        done = warm.run(words, streams=(os.devnull, inner, ""))
    finally:
        os.close(outer)
        os.close(inner)
    assert done.returncode == 2
    assert b"a recording is not printed on a terminal" in done.stderr
    assert b"-- @0" in warm.run(words).stdout


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "1e999", "-1e999"])
def test_a_number_that_is_not_finite_is_no_document(text: str) -> None:
    with pytest.raises(ValueError, match="is not a finite number"):
        bounds.document(text)


def test_numbers_are_those_of_the_text() -> None:
    assert bounds.document('{"a": [1.5, 2, -3e2]}') == {"a": [1.5, 2, -300.0]}


def test_a_file_that_does_not_exist_is_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nettop.config.trusted", lambda _path: False)
    path = tmp_path / "config.toml"
    assert files._text(path) == ""
    path.write_text("")
    with pytest.raises(ConfigError, match=trust.UNTRUSTED):
        files._text(path)


def test_a_name_has_one_spelling() -> None:
    _, facts = why.look(Replay(load(HOST)), 1.0)
    limit = facts.limits[0]
    stage = replace(limit.stage, because="the program x\ry waits")
    limit = replace(limit, process="x\ry", pid=7, over="flow", stage=stage)
    printed = "\n".join(why.text([limit], every=True))
    assert "x␍y waits" in printed
    assert "x y" not in printed


@pytest.mark.parametrize(
    ("kind", "said"),
    [("bond", "a bond interface counts"), ("other", "an interface of unknown kind counts")],
)
def test_the_kind_of_an_interface_has_its_article(kind: str, said: str) -> None:
    _, facts = why.look(Replay(load(HOST)), 1.0)
    found = rate.superpackets(replace(facts.nics[0], kind=kind), None)
    assert found is not None
    assert found.startswith(said)
