"""Parts of panes at the edges of their room: the block of cores, the pairs of a proof."""

from dataclasses import replace

import pytest
from folded import folded
from hypothesis import example, given
from hypothesis import strategies as st
from scenes import lossy, storied

from nettop.facts import Facts
from nettop.facts.kinds.core import Core
from nettop.panes import asking, corelist, grid, journal, outcome
from nettop.terms.text import Line, cells, line, line_cells, text_of
from nettop.views.scene import IN_FORCE, StoredResult


def facts(nodes: tuple[int | None, ...]) -> Facts:
    """A host with one core for each of these NUMA nodes, none of which shares a cache."""
    known = lossy().facts
    assert known is not None
    cores = tuple(Core(cpu=cpu, node=node, idle=100.0, l3=()) for cpu, node in enumerate(nodes))
    return replace(known, cores=cores)


@folded("height", [1, 4, 5, 6, 12])
@folded("nodes", [(None,) * 10, (0,) * 5 + (1,) * 5, (0, 1, 2, 3, 4)])
def test_the_block_of_cores_is_no_higher_than_its_room(
    nodes: tuple[int | None, ...], height: int
) -> None:
    assert len(grid.block(facts(nodes), 100, height)) <= height


def test_cores_of_one_node_have_a_row_each_while_there_is_room() -> None:
    rows = [text_of(row) for row in grid.block(facts((None,) * 10), 100, 5)]
    assert [row.split()[0] for row in rows] == ["0", "1", "2", "3", "4"]


def test_cores_of_two_nodes_stand_below_the_names_of_their_nodes() -> None:
    rows = [text_of(row) for row in grid.block(facts((0, 1, 0, 1)), 100, 3)]
    kinds = ["░us", "▒sy", "▓hi", "█si", "▚st"]
    assert rows[0].split() == ["node", "0", *kinds, "node", "1", *kinds]
    assert len(rows) == 3


def test_each_kind_of_a_cores_time_stands_below_its_name() -> None:
    known = facts((None,) * 2)
    one = Core(cpu=0, user=4.0, system=20.4, irq=0.0, softirq=61.0, steal=None, idle=15.0)
    head, row, _ = grid.block(replace(known, cores=(one, replace(one, cpu=1))), 70, 9)
    names, row_text = text_of(head), text_of(row)
    ends = {name: names.index(name) + 2 for name in ("us", "sy", "hi", "si", "st")}
    assert {name: row_text[:end].split()[-1] for name, end in ends.items()} == {
        "us": "4", "sy": "20", "hi": "0", "si": "61", "st": "–",
    }  # fmt: skip


def test_interrupts_of_other_devices_are_those_that_are_not_of_nics() -> None:
    core = Core(cpu=0, nic_irqs=300.0, all_irqs=450.0)
    assert corelist.others(core) == 150.0
    assert corelist.others(replace(core, nic_irqs=None)) is None


def proof(count: int) -> StoredResult:
    before = tuple(float(number) for number in range(1, count + 1))
    after = tuple(value + 1 for value in before)
    return StoredResult("x", 0.0, "iperf3", "proof", before=before, after=after, higher=True,
                        interval=(0.1, 0.2), middle=0.15)  # fmt: skip


@pytest.mark.parametrize(("count", "shown"), [(1, [1]), (5, [1, 2, 3, 4, 5]), (8, [4, 5, 6, 7, 8])])
def test_the_latest_pairs_of_a_running_proof_are_shown(count: int, shown: list[int]) -> None:
    rows = [text_of(row) for row in outcome.so_far(proof(count), 80, 10)]
    assert [int(row.split()[0]) for row in rows if row.split()[0].isdigit()] == shown
    several = ", +10.0% to +20.0%: " if count > 1 else ": "
    of = f"median gain of {count} pairs" if count > 1 else "gain of 1 pair"
    assert f"   so far +15.0%{several}{of}" in rows
    own = [row.split()[-1] for row in rows if row.split()[0].isdigit()]
    assert rows[0].endswith("over median before")
    assert own == [f"{2 / (count + 1):+.1%}"] * len(shown)  # each has the same base
    assert "no gain" in rows[-1]


def test_a_low_room_shows_one_pair_and_no_scale() -> None:
    rows = [text_of(row) for row in outcome.so_far(proof(4), 80, 6)]
    assert len(rows) == 3
    assert rows[1].split()[0] == "4"


# Lines of a question in several rows: nothing is lost, nothing is too wide.


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
