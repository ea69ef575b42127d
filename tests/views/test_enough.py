"""Too little read is no sign of health: advise, watch and the panes say so; exit code 3."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from generated import score
from generated.archive import archive
from jsonschema import Draft202012Validator
from scenes import lossy

from nettop.cli import main
from nettop.commands import schema
from nettop.facts.limits import Limit
from nettop.facts.limits.interfaces import Interfaces
from nettop.host.recording import Replay
from nettop.panes import page
from nettop.sampling.sampler import Sampler
from nettop.terms.text import text_of
from nettop.views.enough import all_clear, obstacle
from nettop.views.view import View

HOSTS = Path(__file__).parents[1] / "hosts"


@cache
def whole() -> str:
    return archive(score.sound("raspberry-pi", 1))


def first_moment() -> str:
    return whole().split("-- @5.25")[0]


def standing() -> str:
    text = first_moment()
    head, _, moment = text.partition("-- @0.000 wall 1700000000.000 --\n")
    return head + "".join(f"-- @{at}.000 wall 170000000{at}.000 --\n{moment}" for at in range(3))


def without_ports() -> str:
    return whole().replace("-- netlink/route/counters --", "-- netlink/route/lost --")


def at_rest_without_times() -> str:
    """An idle host whose /proc/stat cannot be read, such as a far one with an empty /proc."""
    return standing().replace("-- /proc/stat --", "-- /proc/lost --")


CASES = (
    (at_rest_without_times, "no packet was counted, and the CPU times could not be read"),
    (first_moment, "one sample has no rates"),
    (standing, "no counter changed between the samples"),
    (without_ports, "the counters of the interfaces could not be read"),
)


@pytest.mark.parametrize(("made", "why"), CASES)
def test_too_little_to_judge_by(
    made: Callable[[], str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.host"
    path.write_text(made())
    assert main(["advise", "--replay", str(path)]) == 3
    text = capsys.readouterr().out
    assert f"Not enough to judge this host: {why}" in text
    assert "No problem found" not in text
    assert main(["advise", "--replay", str(path), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["shortfall"].startswith(why)


@pytest.mark.parametrize(("made", "why"), CASES)
def test_watch_says_once_that_it_cannot_judge(
    made: Callable[[], str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.host"
    path.write_text(made())
    assert main(["watch", "--replay", str(path)]) == 3
    text = capsys.readouterr().out
    assert text.count(f"? not enough to judge: {why}") == 1
    assert text.count("not enough") == 1
    assert main(["watch", "--replay", str(path), "--json"]) == 3
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (event,) = (line for line in lines if line["event"] == "shortfall")
    assert event["shortfall"].startswith(why)
    check = Draft202012Validator(schema.of("watch", schema.load()))
    assert [error.message for line in lines for error in check.iter_errors(line)] == []


@pytest.mark.parametrize(
    ("missing", "how"),
    [
        ({"link_stats": "Operation not permitted: netlink/route"}, "sudo nettop"),
        ({"link_stats": "Permission denied: /proc/net/dev", "cpu": "x"}, "sudo nettop"),
        ({"cpu": "Protocol not supported"}, "nettop snapshot --table cpu"),
        ({"cpu": "not in the recording: /proc/stat"}, "nettop record FILE"),
    ],
)  # fmt: skip
def test_what_would_read_a_table_is_told_by_the_reason(missing: dict[str, str], how: str) -> None:
    why, told = obstacle(missing)
    assert why == next(iter(missing.values()))
    assert how in told


def test_the_reason_is_that_of_the_table_that_is_told_of() -> None:
    missing = {"link_stats": "read in another way", "sockets_tcp": "Operation not permitted"}
    assert obstacle(missing, "sockets_tcp")[0] == "Operation not permitted"


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_the_headline_of_flows_that_are_not_read_says_so(size: tuple[int, int]) -> None:
    scene = lossy()
    assert scene.facts is not None
    nic = Limit("nic", "eth0", "tx", 12e6, nic="eth0")
    quiet = replace(scene.facts, paths=(), missing={"sockets_tcp": "Operation not permitted"},
                    limits=tuple(Interfaces().build([nic], [], read=False)),
                    flows=())  # fmt: skip
    rows = [text_of(row).strip("│ ") for row in page.compose(
        replace(scene, facts=quiet, findings=()), View(), *size)]  # fmt: skip
    told = " ".join(rows[2:5])
    assert told.startswith("? Cannot tell: no TCP flow was read: Operation not permitted")
    assert "`sudo nettop`" in told
    assert not any("nothing waits" in row or "Limited by" in row for row in rows)


PANES = {"overview": "? Cannot tell", "advisor": "not enough to judge"}


@pytest.mark.parametrize("pane", PANES)
@pytest.mark.parametrize(("made", "why"), CASES)
def test_a_pane_without_findings_says_that_it_cannot_judge(
    made: Callable[[], str], why: str, pane: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.host"
    path.write_text(made())
    words = ["show", pane, "--once", "--width", "120", "--replay", str(path)]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert f"{PANES[pane]}: {why}" in text
    assert ("`nettop record FILE" in text) == (pane == "overview")  # what would show it
    assert "✓" not in text
    assert "no findings" not in text
    path.write_text(whole())
    assert main(words) == 0
    assert "not enough to judge" not in capsys.readouterr().out


def test_a_directory_stands_still(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sys.path.insert(0, str(HOSTS))
    try:
        from make_big import Big, write  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(HOSTS))
    write(str(tmp_path / "big"), Big(cpus=4, nodes=1, queues=2, lines=20))
    assert main(["advise", "--root", str(tmp_path / "big"), "--seconds", "0.2"]) == 3
    assert "no counter changed" in capsys.readouterr().out


def test_a_whole_recording_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.host"
    path.write_text(whole())
    assert main(["advise", "--replay", str(path)]) == 0
    assert "Not enough to judge" not in capsys.readouterr().out
    assert main(["advise", "--replay", str(path), "--json"]) == 0
    assert "shortfall" not in json.loads(capsys.readouterr().out)
    assert main(["watch", "--replay", str(path)]) == 0
    assert "not enough to judge" not in capsys.readouterr().out


def test_a_critical_finding_counts_for_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.host"
    text = whole().replace("-- netlink/route/counters --", "-- netlink/route/lost --")
    added = "net/ipv4/tcp_tw_recycle --\n1\n"
    mark = "-- /proc/sys/net/ipv4/tcp_sack --"
    path.write_text(text.replace(mark, f"-- /proc/sys/{added}{mark}"))
    assert main(["advise", "--replay", str(path)]) == 1
    assert "Not enough to judge" in capsys.readouterr().out


@pytest.mark.parametrize("value", ["", "odd\n"])
@pytest.mark.parametrize("name", ["tcp_sack", "tcp_rmem"])
def test_a_setting_that_every_kernel_has_is_hidden_not_absent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, value: str
) -> None:
    path, mark = tmp_path / "x.host", f"-- /proc/sys/net/ipv4/{name} --\n"
    before, _, after = whole().partition(mark)
    rest = after[after.index("\n-- ") + 1 :]
    path.write_text(before + mark + value + rest)
    assert main(["advise", "--replay", str(path)]) == 3
    told = capsys.readouterr().out
    assert "Not enough to judge this host: the network settings could not be read." in told
    assert f"not read: sysctls: net.ipv4.{name}" in told
    assert main(["advise", "--replay", str(path), "--format", "nagios"]) == 3
    assert "UNKNOWN" in capsys.readouterr().out


def test_a_setting_that_an_older_recording_lacks_is_said_and_the_rest_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, mark = tmp_path / "x.host", "-- /proc/sys/net/ipv4/tcp_dsack --\n"
    before, _, after = whole().partition(mark)
    path.write_text(before + after[after.index("\n-- ") + 1 :])
    assert main(["advise", "--replay", str(path)]) == 0
    told = capsys.readouterr().out
    assert "Not enough" not in told
    assert "not read: sysctls: net.ipv4.tcp_dsack: not in the recording" in told


def test_what_is_too_small_to_report_is_said_instead_of_a_clean_bill() -> None:
    drops = (
        "1.0\nNO_SOCKET 1 f here 2 udp 53\nNO_SOCKET 1 f here 2 udp 54\n"
        "NO_SOCKET 9 f elsewhere - - -\n"
        "OTHERHOST 9 f here 2 ip -\n"
    )
    calls = (
        "1.0\nbind EADDRINUSE 1 7 here - - app\nconnection 0 9 7 here 192.0.2.1 80 app\n"
        "connect ENOENT 2 8 here unix - sh\n"
    )
    text = f"-- @0.000 --\n-- bpf/drops --\n{drops}-- bpf/calls --\n{calls}"
    frame = Sampler(Replay(text)).take(["drop_reasons", "failed_calls"])
    assert all_clear(frame) == (
        "Nothing above its threshold; seen: 2 refused (NO_SOCKET), 1 bind failed (EADDRINUSE, app)."
    )
