"""No false all-clear: each table, and each pair of tables, removed from a sound host."""

import json
import re
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from folded import folded
from generated import score
from generated.archive import archive
from thinned import thinned

from nettop import collect
from nettop.cli import main
from nettop.collect import packet_sockets
from nettop.facts.joined import Joiner, needs
from nettop.facts.limits import Limit, Reading
from nettop.facts.losses import Accounting, Place
from nettop.frame.rates import Entry, Frame
from nettop.host.recording import Replay
from nettop.sampling.sampler import Sampler
from nettop.views.enough import all_clear, shortfall

RING = packet_sockets.Row(9, 2, ring_version=1, ring_bytes=16384)
WHY = "Operation not permitted: /proc/x"
CLEAR = "No problem found."
NEEDED = collect.needed(frozenset(collect.names()))
# every third in `make test`: one with words of its own, needed ones, and one that is not needed
TURNS = ["link_stats", "cpu", "drvinfo", "interrupts", *sorted({*NEEDED} - {"link_stats", "cpu"})]


@cache
def sound() -> Frame:
    """The last moment of a host on which nothing is wrong."""
    source = Replay(archive(score.sound("raspberry-pi", 1)))
    sampler = Sampler(source)
    frame = sampler.take(set(needs()))
    while source.wait(1.0):
        frame = sampler.take(set(needs()))
    return frame


def without(*names: str) -> Frame:
    frame = sound()
    tables = {name: rows for name, rows in frame.tables.items() if name not in names}
    return replace(frame, tables=tables, missing={**frame.missing, **dict.fromkeys(names, WHY)})


def said(frame: Frame) -> str:
    return shortfall(frame, live=False) or all_clear(frame)


def test_the_losses_of_a_ring_are_not_told() -> None:
    frame = sound()
    tables = {**frame.tables, "packet_sockets": (Entry(RING),)}
    said = all_clear(replace(frame, tables=tables))
    assert said.endswith("not told by the kernel: what the receive ring of a program loses.")


def test_what_is_lost_by_counters_alone_is_seen() -> None:
    lost = Accounting(5.0, (Place("ip_discards", "protocols", 12, 0, 12),), unread="needs root")
    assert all_clear(sound(), losses=lost) == "Nothing above its threshold; seen: 12 packets lost."
    one = Accounting(5.0, (Place("ring", "ring", 1, 0, 1),), unread="needs root")
    assert all_clear(sound(), losses=one) == "Nothing above its threshold; seen: 1 packet lost."
    assert all_clear(sound(), losses=Accounting(5.0)) == CLEAR


READ = sorted(name for name in needs() if not collect.table(name).optional)


def test_a_host_of_which_all_was_read_may_be_called_sound() -> None:
    assert said(sound()) == CLEAR


def test_a_stage_that_limits_is_named_where_no_rule_finds_anything() -> None:
    lock = Reading("lock", "here", "copy[7]", "measured", "copy[7] waits", 0.9, None, 0.9)
    limit = Limit("flow", "a>b", "tx", 2e7, 0.0, lock, (), None, (lock,))
    assert all_clear(sound(), limits=[limit]) == (
        "Limited by lock contention of copy[7], of which no finding says more (find out who holds "
        "the lock)."
    )
    for one in (
        replace(lock, stage="peer", end="there", kind="inferred"),
        replace(lock, stage="timer"), replace(lock, stage="request", how="late"),  # its own pace
    ):  # fmt: skip
        assert all_clear(sound(), limits=[replace(limit, stage=one, ladder=(one,))]) == CLEAR


@folded("name", READ)
def test_a_host_without_a_table_is_not_called_sound(name: str) -> None:
    frame = without(name)
    Joiner().build(frame)  # no exception
    told = said(frame)
    if name in NEEDED or name == "link_stats":
        assert told == shortfall(frame, live=False)
    assert told != CLEAR
    assert NEEDED.get(name, collect.title(name)) in told or "interfaces" in told


