"""Cores: rows of a few, a heat map of many with the outliers."""

from dataclasses import replace

import pytest
from folded import folded
from pane_text import words
from scenes import big, lossy

from nettop.facts import Facts
from nettop.panes import corelist, corerow, grid, overview
from nettop.terms.text import line_cells, text_of
from nettop.views.ask import Pointer
from nettop.views.view import View


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


@pytest.mark.parametrize("cpus", [1, 2])
def test_of_few_cores_the_one_line_has_the_figures_of_each_also_at_rest(cpus: int) -> None:
    facts = host(*[2.0, 97.0][:cpus])
    (row,) = grid.brief(facts, 80)
    told = text_of(row)
    assert "0 2.0% us 2" in told
    assert cpus == 1 or "1  97% us 97" in told
    assert [cpu for cpu in (corelist.at(Pointer(x, 0, 80, 24, row, "CORES")) for x in range(80))
            if cpu is not None][-1] == cpus - 1  # fmt: skip
    assert grid.brief(facts, 80, 0)[0] != row


def test_beside_the_kinds_of_time_stand_interrupts_and_packets() -> None:
    facts = lossy().facts
    assert facts is not None
    head, *rows = map(text_of, grid.block(facts, 58, 20))
    assert head.split()[-2:] == ["irq/s", "pps"]
    (busy,) = (row for row in rows if row.startswith(" 6 "))
    assert busy.split()[-3:] == ["8.12k", "51.7k", "eth0/rx-0"]
    assert "8.12k 51.7k eth0/rx-0" in words(grid.block(facts, 98, 20))
    assert "irq/s" not in words(grid.block(facts, 50, 20))


def test_large_rates_do_not_run_together() -> None:
    facts = lossy().facts
    assert facts is not None
    busy = tuple(replace(one, nic_irqs=15_800.0, processed=139_700.0) for one in facts.cores)
    assert "15.8k  140k " in words(grid.block(replace(facts, cores=busy), 58, 20))
    for per_s in (0, 7, 999, 1000, 99_960, 139_700, 999_960, 14_880_000):
        assert len(corerow.rated(per_s)[0]) <= 5


def test_a_rate_that_no_core_has_is_no_column() -> None:
    facts = host(3.0, 95.0)
    silent = replace(facts, cores=tuple(replace(one, nic_irqs=None) for one in facts.cores))
    told = words(grid.block(silent, 118, 20))
    assert "pps" in told
    assert "irq/s" not in told


def test_in_the_selected_row_each_figure_belongs_to_its_core() -> None:
    facts = lossy().facts
    assert facts is not None
    core = facts.cores[6]
    row = corerow.core_row(core, 58, 1, headed=True, on=6)
    found = {corelist.at(Pointer(x, 0, 80, 24, row, "CORES")) for x in range(58)}
    assert found == {6}


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


def test_where_bars_have_no_heading_the_title_says_what_their_glyphs_mean() -> None:
    for width, said in ((80, True), (120, False)):
        rows = words(overview.lines(lossy(), View(), width, 22 if width == 80 else 38))
        (title,) = (row for row in rows.splitlines() if "CORES ·" in row)
        assert ("░us ▒sy ▓hi █si ▚st" in title) == said, title
