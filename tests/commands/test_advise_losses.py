"""`advise` names the interfaces whose drops are not known by kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nettop.cli import main

HOSTS = Path(__file__).parents[1] / "hosts"
LINE = "eth0: this driver's drops are not known by kind: link statistics only"


@pytest.mark.parametrize(("host", "named"), [("guest-transfer", True), ("vm-e1000e", False)])
def test_drops_that_are_not_known_by_kind_are_named(
    host: str, named: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["advise", "--replay", str(HOSTS / f"{host}.host"), "--fail-on", "never"]
    assert main(words) == 0
    assert (LINE in capsys.readouterr().out.splitlines()) == named
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["link_only"] == (["eth0"] if named else [])