@pytest.mark.parametrize(("name", "told"), [("queues", False), ("pci", False), ("cpuidle", True)])
def test_absent_is_only_what_a_host_may_lack(name: str, told: bool) -> None:
    """With /sys masked, no file of it is there."""
    frame = sound()
    tables = {one: rows for one, rows in frame.tables.items() if one != name}
    why = "No such file or directory: /sys/class/net"
    frame = replace(frame, tables=tables, missing={**frame.missing, name: why})
    assert (said(frame) == CLEAR) == told


def test_no_pair_of_tables_makes_a_host_sound() -> None:
    for one, other in combinations(READ, 2):
        told = said(without(one, other))
        assert told != CLEAR, (one, other)
        lacking = {one, other} & NEEDED.keys()
        assert not lacking or "could not be read" in told, (one, other)


@folded("name", sorted({*NEEDED} - {"sockets_tcp", "sockets_udp"}))
def test_an_empty_table_was_not_read(name: str) -> None:
    frame = sound()
    tables = {**frame.tables, name: (), "netdev": ()}
    assert said(replace(frame, tables=tables)) == shortfall(
        replace(frame, tables=tables), live=False
    )
    assert said(replace(frame, tables=tables)) != CLEAR


@folded(
    "path",
    ["/proc/stat", "/proc/interrupts", "/proc/softirqs", "/proc/net/softnet_stat", "/proc/net/snmp",
     "/proc/net/netstat", "/proc/net/sockstat", "/proc/net/udp"],
)  # fmt: skip
def test_a_file_that_is_masked_was_not_read(path: str) -> None:
    """Containers put an empty file or /dev/null over what they hide."""
    text = archive(score.sound("raspberry-pi", 1))
    source = Replay(
        re.sub(rf"(^-- {path} --\n).*?(?=^-- )", r"\1\n", text, flags=re.MULTILINE | re.DOTALL)
    )
    sampler = Sampler(source)
    frame = sampler.take(set(needs()))
    while source.wait(1.0):
        frame = sampler.take(set(needs()))
    assert any(path in why for why in frame.missing.values())
    assert said(frame) != CLEAR


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> set[str]:
    """The names of tables that cannot be read."""
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "NETTOP_STATE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    names: set[str] = set()
    read = Sampler._read

    def refuse(self: Sampler, name: str, *rest: object) -> object:
        if name in names:
            raise PermissionError(1, "Operation not permitted", "/proc/x")
        return read(self, name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Sampler, "_read", refuse)
    return names


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("sound") / "sound.host"
    path.write_text(archive(score.sound("raspberry-pi", 1)))
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main([*words])
    return code, capsys.readouterr().out


@pytest.mark.parametrize("name", thinned(TURNS, 3))
def test_every_surface_says_the_same(
    name: str, host: str, hidden: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    lacks = name in NEEDED
    words = NEEDED.get(name, collect.title(name))
    hidden |= {name, "netdev"} if name == "link_stats" else {name}
    if name == "link_stats":
        words = "interfaces"
    code, text = run(capsys, "advise", "--replay", host)
    assert (code, CLEAR in text, words in text) == (3 if lacks else 0, False, True)
    code, text = run(capsys, "advise", "--replay", host, "--json")
    assert (code, words in json.loads(text).get("shortfall", "")) == (3 if lacks else 0, lacks)
    assert json.loads(text)["unread"][name] == collect.title(name)
    code, text = run(capsys, "advise", "--replay", host, "--format", "nagios")
    state = "UNKNOWN" if lacks else "OK"
    title = collect.title(name)
    assert (code, text.startswith(f"NETTOP {state} - "), words in text) == (3 * lacks, True, True)
    assert "no problem found" not in text
    assert f"not looked at: {title}" in text
    code, text = run(capsys, "watch", "--replay", host)
    assert (code, words in text) == (3 * lacks, lacks)
    code, text = run(capsys, "metrics", "--replay", host)
    assert f"nettop_judged {0 if lacks else 1}" in text
    for pane in ("overview", "advisor"):
        _, text = run(capsys, "show", pane, "--once", "--width", "200", "--replay", host)
        assert ("✓ no" if lacks else "✓ no drops here;") not in text
        assert "✓ no findings" not in text
        assert words in text
