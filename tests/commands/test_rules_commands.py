"""`nettop rules`, `explain` and `mute`: what they print, their JSON, their exit codes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from nettop.cli import main

MINE = """\
title    = "Time stands still"
severity = "warning"
over     = "host"
when     = "sysctl('net.ipv4.tcp_sack') == limits.value"
why      = "A rule of the user's."

[limits]
value = 0

[[source]]
doc = "the user"

[[fix]]
set = "sysctl.net.ipv4.tcp_sack"
to  = "1"

[[test]]
finds   = true
sysctls = { "net.ipv4.tcp_sack" = 0 }

[[test]]
finds   = false
sysctls = { "net.ipv4.tcp_sack" = 1 }
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config/nettop"


@pytest.fixture
def root(tmp_path: Path) -> str:
    """A directory that looks like a host whose SACK is off."""
    files = {
        "proc/stat": "cpu  1 0 1 1 0 0 0 0 0 0\ncpu0 1 0 1 1 0 0 0 0 0 0\n",
        "proc/sys/net/ipv4/tcp_sack": "0\n",
        "proc/sys/net/ipv4/tcp_dsack": "1\n",
        "proc/sys/net/ipv4/tcp_window_scaling": "1\n",
        "proc/sys/kernel/osrelease": "6.1.0\n",
    }
    for name, text in files.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(tmp_path / "root")


BRIEF = ("--seconds", "0.2")  # nothing changes in the directory: a longer look sees no more


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    out, err = capsys.readouterr()
    return code, out, err


def test_list_and_show(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "rules", "list")
    assert code == 0
    assert re.search(r"^  critical rx-ring-overrun +change Receive ring", out, re.MULTILINE)
    assert re.search(r"^  info     link-full +words  Link of", out, re.MULTILINE)
    code, out, _ = run(capsys, "rules", "list", "--json")
    listed = json.loads(out)
    assert listed["schema"] == 1
    assert len(listed["rules"]) > 100
    changes = {one["id"]: one["changes"] for one in listed["rules"]}
    assert (changes["rx-ring-overrun"], changes["link-full"]) == (["ring.rx"], [])
    code, out, _ = run(capsys, "rules", "show", "rx-ring-overrun")
    assert code == 0
    assert "Receive ring of the interface is full: packets are dropped" in out
    assert "Contrary evidence" in out
    assert max(map(len, out.splitlines())) <= 120
    code, out, _ = run(capsys, "rules", "show", "rx-ring-overrun", "--json")
    (shown,) = json.loads(out)["rules"]
    assert shown["fixes"][0].startswith(
        "ring.rx@{nic} = nic.ring.rx_max (if packets received known"
    )


def test_unknown_rules_are_refused_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "rules", "show", "rx-ring-overun")
    assert (code, out) == (2, "")
    assert err == "nettop: no rule 'rx-ring-overun' (did you mean rx-ring-overrun?)\n"
    assert run(capsys, "rules", "show")[0] == 2
    assert run(capsys, "rules", "test", "/nowhere")[0] == 2


def test_check_and_test_of_own_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "time-stands-still.toml"
    path.write_text(MINE)
    assert run(capsys, "rules", "check", str(path))[:2] == (0, "1 rule, 0 wrong\n")
    code, out, _ = run(capsys, "rules", "test", str(path))
    assert (code, out) == (0, "1 rule, 0 wrong, 2 tests, 0 failed\n")
    path.write_text(MINE.replace("finds   = false", 'finds   = false\nsilent = "asleep"'))
    code, out, _ = run(capsys, "rules", "test", str(tmp_path))
    assert code == 1
    assert "time-stands-still: test 2 (test 2): is silent for another reason: needs" in out
    code, out, _ = run(capsys, "rules", "test", str(path), "--json")
    assert code == 1
    assert [test["passed"] for test in json.loads(out)["tests"]] == [True, False]
    path.write_text(MINE.replace("sysctl.net.ipv4", "systl.net.ipv4"))
    code, _, err = run(capsys, "rules", "check", str(path))
    assert code == 2
    assert f"{path}: fix[0].set: 'systl' is no kind of setting" in err
    path.write_text(MINE.replace("wn", "wm") + "\n[oops")
    assert run(capsys, "rules", "check", str(path))[0] == 2


@pytest.mark.parametrize("written", ["test = [5]", "test = 5", 'test = ["ring"]'])
def test_tests_that_are_no_tables_are_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], written: str
) -> None:
    path = tmp_path / "time-stands-still.toml"
    path.write_text(f"{written}\n{MINE[: MINE.index('[[test]]')]}")
    code, _, err = run(capsys, "rules", "check", str(path))
    assert (code, "test must be tables: write [[test]]" in err) == (2, True)


