"""A damaged host: whatever a file holds, a collector gives rows, or an OSError or ValueError."""

from functools import cache
from typing import Any

import pytest
from folded import folded
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nettop import collect
from nettop.collect._table import Memory
from nettop.frame.pairs import entries
from nettop.frame.rates import Entry
from nettop.host.recording import Record, Replay, parse
from nettop.host.source import Live
from nettop.sampling.sampler import Sampler

MINE = (
    "conntrack", "cpu", "cpufreq", "cpuidle", "interrupts", "iommu", "irqs", "kernel", "meself",
    "netclass", "netdev", "packet_sockets", "pci", "processes", "queues", "rdma", "services",
    "snmp", "socket_owners", "sockets_udp", "softirqs", "softnet", "sysctl_files", "sysctls",
    "topology", "vmstat", "xdp_sockets",
)  # fmt: skip

WORDS = st.sampled_from(
    ["", "\n", "0", "-1", "x", "18446744073709551616", "9" * 5000, "0-", "0-65535", "ff,ff",
     "é\udcff", "!13 Permission denied", "a: b\n" * 50, "CPU0 CPU1\n", " ".join(["0"] * 60),
     "\0", "٣", "1e9"]
)  # fmt: skip


@cache
def archive(name: str) -> dict[str, str]:
    """What this machine answers one collector, in two readings."""
    live = Live()
    record: Any = Record(live)
    sampler = Sampler(record)
    sampler.take([name])
    kernel: Any = live._kernel
    if kernel is not None:
        kernel.close()
    record.text("/proc/loadavg")
    _, moments = parse(record.archive())
    changed = moments[0].changed
    return {
        path: (body or b"").decode("utf-8", "surrogateescape") for path, body in changed.items()
    }


def take(name: str, source: Replay, memory: Memory) -> list[Any]:
    return list(collect.rows(name, source, {collect.table(name).memory or name: memory}))


@pytest.mark.parametrize("name", MINE)
@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_no_other_error_escapes(name: str, data: st.DataObject) -> None:
    good = archive(name)
    files = dict(good)
    for path in data.draw(st.lists(st.sampled_from(sorted(files)), max_size=4)):
        body = files.get(path, "")
        way = data.draw(st.sampled_from(["cut", "words", "text", "gone", "twice"]))
        if way == "cut":
            files[path] = body[: data.draw(st.integers(0, len(body)))]
        elif way == "words":
            files[path] = data.draw(WORDS)
        elif way == "text":
            files[path] = data.draw(st.text(max_size=80))
        elif way == "twice":
            files[path] = body * 2
        else:
            files.pop(path, None)
    memory: Memory = {}
    past: list[Entry[Any]] = []
    for tree in (good, files, good):
        source = Replay("c\n-- /x --\n")
        source._tree = {
            path: body.encode("utf-8", "surrogateescape") for path, body in tree.items()
        }
        try:
            rows = take(name, source, memory)
        except (OSError, ValueError):
            memory, past = {}, []
            continue
        past = list(entries(rows, past, 1.0))
        for entry in past:
            check_rates(entry)


def check_rates(entry: Entry[Any]) -> None:
    """Rates are never negative."""
    if entry.per_s is None:
        return
    for name, item in type(entry.now).__dataclass_fields__.items():
        if item.metadata.get("kind") == "counter":
            value = getattr(entry.per_s, name)
            assert value is None or value >= 0


@folded("name", MINE)
def test_a_row_says_what_each_field_is(name: str) -> None:
    fields = collect.collector(name).Row.__dataclass_fields__.values()
    assert all(item.metadata.get("help") for item in fields)
    counters = [item for item in fields if item.metadata["kind"] in ("counter", "vector")]
    assert all(item.metadata["unit"] for item in counters)
