"""The facts on which expressions are evaluated."""

from typing import Any

from nettop.advice.judge.inline_facts import facts
from nettop.advice.language.moment import Moment, Scope
from nettop.facts import Facts

NIC: dict[str, Any] = {
    "ring": {"rx": 256, "rx_max": 4096},
    "per_s": {"ring_drops": 1204.0},
    "features": {"rx-gro": False, "rx-lro": "fixed off"},
    "qdisc": "mq",
    "local_cpus": [0, 1, 2, 3],
}
CORES = [
    {"cpu": 0, "node": 0, "siblings": [2], "l2": [0, 2], "l3": [0, 1, 2, 3], "softirq": 90.0},
    {"cpu": 1, "node": 0, "siblings": [3], "l2": [1, 3], "l3": [0, 1, 2, 3], "idle": 50.0},
    {"cpu": 2, "node": 0, "siblings": [0], "l2": [0, 2], "l3": [0, 1, 2, 3], "idle": 99.0},
    {"cpu": 3, "node": 0, "siblings": [1], "l2": [1, 3], "l3": [0, 1, 2, 3], "idle": 99.0},
    {"cpu": 4, "node": 1, "siblings": [], "l2": [4], "l3": [4], "idle": 99.0},
]
HOST = facts(
    {
        "nic": NIC,
        "cores": CORES,
        "sysctls": {"net.ipv4.tcp_rmem": "4096 131072 6291456", "net.ipv4.tcp_sack": 0},
        "host": {"kernel": [6, 1], "cpus": 5},
    },
    "bulk-lan",
)


def scope(over: str, at: Facts = HOST, limits: dict[str, Any] | None = None) -> Scope:
    moment = Moment(at)
    fact = at.host if over == "host" else getattr(at, f"{over}s")[0]
    return Scope(moment.scope(over, fact), moment, limits or {})