def test_a_copied_rule_runs_what_it_can(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A rule taken home to be changed leaves the recorded hosts of its tests behind."""
    mine = tmp_path / "rx-ring-overruns.toml"
    mine.write_text((Path(__file__).parents[2] / "rules/rings/rx-ring-overruns.toml").read_text())
    code, out, err = run(capsys, "rules", "test", str(mine))
    assert (code, err) == (0, "")
    assert "0 failed, 2 not run (recording not installed)" in out
    code, out, _ = run(capsys, "rules", "test", str(mine), "--json")
    assert json.loads(out)["not_run"] == 2
    assert all(test["passed"] for test in json.loads(out)["tests"])


def test_a_setting_that_does_not_exist_is_said_before_a_rule_of_the_user_speaks(
    capsys: pytest.CaptureFixture[str], home: Path, root: str
) -> None:
    (home / "rules").mkdir(parents=True)
    (home / "rules/mine.toml").write_text(MINE.replace('set = "', 'set = "no-'))
    code, _, err = run(capsys, "advise", "--root", root, *BRIEF)
    assert code == 3  # a directory has no rates to judge by
    assert "mine.toml: fix[0].set: " in err


def test_rules_and_limits_of_the_user(
    capsys: pytest.CaptureFixture[str], home: Path, root: str
) -> None:
    (home / "rules").mkdir(parents=True)
    (home / "rules/time-stands-still.toml").write_text(MINE)
    code, out, _ = run(
        capsys, "explain", "time-stands-still@host", "--root", root, *BRIEF, "--json"
    )
    (said,) = json.loads(out)["targets"]
    assert said["finding"]["id"] == "time-stands-still@host"
    assert [change["after"] for change in said["finding"]["changes"]] == [1]
    (home / "config.toml").write_text("[limits.time-stands-still]\nvalue = 7\n")
    code, out, _ = run(capsys, "explain", "time-stands-still", "host", "--root", root, *BRIEF)
    assert code == 0
    assert "no finding time-stands-still@host: needs" in out
    (home / "rules/time-stands-still.toml").write_text(MINE.replace("why ", "wy "))
    code, _, err = run(capsys, "rules", "list")
    assert code == 0
    assert "time-stands-still.toml:5: wy: unknown key (did you mean why?)" in err


def test_where_a_rule_looks_is_said_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """More than three kinds are not all kinds: two of those rules name loopback."""
    where = {
        "rx-ring-overrun": "every interface of kind nic, with profile bulk-lan, bulk-wan, "
        "capture or server, after 3 s",
        "capture-ring-overflows": "every capture, except on other, tunnel or wireless, after",
        "capture-ring-small": "every capture, except on loopback, with profile capture, after",
        "socket-overrun": "every process, after",
        "where-packets-die": "every direction of an interface, except on loopback, other, tunnel",
        "loss-recovery-crippled": "the host",
    }
    for rule, said in where.items():
        _, out, _ = run(capsys, "rules", "show", rule)
        assert f"Applies to - {said}" in " ".join(out.split())
        assert "Encodes" not in out  # ids of a catalogue that is not here


def test_sockets_of_one_process_to_one_host_are_one_finding(
    capsys: pytest.CaptureFixture[str],
) -> None:
    host = str(Path(__file__).parents[1] / "hosts/vm-virtio-unsent.host")
    _, out, _ = run(capsys, "advise", "--replay", host)
    name = "application-does-not-read"
    assert out.count(f" {name}@") == 1
    assert "iperf3 reads slower than the network delivers (and 7 more)\n" in out
    _, out, _ = run(capsys, "advise", "--replay", host, "--json")
    (found,) = [one for one in json.loads(out)["findings"] if one["rule"] == name]
    assert len(found["also"]) == 7
    _, out, _ = run(capsys, "explain", f"{name}@{found['also'][0]}", "--replay", host)
    assert f"{found['id']} reports the same problem" in " ".join(out.split())


def test_explain_begins_with_the_verdict_and_its_figures(
    capsys: pytest.CaptureFixture[str],
) -> None:
    host = str(Path(__file__).parents[1] / "hosts/vm-vmxnet3-drops.host")
    _, out, _ = run(capsys, "explain", "rx-ring-overrun", "--replay", host)
    first, second, *rest = out.splitlines()
    assert first.startswith("Here: rx-ring-overrun@")
    assert second.startswith("  packets dropped, receive ring full: ")
    assert "Applies to" in rest
    _, out, _ = run(capsys, "explain", first.split()[1].rstrip(":"), "--replay", host)
    assert out.splitlines()[4] == "Evidence"
    many = str(Path(__file__).parents[1] / "hosts/big-1152.host.gz")
    _, out, _ = run(capsys, "explain", "irq-core-saturated", "--replay", many)
    assert out.count("Here: no finding irq-core") == 8
    assert "Here: no finding on 760 more targets.\n\nirq-core-saturated  (" in out


def test_silent_rules_are_those_that_look(capsys: pytest.CaptureFixture[str]) -> None:
    host = str(Path(__file__).parents[1] / "hosts/vm-vmxnet3-drops.host")
    _, out, _ = run(capsys, "advise", "--all", "--replay", host)
    assert "does not apply to" not in out
    assert "that do not apply to this interface type or profile\n" in out
    _, told, _ = run(capsys, "advise", "--all", "--replay", host, "--json")
    silent = json.loads(told)["silent"]
    assert any("does not apply to" in one["because"] for one in silent)
    assert len(silent) > out.count("\n  ")


def test_explain_says_why_and_who_says_otherwise(
    capsys: pytest.CaptureFixture[str], root: str
) -> None:
    code, out, _ = run(capsys, "explain", "loss-recovery-crippled@host", "--root", root, *BRIEF)
    assert code == 0
    assert "net.ipv4.tcp_sack: 0" in out
    assert "sysctl.net.ipv4.tcp_sack → 1" in out
    assert "Contrary evidence" in out
    assert "Valente, SANS/GIAC 2009" in out
    whole = "Valente, SANS/GIAC 2009: "  # the reference, not only its short name
    assert whole in " ".join(out.split("References")[1].split())
    code, out, _ = run(capsys, "explain", "timestamps-off", "--root", root, *BRIEF)
    assert "no finding timestamps-off@host: not evaluated: net.ipv4.tcp_timestamps unknown" in (
        " ".join(out.split())
    )
    assert "References" in out
    code, _, err = run(capsys, "explain", "timestamps-off", "eth7", "--root", root, *BRIEF)
    assert code == 2
    assert "no target 'eth7' on this host (targets: host)" in err


def test_muted_findings_are_not_shown(
    capsys: pytest.CaptureFixture[str], home: Path, root: str
) -> None:
    def found() -> list[Any]:
        _, out, _ = run(capsys, "advise", "--root", root, *BRIEF, "--json")
        return [one["rule"] for one in json.loads(out)["findings"]]

    assert "loss-recovery-crippled" in found()
    assert run(capsys, "mute", "loss-recovery-crippled@host")[:2] == (
        0,
        "loss-recovery-crippled@host: muted\n",
    )
    assert "loss-recovery-crippled" not in found()
    _, out, _ = run(capsys, "advise", "--root", root, *BRIEF, "--all", "--json")
    silent = {(one["rule"], one["target"]): one["because"] for one in json.loads(out)["silent"]}
    assert silent["loss-recovery-crippled", "host"] == "muted"
    assert (home / "muted").read_text() == "loss-recovery-crippled@host\n"
    assert run(capsys, "mute", "--list")[1] == "loss-recovery-crippled@host\n"
    _, out, _ = run(capsys, "mute", "--list", "--json")
    assert json.loads(out)["muted"] == ["loss-recovery-crippled@host"]
    assert run(capsys, "mute", "--remove", "loss-recovery-crippled@host")[0] == 0
    assert "loss-recovery-crippled" in found()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("mute",), "no finding given"),
        (("mute", "loss-recovery-cripled"), "did you mean loss-recovery-crippled?"),
        (("mute", "loss-recovery-crippled@a\x1b[2Jb"), "one printable line"),
        (("mute", "--remove", "loss-recovery-crippled"), "is not muted"),
    ],
)
def test_what_cannot_be_muted(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    code, _, err = run(capsys, *words)
    assert code == 2
    assert said in err


def test_the_language_is_printed_with_the_fields_of_a_kind(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["rules", "language"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Rules, findings and silences")
    assert "when*     a condition" in text
    assert main(["rules", "language", "nic"]) == 0
    fields = capsys.readouterr().out
    assert "nic.ring.rx " in fields
    assert " bytes " in next(line for line in fields.splitlines() if line.startswith("nic.mtu "))
    assert main(["rules", "language", "nick"]) == 2
    assert "no kind of fact 'nick' (did you mean nic?)" in capsys.readouterr().err
    assert main(["rules", "language", "--json"]) == 2
