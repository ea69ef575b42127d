"""The command line as other programs see it: exit codes, one sentence, JSON on stdout."""

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from folded import folded
from hang import HANG, until

from nettop import cli, commands
from nettop.cli import main
from nettop.files import bounds
from nettop.host.recording import Replay, load

HOSTS = ("vm-e1000e.host", "guest-idle.host")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    out = capsys.readouterr()
    return code, out.out, out.err


@folded("name", commands.names())
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, name, "--help")
    assert code == 0
    assert f"usage: nettop {name}" in out
    assert commands.command(name).HELP


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--help")
    assert code == 0
    for name in commands.names():
        assert f"  {name} " in out


@folded(
    ("words", "say"),
    [
        (["advice"], "did you mean advise"),
        (["advise", "--profile", "bulk"], "bulk-lan"),
        (["advise", "--seconds", "never"], "not a duration"),
        (["snapshot", "--table", "interrupt"], "did you mean interrupts"),
        (["advise", "--root", "/nowhere"], "no such directory"),
        (["advise", "--replay", "/nowhere"], "cannot read /nowhere"),
        (["advise", "--netns", "nowhere"], "no network namespace"),
        (["advise", "--interface", "lol", "--seconds", "0.1"], "no interface 'lol'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_sentence(
    words: list[str], say: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *words)
    assert code in (2, 3)
    assert say in err
    assert out == ""
    assert len(err.strip().splitlines()) == 1


def test_a_directory_with_nothing_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, "advise", "--json", "--seconds", "0.1", "--root", str(tmp_path), "--fail-on", "info"
    )
    assert code in (0, 3)
    if code == 0:
        found = json.loads(out)
        assert found["findings"] == []
        assert found["missing"]


def options(name: str) -> dict[str, argparse.Action]:
    """The options of a command, by their names."""
    return {
        option: action for action in cli._command(name)._actions for option in action.option_strings
    }


@folded("name", commands.names())
def test_every_time_is_written_in_one_way(name: str) -> None:
    timed = {"--seconds", "--interval", "--for", "--confirm", "--look", "--budget", "--warmup"}
    for option, action in options(name).items():
        if option in {*timed, "--rtt"}:
            assert action.metavar == "DURATION", option
            assert callable(action.type)
            assert [action.type(word) for word in ("2", "500ms", "10m")] == [2.0, 0.5, 600.0]


@folded("name", ["test", "prove", "sweep", "tune", "study"])
def test_what_needs_the_running_host_offers_no_other(name: str) -> None:
    assert not {"--root", "--replay"} & options(name).keys()
    assert "--netns" in options(name)


@folded("words", ["0-9999999", "1-", "x", "", "5-2"])
def test_a_list_of_cores_has_an_end(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", "bulk", "--to", "10.0.0.2", "--cpu-here", words]) == 2
    assert "is not a CPU list such as 0-2,5" in capsys.readouterr().err


def test_a_warm_up_may_be_none_and_not_less(capsys: pytest.CaptureFixture[str]) -> None:
    parse = cli._command("test").parse_args
    words = ["bulk", "--to", "10.0.0.2", "--cpu-here", "5,0-2"]
    args = parse([*words, "--warmup", "0"])
    assert (args.warmup, args.cpu_here) == (0.0, (0, 1, 2, 5))
    assert main(["test", *words, "--warmup=-1"]) == 2
    assert "not a duration" in capsys.readouterr().err


def test_a_recording_without_a_place_is_refused_before_it_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, "record", str(tmp_path / "none/x.host"), "--seconds", "1h")
    assert (code, err.count("\n")) == (4, 1)
    assert "cannot write" in err


def test_more_samples_than_a_recording_may_hold_are_refused_before_it_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["record", str(tmp_path / "x.host"), "--seconds", "30h", "--interval", "1s"]
    code, _, err = run(capsys, *words)
    assert (code, list(tmp_path.iterdir())) == (2, [])
    say = "108,001 samples are more than 100,000 moments, the bound of a recording"
    assert err == f"nettop: {say}\n"


@pytest.mark.parametrize("name", ["x.host", "x.host.gz", "-"])
def test_a_recording_ends_at_its_bounds_and_is_kept(
    name: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    (tmp_path / "host/proc").mkdir(parents=True)
    (tmp_path / "host/proc/stat").write_text("cpu 1 2 3 4 5 6 7 8\n")
    where = ["--root", str(tmp_path / "host"), "--keep-names"]
    assert main(["record", "-", "--seconds", "0.01", "--interval", "0.02", *where]) == 0
    first = len(capfdbinary.readouterr().out)
    few = bounds.Bound(first + 2500, "bytes", "a recording, unpacked", "")
    monkeypatch.setitem(bounds.BOUNDS, "recording", few)
    file = name if name == "-" else str(tmp_path / name)
    assert main(["record", file, "--seconds", "60", "--interval", "0.02", *where]) == 4
    out, err = capfdbinary.readouterr()
    (tmp_path / "-").write_bytes(out)
    replay = Replay(load(str(tmp_path / name)))
    assert 2 <= len(replay.moments) < 9
    assert replay.text("/proc/stat") == "cpu 1 2 3 4 5 6 7 8\n"
    end = f"a recording, unpacked: the recording ends after {len(replay.moments)} samples\n"
    assert end in err.decode()


def recording(folder: Path) -> subprocess.Popen[bytes]:
    """A nettop that records into x.host there, once it has written three moments."""
    words = [sys.executable, "-m", "nettop", "record", "x.host", "--seconds", "1h"]
    done = subprocess.Popen([*words, "--interval", "200ms"], cwd=folder, stderr=subprocess.PIPE)
    until(lambda: done.poll() is not None or written(done.pid, folder).count("\n-- @") > 2)
    return done


def written(pid: int, folder: Path) -> str:
    """What a process has written into a file of the folder, whatever the file's name."""
    for handle in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if os.readlink(handle).startswith(f"{folder}/"):
                return handle.read_text()
        except FileNotFoundError:
            continue
    return ""


def test_a_recording_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    done = recording(tmp_path)
    done.kill()
    done.communicate(timeout=HANG)
    assert list(tmp_path.iterdir()) == []


def test_a_recording_grows_unseen_and_is_whole_when_stopped(tmp_path: Path) -> None:
    done = recording(tmp_path)
    try:
        assert not (tmp_path / "x.host").exists()
        done.send_signal(signal.SIGTERM)
        _, said = done.communicate(timeout=HANG)
    finally:
        done.kill()
    assert done.returncode == 0, said
    assert [path.name for path in tmp_path.iterdir()] == ["x.host"]
    assert len(Replay(load(str(tmp_path / "x.host"))).moments) > 2


def test_a_device_that_one_host_has_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    hosts = [str(Path(__file__).parents[1].joinpath("hosts") / name) for name in HOSTS]
    code, out, _ = run(capsys, "compare", *hosts, "--seconds", "200ms")
    lines = [line for line in out.splitlines() if line.startswith(("enp", "eth", "ifb"))]
    assert code == 1
    assert lines == [
        "enp0s12: nic, vmxnet3 | –",
        "enp129s0: nic, e1000e | –",
        "eth0: – | nic, virtio_net",
        "ifb0: – | other, ifb",
        "ifb1: – | other, ifb",
    ]
    code, out, _ = run(capsys, "compare", *hosts, "--json", "--seconds", "200ms")
    (found,) = [row for row in json.loads(out)["differ"] if row["what"].startswith("enp129s0")]
    assert found == {"what": "enp129s0", "a": "nic, e1000e", "b": None}


def test_an_absent_feature_of_the_kernel_is_no_failure_worth_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("advise", "--replay", str(Path(__file__).parents[2] / "rules/demo.host.gz"))
    _, out, _ = run(capsys, *words)
    assert "not read" not in out
    _, out, _ = run(capsys, *words, "--json")
    assert {"cpuidle", "xdp_sockets"} <= json.loads(out)["missing"].keys()


def test_a_pane_without_a_place_for_reasons_says_that_none_are_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    host = str(Path(__file__).parents[1].joinpath("hosts") / HOSTS[1])
    words = ("show", "cores", "--once", "--replay", host)
    code, _, err = run(capsys, *words, "--drop-reasons")
    assert (code, err.count("cannot count drop reasons")) == (0, 1)
    assert run(capsys, *words)[2] == ""
