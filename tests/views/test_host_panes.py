"""Recorded hosts: what every pane makes of them, held as golden text.

`pytest tests/views/test_host_panes.py --update` writes the golden files anew; read the difference
before committing it.
"""

import re
from pathlib import Path

import pytest
from recorded_hosts import GOLDEN, HOSTS, golden, name

from nettop import panes
from nettop.cli import main


@pytest.fixture(autouse=True)
def quiet_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path))


# one width of every host, and every width of one: how a pane fits its width is the same on all
SCREENS = [
    (path, width)
    for path in HOSTS
    for width in (80, 120, 200)
    if width == 120 or name(path) == "guest-transfer"
]


@pytest.mark.parametrize(
    ("path", "width"), SCREENS, ids=[f"{name(path)}-{width}" for path, width in SCREENS]
)
def test_panes(path: Path, width: int, update: bool, capsys: pytest.CaptureFixture[str]) -> None:
    out = []
    for pane in (one for one in panes.names() if one != "options"):  # it previews others
        words = ["show", pane, "--once", "--replay", str(path), "--width", str(width)]
        assert main([*words, "--height", "40"]) == 0
        out.append(f"== {pane}\n{capsys.readouterr().out}")
    text = re.sub(r" +$", "", "\n".join(out), flags=re.MULTILINE)
    assert max(map(len, text.splitlines())) <= width
    golden(path, f"panes-{width}", text, update)


def test_no_golden_file_is_left_of_what_is_not_compared() -> None:
    kinds = {"tables", "facts", "limits", "findings"}
    wanted = {f"{name(path)}/{kind}.txt" for path in HOSTS for kind in kinds}
    wanted |= {f"{name(path)}/panes-{width}.txt" for path, width in SCREENS}
    folders = {name(path) for path in HOSTS}
    there = {str(file.relative_to(GOLDEN)) for file in (GOLDEN).rglob("*.txt")}
    assert {file for file in there if file.split("/")[0] in folders} == wanted
