"""Recorded hosts: what every pane makes of them; of some held as golden text.

`pytest tests/views/test_host_panes.py --update` writes the golden files anew; read the difference
before committing it.
"""

import re

import pytest
from golden_text import same
from recorded_hosts import GOLDEN, HOSTS, WHOLE, last, name

from nettop import panes
from nettop.cli import main
from nettop.host.recording import Replay, load
from nettop.terms.text import line_cells
from nettop.views.build import Plans, scene_of
from nettop.views.past import History
from nettop.views.view import View

# at the widths where panes change their form
SCREENS = [("guest-transfer", 80), ("guest-transfer", 200)]


@pytest.mark.parametrize(("host", "width"), SCREENS)
def test_panes(host: str, width: int, update: bool, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = (path for path in HOSTS if name(path) == host)
    out = []
    for pane in (one for one in panes.names() if one != "options"):  # it previews others
        words = ["show", pane, "--once", "--replay", str(path), "--width", str(width)]
        assert main([*words, "--height", "40"]) == 0
        out.append(f"== {pane}\n{capsys.readouterr().out}")
    text = re.sub(r" +$", "", "\n".join(out), flags=re.MULTILINE)
    assert max(map(len, text.splitlines())) <= width
    same(GOLDEN / f"{host}-panes-{width}.txt", text, update)


def test_every_pane_fits_every_host() -> None:
    for path in HOSTS:
        scene = scene_of(last(path), History(), Plans(Replay(load(str(path)))))
        for pane in panes.names():
            lines = panes.pane(pane).lines(scene, View(pane=pane), 97, 31)
            assert 0 < len(lines) <= 31
            assert max(map(line_cells, lines)) <= 97


def test_no_golden_file_is_left_of_what_is_not_compared() -> None:
    wanted = {f"{WHOLE}-{kind}.txt" for kind in ("tables", "facts", "limits")}
    wanted |= {f"{host}-panes-{width}.txt" for host, width in SCREENS}
    assert {file.name for file in GOLDEN.iterdir()} == wanted | {"verdicts.txt", "findings.txt"}
