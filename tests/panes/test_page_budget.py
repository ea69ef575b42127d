"""The header names the tables that are read less often to keep the budget."""

from dataclasses import replace

import pytest
from scenes import healthy, lossy

from nettop.panes import headline, page
from nettop.sampling.refresh import LOOK
from nettop.terms.text import line, line_cells, text_of
from nettop.views.scene import Note, Pending, Question, RunningTest, Scene
from nettop.views.view import View


def test_the_header_says_first_how_far_apart_looks_are() -> None:
    scene = Scene(stretched={"processes": 20.0, LOOK: 3.0})
    assert headline.stretched(scene.stretched) == (
        "redrawn every 3 s, processes every 20 s",
        "redrawn every 3 s, 1 more",
        "redrawn every 3 s",
        "2 slower",
    )


def test_no_state_takes_the_place_of_the_name_of_the_host() -> None:
    busy = replace(
        lossy(),
        counting=0.1152,
        stretched={LOOK: 1.5, "threads": 6.0},
        recording="x",
        ordinary=True,
    )
    calm = replace(busy, stretched={}, quiet=20.0)
    for scene in (busy, calm, replace(busy, ago=70.0), replace(busy, ago=70.0, boxed=True)):
        for view in (View(), View(moment=60.0), replace(View(moment=60.0), paused=True)):
            for width in range(74, 210):
                told = text_of(headline.header(scene, view, width))
                assert told.startswith(" nettop  vm7 "), (width, told)
                assert "…" not in told.partition(" (")[0], (width, told)
                assert len(told) == width
                assert ("sampling" in told) == (not view.moment), (width, told)
                assert not view.moment or ("every" not in told and "own" not in told), told


def test_a_narrow_screen_says_shortly_that_it_samples() -> None:
    scene = replace(lossy(), counting=0.1152)
    assert "◌ sampling  1 s" in text_of(headline.header(scene, View(), 80))
    whole = "counting drops and failed calls, sampling cores: 115.2 ms of CPU"
    assert whole in text_of(headline.header(scene, View(), 200))


def test_the_header_says_what_is_stretched_longest_first() -> None:
    scene = Scene(stretched={"processes": 6.0, "sockets_tcp": 12.0})
    header = text_of(headline.header(scene, View(), 160))
    assert "sockets_tcp every 12 s, processes every 6 s" in header
    assert text_of(headline.header(Scene(), View(), 160)).count("every") == 1  # the interval


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_narrow_header_names_the_longest_wait(width: int) -> None:
    many = {f"table_{n}": float(n) for n in range(6, 20)}
    header = headline.header(Scene(stretched={**many, "links": 20.0}), View(), width)
    assert line_cells(header) <= width
    assert "links every 20 s" in text_of(header)


def test_a_name_in_the_header_is_whole_or_left_out() -> None:
    waits = {LOOK: 3.0, "socket_owners": 20.0}
    for width in range(40, 160):
        header = text_of(headline.header(replace(healthy(), stretched=waits), View(), width))
        assert "slower" in header or "redrawn every 3 s" in header, width
        assert "socket_owners every 20 s" in header or "socket" not in header, width


def test_an_earlier_moment_has_the_room_of_what_is_read_less_often() -> None:
    scene = replace(healthy(), stretched={LOOK: 3.0}, ago=9.0)
    header = text_of(headline.header(scene, View(moment=60.0), 80))
    assert "redrawn every" not in header
    assert "9 s ago; End: the present" in header
    assert "nettop  web · " in header
    assert "own CPU" not in header
    paused = replace(View(moment=60.0), paused=True)
    assert "nettop  web · " in text_of(headline.header(scene, paused, 80))


@pytest.mark.parametrize(("height", "lines"), [(6, 2), (7, 3), (8, 4), (9, 5), (20, 5)])
def test_the_bulletin_leaves_four_rows_to_the_pane(height: int, lines: int) -> None:
    pending = tuple(Pending(str(n), f"link.mtu@eth{n}", 60.0) for n in range(2))
    running = RunningTest("throughput", 1.0, 10.0)
    scene = Scene(pending=pending, progress=running, notes=(Note("kept", "good", 0.0),))
    view = View().at(filter="eth")
    shown = [text_of(row) for row in page.compose(scene, view, 100, height)]
    said = ("link.mtu@eth0", "link.mtu@eth1", "throughput:", "kept", "filter eth")
    assert [text for text in said if any(text in row for row in shown)] == [*said[:lines]]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("kept", [" kept"]),
        ("one two three four", [" one two", " three four"]),
        (
            "one two three four five six seven",
            [" one two", " three four", " five six", " seven"],
        ),
    ],
)
def test_a_note_is_shown_to_its_end(text: str, rows: list[str]) -> None:
    out = page.compose(Scene(notes=(Note(text, "bad", 0.0),)), View(), 12, 20)
    shown = [text_of(row).rstrip() for row in out]
    assert shown[-len(rows) :] == rows


def test_a_question_covers_the_lowest_rows_and_moves_no_other() -> None:
    question = Question("Apply", (("", tuple(line(f"step {n}") for n in range(6))),), "change")
    for size in ((80, 24), (120, 40), (200, 60)):
        scene = lossy()
        calm = page.compose(scene, View(), *size)
        asked = page.compose(replace(scene, question=question), View(), *size)
        first = next(y for y, row in enumerate(asked) if text_of(row).startswith(" Apply "))
        assert first > size[1] // 3
        assert asked[: first - 1] == calm[: first - 1]
        edge = asked[first - 1]  # the end of a frame that is covered in part
        assert edge == calm[first - 1] or text_of(edge).startswith("╰")
