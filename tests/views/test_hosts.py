"""Recorded hosts as golden text: the verdicts and findings of all, every value of one, panes.

`pytest tests/views/test_hosts.py --update` writes the golden files anew; read the difference before
committing it. Tables are cut to their first rows: the rest is counted.
"""

import dataclasses
import os
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from folded import folded
from golden_text import same
from recorded_hosts import GOLDEN, HERE, HOSTS, WHOLE, last, name
from thinned import thinned
from told_rates import wrong

from nettop import collect, panes
from nettop.cli import main
from nettop.facts.limits import Reading
from nettop.host.recording import Record, Replay, load
from nettop.sampling.sampler import Sampler
from nettop.terms.text import line_cells
from nettop.views.build import Plans, scene_of
from nettop.views.observer import Observation
from nettop.views.past import History
from nettop.views.view import View

ROWS = 12
# rates of nettop's own process and the like: of the recording's making, not of the host
NOT_GOLDEN = {"meself", "sysctl_files"}


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


def facts(seen: Observation) -> str:
    told = seen.facts
    kinds = ("nics", "queues", "cores", "flows", "processes", "captures", "paths")
    out = [f"profile: {told.profile.name}: {told.profile.why}", f"host: {shown(told.host)}"]
    for kind in kinds:
        found = getattr(told, kind)
        out.append(f"{kind}: {len(found)}")
        out += [f"  {shown(fact)}" for fact in found[:ROWS]]
    return "\n".join(out) + "\n"


def limits(seen: Observation) -> str:
    """What limits each target, and the facts of the other kinds."""
    told = seen.facts
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


@pytest.mark.parametrize("told", [tables, facts, limits], ids=lambda told: told.__name__)
def test_every_value_of_one_host(told: Callable[[Observation], str], update: bool) -> None:
    seen = last(HERE / f"hosts/{WHOLE}.host")
    same(GOLDEN / f"{WHOLE}-{told.__name__}.txt", told(seen), update)


def verdicts(seen: Observation) -> Iterator[str]:
    """A line for each limit."""
    for limit in seen.facts.limits[:ROWS]:
        then = f", then {limit.next.stage}" if limit.next is not None else ""
        joint = f" with {' '.join(limit.joint)}" if limit.joint else ""
        what = f"{limit.over} {limit.target} {limit.direction}, {shown(limit.rate)} b/s"
        yield f"{what}: {limit.stage.stage}{joint}{then}"


def findings(seen: Observation) -> Iterator[str]:
    """Each finding with its evidence and what it would set."""
    for found in seen.judgement.findings:
        yield f"{found.severity} {found.id}: {found.title}"
        yield from (f"  {line['field']} = {shown(line['value'])}" for line in found.evidence)
        yield from (f"  {wanted.setting} -> {wanted.value}" for wanted in found.wanted)


@pytest.mark.parametrize("told", [verdicts, findings], ids=lambda told: told.__name__)
def test_what_is_said_of_all_hosts(
    told: Callable[[Observation], Iterator[str]], update: bool
) -> None:
    out = [
        text
        for path in HOSTS
        for text in (name(path), *(f"    {line}" for line in told(last(path))))
    ]
    same(GOLDEN / f"{told.__name__}.txt", "\n".join(out) + "\n", update)


@pytest.mark.parametrize("path", thinned(HOSTS, 3), ids=name)
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


@folded("path", HOSTS, ids=name)
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


# at the widths where panes change their form
SCREENS = [("guest-transfer", 80), ("guest-transfer", 200)]


@pytest.mark.slow
@pytest.mark.parametrize(("host", "width"), SCREENS)
def test_panes(host: str, width: int, update: bool, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = (path for path in HOSTS if name(path) == host)
    out = []
    for pane in (one for one in panes.names() if one != "options"):  # it previews others
        words = ["show", pane, "--once", "--replay", str(path), "--width", str(width)]
        assert main([*words, "--height", "40"]) == 0
        out.append(f"== {pane}\n{capsys.readouterr().out}")
    text = re.sub(r" +$", "", "\n".join(out), flags=re.MULTILINE)
    assert max(map(len, text.splitlines())) <= width
    same(GOLDEN / f"{host}-panes-{width}.txt", text, update)


@pytest.mark.slow
def test_every_pane_fits_every_host_and_no_rate_hides_its_time() -> None:
    for path in HOSTS:
        scene = scene_of(last(path), History(), Plans(Replay(load(str(path)))))
        assert wrong(scene) == [], name(path)
        for pane in panes.names():
            lines = panes.pane(pane).lines(scene, View(pane=pane), 97, 31)
            assert 0 < len(lines) <= 31
            assert max(map(line_cells, lines)) <= 97


def test_no_golden_file_is_left_of_what_is_not_compared() -> None:
    wanted = {f"{WHOLE}-{kind}.txt" for kind in ("tables", "facts", "limits")}
    wanted |= {f"{host}-panes-{width}.txt" for host, width in SCREENS}
    assert {file.name for file in GOLDEN.iterdir()} == wanted | {"verdicts.txt", "findings.txt"}
