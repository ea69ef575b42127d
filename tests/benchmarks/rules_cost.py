"""What judging costs: 120 rules over a large host whose every value changes each frame.

    python tests/benchmarks/rules_cost.py

40 queue rules on 1,024 queues, 40 NIC rules on 64 NICs, 20 core rules on 256 cores, 20 flow rules
on 200 flows; then loading the pack and compiling what its first frame needs, scaled to 200 rules.
CPU time, medians; asserts nothing.
"""

import gc
import random
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import goals

from nettop.advice.judge.judge import Judge
from nettop.advice.language import expression
from nettop.advice.rules.load import load, read
from nettop.advice.rules.rule import Rule
from nettop.collect.coalesce import Row as Coalesce
from nettop.collect.rings import Row as Ring
from nettop.facts import Facts, Profile
from nettop.facts.kinds.core import Core
from nettop.facts.kinds.flow import Flow
from nettop.facts.kinds.host import HostFact
from nettop.facts.kinds.nic import Counters, Feature, Nic
from nettop.facts.kinds.queue import Queue

FRAMES = 20
PACK = Path(__file__).parents[2] / "rules"
WHEN = {
    "queue": (
        "queue.packets_per_s >= 0 and not queue.off_node and queue.core_si > limits.most"
        " or queue.drops_per_s > 1e9"
    ),
    "nic": (
        "nic.per_s.ring_drops >= 0 and nic.ring.rx >= nic.ring.rx_max"
        " and not nic.coalesce.adaptive_rx or on(nic, 'rx-gro') and nic.mtu > 1e6"
    ),
    "core": "core.softirq + core.system > limits.most and core.idle < 0 and core.nic_irqs > 0",
    "flow": (
        "flow.bulk and flow.rtt * flow.delivery_rate / 8 > sysctl('net.ipv4.tcp_rmem')[2] * 1e6"
        " and flow.rwnd_limited > 0.1"
    ),
}
COUNT = {"queue": 40, "nic": 40, "core": 20, "flow": 20}


def rules(folder: Path) -> list[Rule]:
    made: list[Rule] = []
    for over, when in WHEN.items():
        for number in range(COUNT[over]):
            path = folder / f"{over}-{number}.toml"
            path.write_text(
                f'title = "t"\nseverity = "info"\nover = "{over}"\nwhen = "{when}"\nwhy = "w"\n'
                f'[limits]\nmost = {100 + number}\n[[source]]\ndoc = "d"\n'
            )
            made += read(path)
    return made


def host(turn: int) -> Facts:
    some = random.Random(turn).random
    features = tuple(Feature(f"rx-{i}", True, True, False) for i in range(59))
    nics = tuple(
        Nic(
            f"eth{n}", "nic", mtu=1500, local_cpus=tuple(range(64)),
            ring=Ring("", rx=256, rx_max=4096), coalesce=Coalesce("", adaptive_rx=True),
            features=(*features, Feature("rx-gro", True, True, False)),
            per_s=Counters(ring_drops=some()),
        )
        for n in range(64)
    )  # fmt: skip
    queues = tuple(
        Queue(
            f"eth{q % 64}", f"rx-{q // 64}", "rx", q // 64, off_node=False, core_si=some(),
            packets_per_s=some(), drops_per_s=some(),
        )
        for q in range(1024)
    )  # fmt: skip
    cores = tuple(
        Core(c, softirq=some(), system=some(), idle=some(), nic_irqs=some()) for c in range(256)
    )
    flows = tuple(
        Flow(
            f"f{f}", "tcp", nic="eth0", rtt=some(), delivery_rate=some(), rwnd_limited=some(),
            bulk=True,
        )
        for f in range(200)
    )  # fmt: skip
    return Facts(
        HostFact("host"), Profile("server", ""), float(turn), nics, queues, cores, flows,
        sysctls={"net.ipv4.tcp_rmem": "4096 131072 6291456"},
    )  # fmt: skip


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(rules(Path(folder)))
        frames = [host(turn) for turn in range(FRAMES)]
        judge.judge(replace(frames[0], at=-1.0))  # compiles
        costs = []
        for facts in frames:
            begun = time.process_time()
            assert not judge.judge(facts).findings
            costs.append((time.process_time() - begun) * 1e3)
    goals.note("rules: judging a large frame", statistics.median(costs))
    print(f"judge: {statistics.median(costs):.1f} ms a frame (median of {FRAMES}; goal 20)")

    gc.set_threshold(50_000)  # as the command line does
    small = replace(host(0), nics=host(0).nics[:1], queues=host(0).queues[:1])
    loads, compiles, count = [], [], 0
    for _ in range(15):
        expression._parse.cache_clear()
        gc.collect()
        begun = time.process_time()
        pack = load([PACK])
        loaded = time.process_time()
        Judge(pack).judge(small)
        compiles.append((time.process_time() - loaded) * 1e3)
        loads.append((loaded - begun) * 1e3)
        count = len(pack)
    load_ms, compile_ms = statistics.median(loads), statistics.median(compiles)
    scaled = (load_ms + compile_ms) * 200 / count
    goals.note("rules: loading 200", scaled)
    least = (min(loads) + min(compiles)) * 200 / count
    print(f"pack: {count} rules, load {load_ms:.0f} ms + first frame {compile_ms:.0f} ms;", end=" ")
    print(f"200 rules: {scaled:.0f} ms, least {least:.0f} (goal 60)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
