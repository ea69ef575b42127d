"""Cores: rows of a few, a heat map of many with the outliers."""

from dataclasses import replace

import pytest
from folded import folded
from pane_text import words
from scenes import big, lossy

from nettop.facts import Facts
from nettop.panes import grid
from nettop.terms.text import line_cells, text_of


def host(*loads: float) -> Facts:
    """A host with a core for each load."""
    facts = big().facts
    assert facts is not None
    shape = replace(facts.cores[0], queues=(), processes=(), softirq=0.0, node=0, l3=())
    cores = [
        replace(shape, cpu=cpu, user=load, system=0.0, idle=100.0 - load)
        for cpu, load in enumerate(loads)
    ]
    return replace(facts, cores=tuple(cores))


def test_of_many_cores_at_most_eight_are_rows() -> None:
    facts = host(*[90.0] * 20, *[5.0] * 236)
    assert len(grid.outliers(facts.cores)) == grid.OUTLIERS == 8
    assert words(grid.block(facts, 118, 20)).count("%") == 8


def test_cores_of_about_the_same_load_have_no_list() -> None:
    facts = host(*[40.0, 45.0, 49.0] * 80)
    assert grid.outliers(facts.cores) == []
    assert "%" not in words(grid.block(facts, 118, 20))


@folded("cpus", [1, 2, 7, 32, 33, 256, 1152])
@folded("width", [28, 57, 78, 98, 198])
def test_what_cores_need_is_what_they_take(cpus: int, width: int) -> None:
    facts = host(*[3.0] * (cpus - 1), 95.0)
    rows = grid.block(facts, width, 60)
    assert len(rows) <= grid.needs(facts, width)
    assert {line_cells(row) for row in rows} == {width}


def test_one_line_names_the_busiest() -> None:
    facts = lossy().facts
    assert facts is not None
    (row,) = grid.brief(facts, 80)
    told = text_of(row).split()
    assert told[:7] == ["CORES", "▁▁▆▁▁▂█▂", "us", "sy", "hi", "si", "st"]
    assert told[7:10] == ["6", "97%", "eth0/rx-0"]
    assert line_cells(row) == 80
    assert grid.brief(replace(facts, cores=()), 80) == []


@pytest.mark.parametrize(
    ("nodes", "caches", "names"),
    [
        ((0, 0, 1, 1), ((0,), (2,), (4,), (4,)), ["node 0", "node 1"]),
        ((0, 0, 0, 0), ((0,), (0,), (4,), (4,)), ["L3 0", "L3 1"]),
        ((0, 0, 0, 0), ((0,), (1,), (2,), (3,)), [""]),
        ((0, 0, 0, 0), ((0,), (0,), (0,), (0,)), [""]),
    ],
)
def test_cores_are_grouped_by_node_or_else_by_cache(
    nodes: tuple[int, ...], caches: tuple[tuple[int, ...], ...], names: list[str]
) -> None:
    cores = [
        replace(core, node=node, l3=l3)
        for core, node, l3 in zip(host(*[1.0] * 4).cores, nodes, caches, strict=True)
    ]
    groups = grid.groups(cores)
    assert [name for name, _ in groups] == names
    assert [core for _, members in groups for core in members] == cores
