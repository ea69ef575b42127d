"""What commands print at their edges: nothing found, a limit, one sample, both ends together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nettop.cli import main
from nettop.host import pseudonyms

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
