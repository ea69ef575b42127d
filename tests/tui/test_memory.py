"""What a run remembers is bounded, however long it lasts, whatever churns. Counted, not timed."""

import gc
import sys
import tracemalloc
import weakref
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import astuple, replace

import pytest
from churning import LASTS, Churning
from scenes import lossy

from nettop import panes
from nettop.advice.language import expression
from nettop.advice.rules import file
from nettop.advice.rules.load import load
from nettop.config import rule_folders
from nettop.facts import Facts
from nettop.panes import page
from nettop.tui.engine import Engine
from nettop.views import past
from nettop.views.build import merge
from nettop.views.past import COARSE, FINE, History, Layout, Packed, PortRates
from nettop.views.scene import Scene
from nettop.views.view import View

ROUND = 72  # frames of all moments, panes and sizes, and of 24 times new names


class Watched:
    """The engine on the churning host, and every pane drawn in turn; looked at between frames."""

    def __init__(
        self, looks: Mapping[int, Callable[[Scene], None]], interfaces: bool = True
    ) -> None:
        """`looks` after so many frames, the last of which ends it."""
        self.looks = looks
        self.source = Churning(interfaces)
        self.engine = Engine(self.source, self.post, 0.0, View())
        self.scene = Scene()
        self.drawn = 0
        self.engine.run()

    def post(self, scene: Scene) -> None:
        assert scene.facts is not None, scene.notes
        self.scene = merge(self.scene, scene)
        width, height = ((120, 40), (200, 60), (80, 24))[self.drawn // 8 % 3]
        view = View(pane=panes.names()[self.drawn % 8])
        page.compose(self.scene, view, width, height)
        self.engine.view = view
        if self.source.frame % LASTS == 0:
            self.engine.refresh()  # tables read every ten seconds would miss these names
        self.drawn += 1
        if self.drawn in self.looks:
            self.looks[self.drawn](self.scene)
        self.engine.stopping = self.drawn >= max(self.looks)


def held() -> tuple[int, Counter[str]]:
    """The memory blocks that Python holds, and its objects by type."""
    gc.unfreeze()
    gc.collect()
    kinds = Counter(type(one).__qualname__ for one in gc.get_objects())
    return sys.getallocatedblocks(), kinds


def names(scene: Scene) -> set[str]:
    """What identifies the interfaces, flows and processes of a moment, but for the loopback."""
    facts = scene.facts
    assert facts is not None
    found = [*(nic.name for nic in facts.nics), *(flow.id for flow in facts.flows)]
    return {*found, *(str(process.pid) for process in facts.processes)} - {"lo"}


def test_the_host_churns() -> None:
    seen: list[set[str]] = []
    Watched(dict.fromkeys((8, 11), lambda scene: seen.append(names(scene))))
    before, after = seen
    assert len(before) > 9
    assert not before & after


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("interfaces", "rounds", "bound"),
    [
        (True, 1, 2000),
        # more new names than any cache holds
        (True, 5, 1000),
        (False, 5, 1000),
    ],
    ids=["everything, caches that fill included", "everything", "all but interfaces"],
)
def test_what_is_gone_is_forgotten(
    interfaces: bool, rounds: int, bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`bound` in memory blocks."""
    for name, value in (("FINE", 40), ("COARSE", 40), ("STEP", 2.0)):  # soon full
        monkeypatch.setattr(past, name, value)
    found: list[tuple[int, Counter[str]]] = []
    frames = [2 * rounds * ROUND, 3 * rounds * ROUND]
    Watched(dict.fromkeys(frames, lambda _: found.append(held())), interfaces)
    (blocks, kinds), (more, then) = found
    assert more - blocks < bound, (then - kinds).most_common(12)


def test_a_frame_is_gone_when_the_next_is_there() -> None:
    """Without the collector: an exception that is kept would hold all tables of its frame."""
    found: list[int] = []

    def begin(_scene: Scene) -> None:
        gc.collect()
        gc.disable()

    def end(_scene: Scene) -> None:
        gc.enable()
        found.append(gc.collect())

    try:
        Watched({24: begin, 64: end})
    finally:
        gc.enable()
    assert found[0] < 40 * 5  # objects; a frame has thousands


def crowd(second: int) -> Facts:
    """Ten interfaces and twelve flows, none of which was there in the second before."""
    facts = lossy().facts
    assert facts is not None
    flows = tuple(
        replace(facts.flows[0], id=f"tcp:192.0.2.1:{second * 12 + n}-192.0.2.2:5201")
        for n in range(12)
    )
    nics = tuple(replace(facts.nics[0], name=f"veth{n}") for n in range(10))
    return replace(facts, at=float(second), nics=nics, flows=flows)


def test_a_moment_of_the_past_takes_little() -> None:
    kept = History()
    for second in range(50):
        kept = kept.add(crowd(second), float(second))
    gc.collect()
    tracemalloc.start()
    for second in range(50, 250):
        kept = kept.add(crowd(second), float(second))
    gc.collect()
    size, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(kept.fine) == 250
    assert size / 200 < 1200  # bytes; objects for each figure took 4500


def test_the_rules_take_little() -> None:
    """What is parsed of a file is not kept, nor the trees of conditions: they took 20 KB a rule."""
    load(rule_folders())  # and what it imports
    file._built.cache_clear()
    expression._parse.cache_clear()
    gc.collect()
    tracemalloc.start()
    rules = load(rule_folders())
    gc.collect()
    size, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size / len(rules) < 8000  # bytes


def test_the_past_is_bounded() -> None:
    last = History().add(crowd(0), 0.0).fine[0]
    full = History((last,) * FINE, (last,) * COARSE)
    for second in range(1, 51):
        full = full.add(crowd(second), float(second))
    assert (len(full.fine), len(full.coarse)) == (FINE, COARSE)


def test_a_flow_that_ended_leaves_no_trace_and_one_that_lasts_keeps_its_own() -> None:
    kept = History()
    for second in range(25):
        facts = crowd(second)
        lasting = replace(facts.flows[0], id="lasting", rx_per_s=1e9)
        kept = kept.add(replace(facts, flows=(lasting, *facts.flows)), float(second))
    assert [list(moment.flows) for moment in kept.fine[:20]] == [["lasting"]] * 20
    assert len(kept.flow("lasting", lambda trace: trace.rate)) == 25


def test_what_is_packed_comes_out_again() -> None:
    layout = Layout(PortRates, "fffffQQQQ")
    port = PortRates(1.5, None, 0.0, 3e9, None, 2**64 - 2, None, 0, 10**15 + 1)
    packed = Packed(layout).then({"eth0": astuple(port), "lo": (None,) * 9})
    assert packed["eth0"] == packed.get("eth0") == port
    assert packed["lo"] == PortRates(*(None,) * 9)
    assert packed.get("eth1") is None
    assert "eth1" not in packed
    assert packed.only({"eth0", "lo", "eth1"}) is packed
    assert dict(packed.only({"lo"})) == {"lo": PortRates(*(None,) * 9)}
    damaged = Packed(layout).then({"eth0": (1e300, -1e300, *[0.0] * 3, -5, 2**70, 0, 0)})["eth0"]
    assert (damaged.rx_total, damaged.tx_total) == (0, 2**64 - 2)
    assert damaged.rx == pytest.approx(3e38)


class Ring:
    """What only the collector frees: it holds itself."""

    def __init__(self) -> None:
        self.own = self


def test_the_engine_looks_for_cycles_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    alive: list[weakref.ref[Ring]] = []
    most: list[int] = []
    source = Churning()
    engine = Engine(source, lambda _: None, 0.0, View())

    def post(_scene: Scene) -> None:
        alive.append(weakref.ref(Ring()))
        most.append(sum(ring() is not None for ring in alive))
        engine.stopping = len(alive) >= 60

    engine.post = post
    monkeypatch.setattr("nettop.tui.engine.COLLECT_EVERY", 20)
    gc.collect()
    gc.disable()
    try:
        engine.run()
    finally:
        gc.enable()
    assert max(most) <= 25
