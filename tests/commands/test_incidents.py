"""`nettop watch --box` on a recorded host, and `nettop incidents` on what it kept."""

import argparse
import gzip
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from nettop.box.ring import moments
from nettop.cli import main
from nettop.commands import top
from nettop.host.archive import load
from nettop.host.recording import Replay
from nettop.host.source import Source

HOST = str(Path(__file__).parents[1] / "hosts/vm-vmxnet3-drops.host")
NAMES = ["20261120T143537Z-rx-ring-overrun", "20261120T143537Z-socket-overrun"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `nettop watch --box` keeps of the host."""
    path = tmp_path_factory.mktemp("kept") / "box"
    assert main(["watch", "--box", str(path), "--replay", HOST, "--fail-on", "never"]) == 0
    return path


@pytest.fixture
def box(kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """A copy of it."""
    capsys.readouterr()
    return str(shutil.copytree(kept, tmp_path / "box"))


def test_two_causes_at_once_make_two_incidents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["watch", "--box", str(tmp_path / "box"), "--replay", HOST, "--json"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    made = [one for one in lines if one["event"] == "incident"]
    assert [one["incident"].removesuffix(".host.gz") for one in made] == NAMES
    assert made[0]["id"] == "rx-ring-overrun@enp0s12"


def test_the_default_box_is_in_the_state_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "--box", "--replay", HOST, "--fail-on", "never"]) == 0
    assert Path(os.environ["NETTOP_STATE"], "box/ring").is_dir()
    assert main(["incidents"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[-2:]] == NAMES


def test_the_ring_and_an_incident_say_what_the_recording_said(box: str) -> None:
    (segment,) = Path(box, "ring").iterdir()
    incident = Path(box, f"{NAMES[0]}.host.gz")
    original = Replay(load(HOST))
    names = ["/proc/net/softnet_stat", "/proc/net/snmp", "netlink/ethtool/rings/enp0s12"]
    for path in (segment, incident):
        kept = Replay(load(str(path)))
        assert [one.wall for one in kept.moments] == [one.wall for one in original.moments]
        assert [kept.body(name) for name in names] == [original.body(name) for name in names]


def test_the_same_cause_makes_no_second_incident_within_the_hour(
    box: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["watch", "--box", box, "--replay", HOST])
    assert "■" not in capsys.readouterr().out
    assert len(list(Path(box).glob("*.host.gz"))) == 2


def test_on_names_what_makes_an_incident(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expression = "nic.per_s.rx_packets > 1000"
    words = ["--on", expression, "--on", "rx-ring-overrun"]
    main(["watch", "--box", str(tmp_path / "box"), "--replay", HOST, *words])
    made = [line.split()[3] for line in capsys.readouterr().out.splitlines() if "■" in line]
    assert [name.partition("Z-")[2] for name in made] == [
        "rx-ring-overrun.host.gz:", "on-expression.host.gz:",
    ]  # fmt: skip


def test_show_says_what_began(box: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["incidents", "show", NAMES[0][:20], "--box", box]) == 0
    out = capsys.readouterr().out
    assert "rx-ring-overrun@enp0s12: Receive ring of enp0s12 is full" in out
    assert "  also      socket-overrun@370" in out
    assert f"nettop replay {box}/{NAMES[0]}.host.gz" in out


def test_an_export_is_a_recording_without_names(
    box: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "x.host.gz"
    assert main(["incidents", "export", NAMES[0], str(out), "--box", box]) == 0
    assert len(list(moments(out))) == 7
    kept, given = (Replay(load(str(p))) for p in (Path(box, f"{NAMES[0]}.host.gz"), out))
    assert given.host == "host"
    assert kept.text("/proc/net/softnet_stat") == given.text("/proc/net/softnet_stat")
    assert main(["advise", "--replay", str(out), "--fail-on", "never"]) == 0
    assert "rx-ring-overrun@enp0s12" in capsys.readouterr().out
    again = str(tmp_path / "y.host")
    assert main(["incidents", "export", NAMES[0], again, "--box", box, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["file"] == again
    assert told["bytes"] == len(Path(again).read_bytes())


@pytest.mark.parametrize("words", [["--keep", "1"], [NAMES[0]]])
def test_prune_deletes_the_named_or_the_oldest(
    box: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["incidents", "prune", *words, "--box", box]) == 0
    assert capsys.readouterr().out == "1 deleted, 1 left\n"
    assert [p.name for p in Path(box).glob("*.gz")] == [f"{NAMES[1]}.host.gz"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["incidents", "--box", "/nonexistent"], 3, "no box at /nonexistent"),
        (["incidents", "show", "2026", "--box", "{box}"], 2, "2 incidents begin with"),
        (["incidents", "show", "x", "--box", "{box}"], 2, "no incident 'x'"),
        (["incidents", "prune", "--box", "{box}"], 2, "needs NAMEs, or --keep N"),
        (["incidents", "--keep", "1", "--box", "{box}"], 2, "an option of prune"),
        (["incidents", "export", NAMES[0], "/nonexistent/x", "--box", "{box}"], 4, "cannot write"),
        (["watch", "--size", "8M"], 2, "--size needs --box"),
        (["watch", "--box", "x", "--size", "1M"], 2, "not a size of at least 4M"),
        (["watch", "--box", "x", "--unit"], 2, "leave out --box"),
        (["watch", "--box", "{box}", "--on", "critcal"], 2, "did you mean critical?"),
        (["watch", "--box", "{box}", "--on", "nic.x > 1"], 2, "--on 'nic.x > 1'"),
        (["watch", "--box", "/proc/nettop"], 4, "cannot use /proc/nettop"),
        (["replay", NAMES[0][:12], "--box", "{box}"], 2, "2 incidents begin with"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_sentence(
    box: str, words: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word.replace("{box}", box) for word in words]) == code
    err = capsys.readouterr().err
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_damaged_incident_is_named_and_left_out(
    box: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(box, f"{NAMES[0]}.host.gz").write_bytes(b"no gzip")
    assert main(["incidents", "--box", box]) == 0
    out, err = capsys.readouterr()
    assert [line.split()[0] for line in out.splitlines()] == NAMES[1:]
    assert err == f"nettop: ignored: {NAMES[0]}.host.gz is damaged\n"
    assert main(["incidents", "show", NAMES[0], "--box", box]) == 3


def test_replay_opens_the_screen_with_all_that_the_screen_asks_for(
    box: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = argparse.ArgumentParser()
    top.arguments(options)
    seen: list[tuple[argparse.Namespace, Source]] = []

    def drawn(args: argparse.Namespace, source: Source, _far: Source | None = None) -> int:
        seen.append((args, source))
        return 0

    monkeypatch.setattr("nettop.tui.app.run", drawn)
    monkeypatch.setenv("TERM", "xterm-256color")
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    for words in (["replay", HOST], ["replay", NAMES[0], "--box", box], ["top", "--replay", HOST]):
        assert main(words) == 0
    assert len(seen) == 3
    for args, source in seen:
        assert vars(options.parse_args([])).keys() <= vars(args).keys()
        assert not source.live


def test_an_incident_beyond_a_bound_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"{NAMES[0]}.host.gz"
    file.write_bytes(gzip.compress(b"-- @1.0 wall 1.0 --\n-- /x --\n" + b"y" * (2 << 20)))
    assert main(["incidents", "show", NAMES[0], "--box", str(tmp_path)]) == 3
    told = capsys.readouterr().err
    assert told.startswith(f"nettop: {file}: more than 1 MiB")
    assert told.count("\n") == 1
