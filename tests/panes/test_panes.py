"""Panes: pure lines, at every size, of every host; goldens of the telling ones."""

import pathlib
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from folded import folded
from golden_text import same
from pane_text import above_footer, words
from scenes import RING, SCENES, big, healthy, lossy, storied

from nettop import panes
from nettop.facts.kinds.nic import Counters
from nettop.frame.rates import Frame
from nettop.panes import declared, page
from nettop.panes import tests as tests_pane
from nettop.panes.cursor import bound
from nettop.terms.text import line_cells, text_of
from nettop.views.kept import result_of
from nettop.views.scene import RunningTest, Scene, nic_of
from nettop.views.view import Spot, View, chosen

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "panes"
SIZES = ((80, 24), (120, 40), (200, 60), (20, 5), (500, 200), (1, 1), (37, 9), (61, 13))
GOLDENS = [
    *(("storied", name, 120, 40) for name in panes.names()),
    *(("lossy", name, 80, 24) for name in panes.names()),
    *((host, "overview", 120, 40) for host in ("lossy", "big", "healthy", "bare")),
    ("big", "cores", 120, 40), ("big", "overview", 80, 24), ("lossy", "overview", 20, 5),
    ("lossy", "overview", 200, 60),
]  # fmt: skip


@folded("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@folded("name", panes.names())
@folded("host", SCENES)
def test_every_pane_fills_every_size_exactly(host: str, name: str, size: tuple[int, int]) -> None:
    width, height = size
    rows = page.compose(SCENES[host](), View(pane=name), width, height)
    assert len(rows) == height
    assert {line_cells(row) for row in rows} == {width}
    assert all(text.isprintable() for row in rows for text, _ in row)


@folded("name", panes.names())
def test_before_the_first_frame_there_is_a_screen(name: str) -> None:
    assert len(page.compose(Scene(), View(pane=name), 80, 24)) == 24


@folded(("host", "name", "width", "height"), GOLDENS)
def test_golden(host: str, name: str, width: int, height: int, update: bool) -> None:
    told = words(above_footer(SCENES[host](), View(pane=name), width, height))
    path = GOLDEN / f"{host}-{name}-{width}x{height}.txt"
    same(path, told, update)


def test_each_pane_has_a_digit_and_the_first_is_the_overview() -> None:
    keys = [panes.pane(name).KEY for name in panes.names()]
    assert len(keys) >= 8
    assert all(len(key) == 1 and key.isdecimal() for key in keys)
    assert panes.pane("overview").KEY == "1"


@folded("name", panes.names())
def test_rows_under_the_cursor_are_drawn_selected(name: str) -> None:
    scene = storied()
    items = panes.pane(name).items(scene, View(pane=name))
    if name == "history" or not items:
        return
    for index in (0, len(items) - 1):
        view = View(pane=name).at(on=items[index], index=index)
        rows = panes.pane(name).lines(scene, view, 120, 38)
        if name in ("overview", "cores", "nic", "flows", "advisor", "tests", "journal"):
            roles = {role for row in rows for _, role in row}
            assert any(role.startswith("select") for role in roles)


def test_the_cursor_follows_its_row() -> None:
    spot = Spot(on="b", index=1)
    assert chosen(("c", "b", "a"), spot) == 1
    assert chosen(("b", "c"), spot) == 0
    assert chosen(("x", "y", "z"), spot) == 1
    assert chosen((), spot) == -1


@pytest.mark.parametrize("size", [(80, 22), (120, 38), (200, 58)])
def test_the_first_words_are_the_limit_or_that_there_is_none(size: tuple[int, int]) -> None:
    rows = panes.pane("overview").lines(lossy(), View(), *size)
    assert "WHAT LIMITS eth0 · receive" in text_of(rows[0])
    told = text_of(rows[1]).strip("│ ")
    assert told.startswith("✗ Limited by the receive ring: no receive descriptor free")
    rows = panes.pane("overview").lines(healthy(), View(), *size)
    assert text_of(rows[1]).strip("│ ").startswith("✓ no drops here; nothing waits")


def test_what_cannot_be_read_is_not_called_well() -> None:
    rows = panes.pane("overview").lines(SCENES["bare"](), View(), 80, 22)
    assert "? Cannot tell: the CPUs could not be read" in text_of(rows[1])
    assert "Operation not permitted" in words(rows)


def test_the_tiniest_screen_names_the_worst() -> None:
    rows = page.compose(lossy(), View(), 20, 5)
    assert text_of(rows[0]).startswith(" ✗ Limited by the r")
    assert text_of(rows[1]).startswith(" ✗ 1,204 dropped/s")


@pytest.mark.parametrize("cpus", [64, 256, 1024])
def test_many_cores_fit_and_the_hot_ones_are_named(cpus: int) -> None:
    told = words(panes.pane("overview").lines(big(cpus), View(), 120, 38))
    assert re.search(r"\b3 ███", told)
    assert len(told.splitlines()) <= 38


def test_a_queue_without_an_interrupt_offers_no_move() -> None:
    scene = lossy()
    assert scene.facts is not None
    view = View(pane="cores")
    for width in (60, 80, 120):
        assert "e move  S spread" in words(panes.pane("cores").lines(scene, view, width, 30))
    queues = tuple(replace(q, irq=None, cpu=None, allowed=()) for q in scene.facts.queues)
    scene = replace(scene, facts=replace(scene.facts, queues=queues))
    told = words(panes.pane("cores").lines(scene, view, 120, 30))
    assert "no interrupt of its own" in told
    view = bound(view, scene)
    assert "e move" not in words(page.compose(scene, view, 120, 30))


def test_idle_cores_fold() -> None:
    folded = panes.pane("cores").lines(big(), View(pane="cores"), 500, 60)
    opened = panes.pane("cores").lines(big(), View(pane="cores", fold_idle=False), 500, 60)
    assert len(text_of(folded[2]).split()) <= len(text_of(opened[2]).split())
    assert "not shown" in text_of(folded[0])


@pytest.mark.parametrize("size", [(80, 24), (120, 44), (200, 58)])
def test_the_last_minutes_are_shown_beside_all_that_is_wrong(size: tuple[int, int]) -> None:
    overview = panes.pane("overview")
    told = words(overview.lines(storied(), View(), *size))
    assert "rx ▲ ⣿" in told
    assert "Pause frames are off" in told  # the graph never replaces a finding
    assert "rx ▲" not in words(overview.lines(lossy(), View(), *size))  # no past yet


def test_the_load_of_cores_is_shown_over_time() -> None:
    cores = words(panes.pane("cores").lines(storied(), View(pane="cores"), 120, 40))
    assert "last 1 m 42 s" in cores
    assert "core 6 " in cores
    assert "core 6 ⣿⣿" in cores


def test_ten_thousand_flows_and_five_thousand_interfaces() -> None:
    scene = lossy()
    assert scene.facts is not None
    flows = tuple(replace(scene.facts.flows[0], id=f"f{i}") for i in range(10_000))
    nics = tuple(replace(scene.facts.nics[1], name=f"v{i}") for i in range(5_000))
    scene = replace(scene, facts=replace(scene.facts, flows=flows, nics=nics))
    for name in panes.names():
        assert len(page.compose(scene, View(pane=name), 120, 40)) == 40


@pytest.mark.parametrize("width", [60, 69, 80, 120])
def test_a_running_test_says_how_to_stop_it(width: int) -> None:
    progress = RunningTest("iperf3", 5.0, 10.0, (9.41e9,), 1_234.0)
    proof = replace(progress, proof=next(iter(storied().results)), open_ended=True)
    for shown in (progress, proof):
        told = text_of(tests_pane.running(shown, width, 20)[1])
        assert told.rstrip().endswith("retr   Ctrl-X stops" if shown.proof else "Ctrl-X stops")


def test_a_running_test_tells_retransmits_as_its_verdict_does() -> None:
    for share, text in ((0.151, "15.1 %"), (0.00012, "0.012 %"), (1e-7, "<0.001 %"), (0.0, "0 %")):
        progress = RunningTest("bulk", 5.0, 10.0, (7.9e7,), 3_964.0, resent=share)
        told = text_of(tests_pane.running(progress, 70, 20)[1])
        assert "NIC now 79 Mb/s wire  " in told
        assert f"3,964 retr ({text})   Ctrl-X stops" in told
    document = {"kind": "prove", "guards": [{"name": "retransmits", "a": 0.151, "b": 1e-7}]}
    figures = dict(result_of(document).figures)
    assert "15.1 % → <0.001 %" in figures.values()


def test_the_interface_shown_is_the_one_that_matters() -> None:
    scene = replace(lossy(), findings=())
    assert scene.facts is not None
    lo, _, eth1 = scene.facts.nics

    def seen(*rates: tuple[str, str, float], found: str = "", chosen: str = "") -> str:
        nics = tuple(
            replace(eth1, name=name, kind=kind, per_s=Counters(rx_bytes=rate, tx_bytes=0.0))
            for name, kind, rate in rates
        )
        assert scene.facts is not None
        findings = (replace(RING, target=found),) if found else ()
        facts = replace(scene.facts, nics=(lo, *nics))
        nic = nic_of(replace(scene, facts=facts, findings=findings), View(nic=chosen))
        assert nic is not None
        return str(nic.name)

    busy, ssh, idle = 1e9, 4e3, 0.0
    assert seen(("eth0", "nic", busy), ("eth1", "nic", ssh)) == "eth0"
    assert seen(("eth0", "nic", 2e7), ("veth0", "veth", busy)) == "eth0"
    assert seen(("eth0", "nic", ssh), ("veth0", "veth", busy)) == "veth0"
    assert seen(("eth0", "nic", idle), ("veth0", "veth", 10.0)) == "eth0"
    assert seen(("eth0", "nic", idle), ("lo1", "loopback", busy)) == "lo1"
    assert seen(("eth0", "nic", busy), ("lo1", "loopback", busy)) == "eth0"
    assert seen(("eth0", "nic", idle), ("lo1", "loopback", ssh)) == "eth0"
    assert seen(("eth0", "nic", busy), ("eth1", "nic", ssh), found="eth1/rx-0") == "eth1"
    assert seen(("eth0", "nic", busy), ("eth1", "nic", ssh), chosen="eth1") == "eth1"


@folded(("width", "height"), [(80, 22), (120, 38), (200, 58), (40, 10), (20, 3)])
def test_results_studies_and_comparisons_fit_any_size(width: int, height: int) -> None:
    scene = replace(storied(), progress=None)
    proof, test = scene.results[0], scene.results[1]
    told = {}
    for on in ("form.to", *(f"result.{r.id}" for r in scene.results), "study.nasa-4"):
        for marked in ("", f"result.{test.id}"):
            view = View(pane="tests").at(on=on, open=marked)
            rows = panes.pane("tests").lines(scene, view, width, height)
            assert len(rows) <= height
            assert all(line_cells(row) == width for row in rows)
            told[on, marked] = "\n".join(map(text_of, rows))
    if width < 80:
        return
    assert "BETTER" in told[f"result.{proof.id}", ""]
    assert "+31.0%" in told[f"result.{proof.id}", ""]
    assert "no gain" in told[f"result.{proof.id}", ""]
    assert "ring.rx@eth0: 256 → 512" in told[f"result.{proof.id}", f"result.{test.id}"]
    assert "18,500 – 19,500" in told["study.nasa-4", ""]
    assert "938.2" in told["study.nasa-4", ""]


class Asked(dict[str, list[Any]]):
    """Empty tables that remember which of them were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return default


@folded("name", panes.names())
@folded("host", SCENES)
def test_a_pane_draws_no_table_of_the_frame_but_those_it_declares(host: str, name: str) -> None:
    tables, scene = Asked(), SCENES[host]()
    scene = replace(scene, frame=Frame(0.0, 0.0, tables))
    rows = panes.pane(name).items(scene, View(pane=name))
    some = "columns.nic" if name == "options" else "eth0"
    for here in ("", some, *(rows[:1] if name != "options" else ())):
        for driver_names in (False, True):
            view = View(pane=name, nic="eth0", driver_names=driver_names)
            view = view.at(on=here, open=here)
            page.compose(scene, view, 200, 60)
    one = panes.pane(name)
    declared_tables = set(one.NEEDS if one.DRAWS is None else one.DRAWS)
    assert tables.names <= declared_tables <= panes.drawn()


def test_the_sockets_are_drawn_from_facts() -> None:
    sockets = {name for name in panes.drawn() if "tcp" in name or "udp" in name or "socket" in name}
    assert sockets == set()
    assert {"drvinfo", "ethstats", "interrupts", "nicstats_raw", "threads"} <= panes.drawn()


def test_a_pane_without_a_list_of_drawn_tables_draws_those_it_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = replace(panes.pane("journal"), NEEDS=("uptime",))
    monkeypatch.setattr(panes, "pane", lambda _name: plain)
    assert panes.drawn() == {"uptime"}


def test_a_part_that_panes_share_is_no_pane() -> None:
    for name in ("parts", "grid", "declared", "nosuch"):
        assert name not in panes.names()
        with pytest.raises(KeyError):
            panes.pane(name)


def test_a_pane_that_declares_only_what_it_must_is_a_plain_list() -> None:
    plain: Any = SimpleNamespace(
        TITLE="x", KEY="0", LEGEND="", NEEDS=(), items=lambda *_: (), lines=lambda *_: []
    )
    known = declared.of(plain)
    assert (known.BOUND, known.PAGED, known.PROGRESS) == (False, False, False)
    assert (known.COLUMNS, known.LAZY, known.KEYS, known.orders(View())) == ((), (), (), ("",))
    view = View().at(left=3, filter="x")
    assert known.sideways(view, Scene(), -1).spot.left == 2
    assert known.escape(view, Scene()).spot.filter == ""
