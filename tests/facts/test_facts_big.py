"""A large host, read from files and joined: places, lines and queues are all found."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from nettop.facts import Facts
from nettop.facts.joined import NEEDS, Joiner
from nettop.facts.kinds import core
from nettop.facts.limits import window
from nettop.frame.rates import Frame
from nettop.host.source import Live
from nettop.sampling.sampler import Sampler


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


make_big = load(Path(__file__).parents[1] / "hosts/make_big.py")


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    folder = str(tmp_path_factory.mktemp("big"))
    big = make_big.Big(cpus=64, nodes=2, nics=2, queues=16, lines=100, spread=True)
    make_big.write(folder, big)
    sampler, joiner = Sampler(Live(folder)), Joiner()
    joiner.build(sampler.take(NEEDS))
    make_big.step(folder, big, 10)
    return joiner.build(sampler.take(NEEDS))


def test_places(facts: Facts) -> None:
    assert (len(facts.cores), facts.host.nodes, facts.host.cores) == (64, 2, 32)
    core = facts.cores[17]
    assert (core.node, core.siblings, core.l2) == (1, (49,), (17, 49))
    assert core.l3 == (*range(16, 24), *range(48, 56))


def test_every_queue_has_its_line(facts: Facts) -> None:
    assert [nic.name for nic in facts.nics] == ["eth0", "eth1"]
    assert [nic.irqs for nic in facts.nics] == [16, 16]
    assert len(facts.queues) == 64
    for queue in facts.queues:
        first = 100 if queue.nic == "eth0" else 117
        assert queue.irq == first + queue.number
        assert queue.cpu == queue.irq % 64 == queue.effective[0]
        nic_node = 0 if queue.nic == "eth0" else 1
        assert queue.off_node == (queue.node != nic_node)


def test_every_line_counts_in_ten_seconds(facts: Facts) -> None:
    assert all(queue.irq_per_s is not None and queue.irq_per_s > 0 for queue in facts.queues)
    assert facts.nics[0].msi is True
    assert facts.nics[0].irq_off_node == sum(
        bool(q.off_node) for q in facts.queues if q.nic == "eth0" and q.direction == "rx"
    )


def test_offline_cpus_leave_holes(tmp_path: Path) -> None:
    big = make_big.Big(cpus=12, nodes=1, queues=4, lines=6, offline=3)
    make_big.write(str(tmp_path), big)
    facts = Joiner().build(Sampler(Live(str(tmp_path))).take(NEEDS))
    assert [core.cpu for core in facts.cores] == [0, 1, 3, 4, 6, 7, 9, 10]
    assert [queue.effective for queue in facts.queues if queue.direction == "rx"] == [
        (0,), (1,), (3,), (4,),
    ]  # fmt: skip


@pytest.mark.parametrize("driver", make_big.CARDS)
def test_each_driver_names_its_queues(driver: str, tmp_path: Path) -> None:
    big = make_big.Big(cpus=8, nodes=2, queues=4, lines=12, driver=driver)
    make_big.write(str(tmp_path), big)
    facts = Joiner().build(Sampler(Live(str(tmp_path))).take(NEEDS))
    (nic,) = facts.nics
    lines = {queue.irq for queue in facts.queues}
    if driver == "hv_netvsc":
        assert (nic.irqs, lines) == (0, {None})
        return
    assert len(lines) == nic.irqs == 4 * len(big.card.queue)
    assert None not in lines
    assert nic.irq_off_node in (0, None)


def test_the_load_of_the_cpus_is_computed_once_a_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[float] = []
    loads = core.loads

    def counted(frame: Frame) -> dict[int, core.Load]:
        computed.append(frame.at)
        return loads(frame)

    monkeypatch.setattr(core, "loads", counted)
    monkeypatch.setattr(window, "loads", counted)
    make_big.write(str(tmp_path), make_big.Big(cpus=4, nics=1, queues=2, lines=10))
    sampler, joiner = Sampler(Live(str(tmp_path))), Joiner()
    for number in range(1, 4):
        joiner.build(sampler.take(NEEDS))
        assert len(computed) == number
