"""A dry run says what the real run would: the same changes, refusals and exit code."""

import json
from pathlib import Path
from typing import Any

import fake_host
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from nettop import settings
from nettop.changes import Change, plan
from nettop.changes.apply import Terms, apply, reverts
from nettop.changes.journal import Journal
from nettop.cli import main

QUIET = Terms(confirm=0)
RMEM = "sysctl.net.ipv4.tcp_rmem"


def dry(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, dict[str, Any]]:
    code = main(["set", *words, "--dry-run", "--json", "--root", str(tmp_path)])
    out = capsys.readouterr().out
    return code, json.loads(out)


def test_what_would_be_done_has_the_form_of_what_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = fake_host.make(tmp_path)
    before = fake_host.contents(tmp_path)
    code, told = dry(tmp_path, capsys, "rps.cpus@eth0/rx-0", "0x6")
    assert code == 0
    assert told["changes"] == [
        {
            "setting": "rps.cpus@eth0/rx-0", "before": "none", "wanted": "1-2", "after": "1-2",
            "state": "planned", "risk": "none",
            "shell": "echo 6 > /sys/class/net/eth0/queues/rx-0/rps_cpus",
        }
    ]  # fmt: skip
    assert told.keys() == {"schema", "changes"}
    assert fake_host.contents(tmp_path) == before
    made = apply(
        plan.plan([("rps.cpus@eth0/rx-0", "0x6")], host.source), host,
        Journal(str(tmp_path / "state")), QUIET,
    )[0].json()  # fmt: skip
    same = told["changes"][0] | {"state": made["state"], "id": made["id"]}
    assert made == same


def test_what_is_so_already_is_a_change_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_host.make(tmp_path)
    code, told = dry(tmp_path, capsys, RMEM, "4096\t131072  6291456")
    (one,) = told["changes"]
    assert (code, one["state"]) == (0, "unchanged")
    assert one["before"] == one["after"] == [4096, 131072, 6291456]


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("rps.cpus@eth0/rx-0", "0-9", "this host has CPUs 0-3, not 4-9"),
        ("xps.cpus@eth0/tx-0", "9", "this host has CPUs 0-3, not 9"),
        ("xps.rxqs@eth0/tx-0", "0-1", "eth0 has receive queues 0, not 1"),
        ("irq.affinity@eth0/rx-0", "7", "this host has CPUs 0-3, not 7"),
        ("irq.affinity@eth0/rx-0", "3", "of CPUs 3 none is online, but 0-2"),
        ("irq.affinity@eth0/rx-0", "none", "at least one CPU"),
        ("process.affinity@3391", "3", "none is online"),
        ("napi.threaded@eth0", "perhaps", "neither on nor off"),
        ("napi.defer-hard-irqs@eth0", "-1", "cannot be below 0"),
        ("link.txqueuelen@eth0", "many", "not a whole number"),
        ("sysctl.net.ipv4.tcp_congestion_control", "warp", "one of reno, cubic, bbr"),
        (RMEM, "4096 131072 x", "takes whole numbers, not 'x'"),
        (RMEM, "1 2 3 4", "takes 3 of them, not 4"),
        (RMEM, "0 131072 6291456", "cannot be below 1 (the kernel's limit)"),
        (RMEM, "4096 131072 2147483648", "cannot exceed 2147483647"),
        ("sysctl.net.core.rmem_max", "2147483648", "cannot exceed 2147483647"),
        ("sysctl.net.core.rmem_max", "1 2", "is a number"),
    ],
)
def test_a_dry_run_refuses_what_the_real_one_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], setting: str, value: str, says: str
) -> None:
    host = fake_host.make(tmp_path)
    (tmp_path / "sys/devices/system/cpu/online").write_text("0-2\n")
    code, told = dry(tmp_path, capsys, setting, value)
    (one,) = told["changes"]
    assert (code, one["state"]) == (4, "refused")
    assert says in one["because"]
    book = Journal(str(tmp_path / "state"))
    before = settings.read(host.source, settings.parse(setting))
    (real,) = apply([Change(setting, before, value)], host, book, QUIET)
    assert real.json() == one
    assert book.entries() == ()


