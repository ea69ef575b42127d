"""Recorded hosts: what every table, fact, limit and finding makes of them, held as golden text.

`pytest tests/views/test_hosts.py --update` writes the golden files anew; read the difference before
committing it. Tables are cut to their first rows: the rest is counted.
"""

import dataclasses
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from recorded_hosts import HERE, HOSTS, golden, last, name

from nettop import collect
from nettop.facts import Facts
from nettop.facts.limits import Reading
from nettop.host.recording import Record, Replay, load
from nettop.sampling.sampler import Sampler
from nettop.views.observer import Observation

ROWS = 12
# rates of nettop's own process and the like: of the recording's making, not of the host
NOT_GOLDEN = {"meself", "sysctl_files"}


@pytest.fixture(autouse=True)
def quiet_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path))


def shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return "{" + " ".join(f"{k}:{shown(v)}" for k, v in value.items()) + "}"
    if dataclasses.is_dataclass(value):
        told = ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value))
        return " ".join(f"{k}={shown(v)}" for k, v in told if v not in (None, (), ""))
    if isinstance(value, tuple):
        return "(" + ", ".join(shown(v) for v in value[:24]) + (", …)" if value[24:] else ")")
    return str(value)


def tables(seen: Observation) -> str:
    out = []
    for table, entries in sorted(seen.frame.tables.items()):
        if table in NOT_GOLDEN:
            continue
        out.append(f"{table}: {len(entries)}")
        for entry in entries[:ROWS]:
            out.append(f"  {shown(entry.now)}")
            if entry.per_s is not None:
                rates = {
                    f.name: value
                    for f in dataclasses.fields(entry.per_s)
                    if f.metadata.get("kind") in ("counter", "vector")
                    and (value := getattr(entry.per_s, f.name))
                }
                if rates:
                    out.append(f"    per second {shown(rates)}")
    out += [f"missing {table}: {why}" for table, why in sorted(seen.frame.missing.items())]
    return "\n".join(out) + "\n"


def facts(told: Facts) -> str:
    kinds = ("nics", "queues", "cores", "flows", "processes", "captures", "paths")
    out = [f"profile: {told.profile.name}: {told.profile.why}", f"host: {shown(told.host)}"]
    for kind in kinds:
        found = getattr(told, kind)
        out.append(f"{kind}: {len(found)}")
        out += [f"  {shown(fact)}" for fact in found[:ROWS]]
    return "\n".join(out) + "\n"


def limits(told: Facts) -> str:
    """What limits each target, and the facts of the other kinds."""
    out = [f"limits: {len(told.limits)}"]
    for limit in told.limits[:ROWS]:
        plain = dataclasses.replace(limit, since=0.0, ladder=(), stage=Reading("", ""), next=None)
        out.append(f"  {shown(plain)}")
        out.append(f"    limits: {shown(limit.stage)}")
        out += [f"    {shown(reading)}" for reading in limit.ladder]
        out += [f"    next: {shown(limit.next)}"] if limit.next is not None else []
    for kind, found in sorted(told.more.items()):
        out.append(f"{kind}: {len(found)}")
        out += [f"  {shown(fact)}" for fact in found[:ROWS]]
    return "\n".join(out) + "\n"


@pytest.mark.parametrize("path", HOSTS, ids=name)
def test_tables_facts_and_findings(path: Path, update: bool) -> None:
    seen = last(path)
    golden(path, "tables", tables(seen), update)
    golden(path, "facts", facts(seen.facts), update)
    golden(path, "limits", limits(seen.facts), update)
    findings = [
        f"{found.severity} {found.id}: {found.title}\n"
        + "".join(f"  {line['field']} = {shown(line['value'])}\n" for line in found.evidence)
        + "".join(f"  {wanted.setting} -> {wanted.value}\n" for wanted in found.wanted)
        for found in seen.judgement.findings
    ]
    golden(path, "findings", "".join(findings) or "none\n", update)


@pytest.mark.parametrize("path", HOSTS, ids=name)
def test_recording_a_replay_gives_the_same_archive(path: Path) -> None:
    archive = load(str(path))
    replay = Replay(archive)
    again = Record(replay, comment=replay.comment)
    sampler = Sampler(again)
    while True:
        sampler.take(collect.always())
        if not again.wait(1):
            break
    there, here = Replay(archive), Replay(again.archive())
    seen, told = Sampler(there), Sampler(here)
    while True:
        asked = set(here._tree)
        assert asked <= set(there._tree)
        one, other = seen.take(collect.always()), told.take(collect.always())
        assert (one.tables, one.missing) == (other.tables, other.missing)
        if not here.wait(1):
            break
        there.wait(1)


@pytest.mark.parametrize("path", HOSTS, ids=name)
def test_nothing_of_the_makers_machine_is_in_a_recording(path: Path) -> None:
    text = load(str(path))
    for word in (str(HERE.parent), os.path.expanduser("~") + "/", socket.gethostname() + "."):
        assert word.encode() not in text, word


@pytest.mark.slow
def test_healthy_hosts_have_no_findings_above_advice() -> None:
    for path in HOSTS:
        if name(path).endswith("idle") or name(path).startswith("big"):
            found = last(path).judgement.findings
            loud = [one.id for one in found if one.severity in ("critical", "warning")]
            assert loud == [], name(path)


@pytest.mark.parametrize(
    ("host", "driver"),
    [("vm-e1000e", "e1000e"), ("vm-vmxnet3", "vmxnet3"), ("vm-virtio-rss", "virtio_net")],
)
def test_a_recorded_transfer_carries_one(host: str, driver: str) -> None:
    """To the end of the recording: a host at rest proves little about a driver."""
    facts = last(HERE / "hosts" / f"{host}.host").facts
    flows = [flow for flow in facts.flows if flow.bulk or (flow.rx_per_s or 0) > 100_000]
    assert flows
    nic = next(nic for nic in facts.nics if nic.name == flows[0].nic)
    assert nic.driver == driver
    assert (nic.per_s.rx_bytes or 0) > 1e6
    assert {flow.process for flow in flows} == {"iperf3"}
    assert all(flow.queue or flow.queue_why for flow in flows)
