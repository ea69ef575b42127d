"""Lines of a question in several rows: nothing is lost, nothing is too wide."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scenes import storied

from nettop.panes import asking, journal
from nettop.terms.text import Line, cells, line, line_cells, text_of
from nettop.views.scene import IN_FORCE

INDENT = asking.INDENT
words = st.text(alphabet="abc 漢", max_size=40)


def letters(rows: list[Line]) -> str:
    return "".join(text_of(row) for row in rows).replace(" ", "")


@given(st.lists(st.tuples(words, st.sampled_from(["", "dim"])), max_size=4), st.integers(12, 50))
@example([("aaaaaaaaaaa", ""), ("漢 ", "")], 12)
def test_wrapping_loses_no_letter_and_fits(parts: list[tuple[str, str]], width: int) -> None:
    row = line(*parts)
    found = asking.wrapped(row, width)
    assert letters(found) == text_of(row).replace(" ", "")
    for one in found:
        assert line_cells(one) <= width
    roles = {role for _, role in parts}
    assert {role for one in found for text, role in one if text.strip()} <= roles


@given(words, st.integers(0, 60))
def test_as_many_letters_as_fit_are_taken(text: str, room: int) -> None:
    count = asking._fitting(text, room)
    fitting = [n for n in range(len(text) + 1) if cells(text[:n]) <= room]
    assert count == max(1, fitting[-1])


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("aaaa bbbb cc", 13, ["aaaa bbbb cc"]),
        ("aaaa bbbb cc", 12, ["aaaa bbbb", f"{INDENT}cc"]),
        ("aaaa bbbb cc", 10, ["aaaa bbbb", f"{INDENT}cc"]),
        ("aaaa bbbb cc", 9, ["aaaa", f"{INDENT}bbb", f"{INDENT}b", f"{INDENT}cc"]),
        ("aaaa bbbb", 7, ["aaaa", "bbbb"]),  # too narrow to indent
        ("aaaaaaaaaaaaaa", 12, ["aaaaaaaaaaa", f"{INDENT}aaa"]),
    ],
)
def test_it_is_broken_at_the_last_space_that_fits(text: str, width: int, rows: list[str]) -> None:
    found = [text_of(row).rstrip() for row in asking.wrapped(line((text, "")), width)]
    assert found == rows


def test_only_changes_in_force_are_exported_and_no_files() -> None:
    scene = storied()
    states = {entry.state for entry in scene.journal}
    assert len(states) > 1
    every = [(entry.state in IN_FORCE, entry.setting) for entry in scene.journal]
    wanted = [name for force, name in every if force and not name.startswith("kept.")]
    assert [entry.setting for entry in journal.exports(scene)] == wanted
    entries = [
        replace(scene.journal[0], id=str(n), state=state, setting=setting)
        for n, (state, setting) in enumerate(
            (state, setting)
            for state in ("applied", "undone")
            for setting in ("ring.rx@eth0", "kept.unit@x")
        )
    ]
    found = journal.exports(replace(scene, journal=tuple(entries)))
    assert [entry.id for entry in found] == ["0"]
    for entry in entries:
        inside = [
            one.id for one in journal.undoes(replace(scene, journal=tuple(entries)), entry.id)
        ]
        assert inside == ([entry.id] if entry.state == "applied" else [])
