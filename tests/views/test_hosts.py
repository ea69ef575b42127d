"""Recorded hosts: what every table, fact, finding and pane makes of them, held as golden text.

`pytest tests/views/test_hosts.py --update` writes the golden files anew; read the difference before
committing it. Tables are cut to their first rows: the rest is counted.
"""

import dataclasses
import difflib
import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nettop import collect, panes
from nettop.cli import main
from nettop.facts import Facts
from nettop.host.recording import Record, Replay, load
from nettop.sampling.sampler import Sampler
from nettop.views.observer import Observation, Observer

HERE = Path(__file__).parents[1]
HOSTS = sorted([*(HERE / "hosts").glob("*.host"), *(HERE / "hosts").glob("*.host.gz")])
ROWS = 12
# rates of nettop's own process and the like: of the recording's making, not of the host
NOT_GOLDEN = {"meself", "sysctl_files"}


def name(path: Path) -> str:
    return path.name.split(".")[0]


@pytest.fixture(autouse=True)
def quiet_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path))


def last(path: Path) -> Observation:
    source = Replay(load(str(path)))
    observer = Observer(source)
    seen = observer.step(collect.always())
    while source.wait(1):
        seen = observer.step(collect.always())
    return seen


def golden(path: Path, kind: str, text: str, update: bool) -> None:
    file = HERE / "golden" / name(path) / f"{kind}.txt"
    if update:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    was = file.read_text() if file.exists() else ""
    differ = "\n".join(difflib.unified_diff(was.split("\n"), text.split("\n"), lineterm="", n=1))
    assert not differ, f"{file.name} of {name(path)} changed (pytest --update):\n{differ[:3000]}"


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


@pytest.mark.parametrize("path", HOSTS, ids=name)
def test_tables_facts_and_findings(path: Path, update: bool) -> None:
    seen = last(path)
    golden(path, "tables", tables(seen), update)
    golden(path, "facts", facts(seen.facts), update)
    findings = [
        f"{found.severity} {found.id}: {found.title}\n"
        + "".join(f"  {line['field']} = {shown(line['value'])}\n" for line in found.evidence)
        + "".join(f"  {wanted.setting} -> {wanted.value}\n" for wanted in found.wanted)
        for found in seen.judgement.findings
    ]
    golden(path, "findings", "".join(findings) or "none\n", update)


# one width of every host, and every width of one: how a pane fits its width is the same on all
SCREENS = [
    (path, width)
    for path in HOSTS
    for width in (80, 120, 200)
    if width == 120 or name(path) == "guest-transfer"
]


@pytest.mark.parametrize(
    ("path", "width"), SCREENS, ids=[f"{name(path)}-{width}" for path, width in SCREENS]
)
def test_panes(path: Path, width: int, update: bool, capsys: pytest.CaptureFixture[str]) -> None:
    out = []
    for pane in (name for name in panes.names() if name != "options"):  # it previews others
        words = ["show", pane, "--once", "--replay", str(path), "--width", str(width)]
        assert main([*words, "--height", "40"]) == 0
        out.append(f"== {pane}\n{capsys.readouterr().out}")
    text = re.sub(r" +$", "", "\n".join(out), flags=re.MULTILINE)
    assert max(map(len, text.splitlines())) <= width
    golden(path, f"panes-{width}", text, update)


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


def test_no_golden_file_is_left_of_what_is_not_compared() -> None:
    kinds = {"tables", "facts", "findings"}
    wanted = {f"{name(path)}/{kind}.txt" for path in HOSTS for kind in kinds}
    wanted |= {f"{name(path)}/panes-{width}.txt" for path, width in SCREENS}
    folders = {name(path) for path in HOSTS}
    there = {str(file.relative_to(HERE / "golden")) for file in (HERE / "golden").rglob("*.txt")}
    assert {file for file in there if file.split("/")[0] in folders} == wanted
