"""The recorded session of the README is what the program shows now."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import animated
import pytest
import session
from golden_text import same
from tui_app import SHOTS

from nettop.terms.text import line_cells, text_of
from nettop.tui import themes

PATH = SHOTS / "session.svg"


@pytest.fixture(scope="module")
def frames() -> list[session.Frame]:
    return list(session.played())


def test_the_picture_is_that_of_the_program(frames: list[session.Frame], update: bool) -> None:
    made = animated.svg(frames, themes.palette("dark"))
    same(PATH, made, update)
    assert len(made.encode()) < 300 * 1024
    assert f"screenshots/{PATH.name}" in (SHOTS.parent / "README.md").read_text(encoding="utf-8")


def test_it_shows_a_problem_its_fix_and_the_proof_in_half_a_minute(
    frames: list[session.Frame],
) -> None:
    assert 25 <= sum(one.seconds for one in frames) <= 40
    assert {len(one.rows) for one in frames} == {session.SIZE[1]}
    assert {line_cells(row) for one in frames for row in one.rows} == {session.SIZE[0]}
    texts = ["\n".join(text_of(row) for row in one.rows) for one in frames]
    expected = (
        "Limited by the receive ring", "SOURCE", "address of the peer",
        "Prove rx-ring-overrun", "so far", "BETTER", "Limited by the link",
    )  # fmt: skip
    places = [next(at for at, text in enumerate(texts) if words in text) for words in expected]
    assert places == sorted(places)
    assert "0 dropped" not in texts[0]
    assert "Limited by the receive ring" not in texts[-1]


def test_every_moment_shows_exactly_one_frame(frames: list[session.Frame]) -> None:
    root = ET.fromstring(animated.svg(frames, themes.palette("dark")))
    space = "{http://www.w3.org/2000/svg}"
    for group in root.iter(f"{space}g"):
        (animate,) = group.iter(f"{space}animate")
        times = [float(one) for one in animate.attrib["keyTimes"].split(";")]
        values = animate.attrib["values"].split(";")
        assert times == sorted(set(times))
        assert times[0] == 0 <= times[-1] < 1
        assert len(times) == len(values)
        assert all(a != b for a, b in pairwise(values))
        assert group.attrib["visibility"] == values[-1]
    assert not re.search(r"\bNaN\b|None", PATH.read_text(encoding="utf-8"))
