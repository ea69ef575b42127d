"""`nettop show` prints what the screen shows; `nettop serve` says what it would run."""

import argparse
from pathlib import Path

import pytest
from folded import folded

from nettop import cli, panes
from nettop.commands import serve

STAT = "cpu  {0} 0 100 1000 0 0 0 0 0 0\ncpu0 {0} 0 100 1000 0 0 0 0 0 0\n"
DEV = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop
  eth0: {0} {1} 0 0 0 0 0 0 500 5 0 0 0 0 0 0
"""


@pytest.fixture
def recording(tmp_path: Path) -> str:
    """One core, one interface, three seconds at 1 MB/s."""
    path = tmp_path / "small.host"
    parts = ["A small host.\n"]
    for second in range(4):
        parts.append(f"-- @{second}.0 --\n" if second else "")
        parts.append("-- /proc/stat --\n" + STAT.format(100 + second * 50))
        parts.append("-- /proc/net/dev --\n" + DEV.format(second * 1_000_000, second * 1000))
    path.write_text("".join(parts), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", panes.names())
def test_every_pane_prints(
    name: str, recording: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path))
    assert cli.main(["show", name, "--once", "--width", "90", "--replay", recording]) == 0
    told = capsys.readouterr().out
    assert told.strip()
    assert all(len(row) <= 90 for row in told.splitlines())
    assert "\x1b" not in told


def test_the_overview_tells_the_rate(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", "1", "--once", "--replay", recording]) == 0
    assert "8 Mb/s" in capsys.readouterr().out


def test_losses_of_the_whole_host_are_not_those_of_one_interface(
    recording: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are accounted for where kernel reasons are counted, and no interface is chosen."""
    asked: list[object] = []

    def accounted(_: object, now: tuple[object, object]) -> object:
        asked.append(now)
        return now[1]

    monkeypatch.setattr("nettop.facts.accounting.accounted", accounted)
    words = ["show", "1", "--once", "--replay", recording]
    assert cli.main(words) == 0
    assert cli.main([*words, "--drop-reasons", "--interface", "eth0"]) == 0
    assert asked == []
    assert cli.main([*words, "--drop-reasons"]) == 0
    assert asked


def test_the_options_are_those_of_the_files_and_need_no_host(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "nettop").mkdir()
    file = tmp_path / "nettop" / "config.toml"
    file.write_text('theme = "contrast"\ndrop_reasons = true\n', encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert cli.main(["show", "options", "--interval", "3"]) == 0
    text = capsys.readouterr().out
    changed = {row.split()[1] for row in text.splitlines() if row.startswith(" *")}
    assert changed == {"theme", "drop_reasons", "interval"}
    file.write_text('theme = "pink"\n', encoding="utf-8")
    assert cli.main(["show", "options"]) == 2
    assert "pink" in capsys.readouterr().err


def test_an_unknown_pane_is_named_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", "flow", "--once"]) == 2
    assert "flows" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--width", "3"], ["--height", "0"], ["--width", "99999"]])
def test_odd_sizes_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", "overview", "--once", *words]) == 2
    assert "is not a number from" in capsys.readouterr().err


def test_plain_is_the_overview(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--plain", "--replay", recording]) == 0
    assert "WHAT LIMITS eth0" in capsys.readouterr().out


def test_serve_quotes_what_it_runs() -> None:
    parser = argparse.ArgumentParser()
    serve.arguments(parser)
    args = parser.parse_args(["--replay", "my host.gz", "--interface", "eth0"])
    assert {"--replay=my host.gz", "--interface=eth0"} < set(serve.command(args))


def test_serve_refuses_an_odd_port(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["serve", "--port", "99999"]) == 2
    assert "--port" in capsys.readouterr().err


@folded("name", ("feed-read-direct", "feed-read-mapped"))
def test_the_overview_of_a_recording_names_what_why_names(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = f"tests/live/recordings/{name}.host.gz"
    said = []
    for words in (["show", "overview", "--once"], ["why"]):
        assert cli.main([*words, "--replay", path]) == 0
        said.append(capsys.readouterr().out)
    for text in said:
        assert "imited by the disk reads of python" in text