def test_what_would_revert_by_itself_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_host.make(tmp_path)
    words = ["link.mtu@eth0", "9000", "--confirm", "45"]
    _, told = dry(tmp_path, capsys, *words)
    assert told["changes"][0]["because"] == "reverts unless confirmed within 45 s"
    assert "notes" not in told
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    _, told = dry(tmp_path, capsys, *words, "--keep")
    assert [c["state"] for c in told["changes"]] == ["planned", "planned"]
    assert told["notes"] == ["--keep needs a confirmed change: confirm, then repeat with --keep"]


def test_why_a_change_without_risk_reverts_is_said() -> None:
    mtu, queue = settings.parse("link.mtu@eth1"), settings.parse("rps.cpus@eth0/rx-0")
    assert reverts([queue], (), "by itself") == ""
    assert (
        reverts([queue], ("eth0",), "by itself")
        == "reverts by itself: eth0 carries this SSH session"
    )
    assert reverts([queue, mtu], ("eth0",), "by itself") == "reverts by itself"  # its risk says why


def test_before_is_asked_in_a_dry_run_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_host.make(tmp_path)
    code, told = dry(tmp_path, capsys, "link.txqueuelen@eth0", "5000", "--before", "2000")
    assert code == 4
    assert told["changes"][0]["because"] == "the host no longer shows '2000' but '1000'"


def test_keeping_is_part_of_the_dry_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake_host.make(tmp_path)
    code, told = dry(tmp_path, capsys, RMEM, "1 2 3", "--keep")
    assert code == 0
    assert [(c["setting"], c["state"]) for c in told["changes"]] == [
        (RMEM, "planned"),
        ("kept.sysctl@net.ipv4.tcp_rmem", "planned"),
    ]
    (text,) = told["files"].values()
    assert "net.ipv4.tcp_rmem = 1 2 3" in text
    code, told = dry(tmp_path, capsys, "napi.threaded@eth0", "on", "--keep")
    assert (code, told["changes"][1]["state"]) == (4, "refused")
    assert "systemd does not run here" in told["changes"][1]["because"]
    assert "files" not in told


def test_of_a_recorded_host_the_files_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """The recording does not say whether systemd runs there: that is no reason to refuse."""
    demo = str(Path(__file__).parents[2] / "rules/demo.host.gz")
    words = ["set", "ring.rx@ens2np0", "64", "--dry-run", "--keep", "--json", "--replay", demo]
    assert main(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert [c["state"] for c in told["changes"]] == ["planned", "planned"]
    (text,) = told["files"].values()
    assert text.splitlines()[1:] == [
        "[Match]", "OriginalName=ens2np0", "", "[Link]", "# nettop's:", "RxBufferSize = 64",
    ]  # fmt: skip


def test_one_value_that_cannot_be_stops_them_all(tmp_path: Path) -> None:
    host = fake_host.make(tmp_path)
    wanted = [("rps.cpus@eth0/rx-0", "1"), ("rps.cpus@eth0/rx-0", "99"), ("ring.rx@eth0", "1")]
    good, bad, absent = plan.unfit(wanted, host.source)
    assert {good.state, bad.state, absent.state} == {"refused"}
    assert "another of these is refused" in good.because
    assert "not 99" in bad.because
    assert absent.because


@examples(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(sorted(fake_host.SETTINGS)),
    st.one_of(st.text(max_size=20), st.integers().map(str), st.sampled_from(["none", "0", "-1"])),
)
def test_whatever_is_asked_the_forecast_is_what_happens(
    tmp_path_factory: pytest.TempPathFactory, setting: str, value: str
) -> None:
    folder = tmp_path_factory.mktemp("dry")
    host = fake_host.make(folder / "host")
    book = Journal(str(folder / "state"))
    before = settings.read(host.source, settings.parse(setting))
    change = Change(setting, before, value)
    seen = plan.forecast(change, host.source)
    (made,) = apply([change], host, book, QUIET)
    if seen.state == "planned":
        assert (made.state, made.after) == ("applied", seen.after), made
    else:
        assert made == seen
        assert book.entries() == ()
