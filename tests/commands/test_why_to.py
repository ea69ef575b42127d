"""`nettop why --to`: recorded answers of staged hosts, its text, its arguments, its exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest
from folded import folded
from way_cases import CLIENT, FORWARD, OUTPUT, Case, recording

from nettop.cli import main

HOSTS = Path(__file__).parents[1] / "hosts"
HOST = str(HOSTS / "netns-send.host")


def why(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["why", *words])
    out, err = capsys.readouterr()
    return code, out, err


def judged(capsys: pytest.CaptureFixture[str], name: str, case: Case, *words: str) -> None:
    to = f"{case.to}:{case.port}"
    code, out, err = why(capsys, "--to", to, *words, "--json", "--replay", str(recording(name)))
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    assert case.says in found["headline"]
    assert (found["decider"] is None) == (not case.says)
    if case.change:
        assert case.change in found["decider"]["change"]
    # the recording has the kernel's own answer
    assert not any("the kernel's route answer" in one["saw"] for one in found["steps"])


@folded("name", OUTPUT)
def test_the_way_out_of_a_recorded_host(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    judged(capsys, name, OUTPUT[name])


@pytest.mark.parametrize("name", FORWARD)
def test_the_way_through_a_recorded_host(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    judged(capsys, name, FORWARD[name], "--from", f"{CLIENT}%eth1")


def test_the_text_has_the_headline_the_change_the_steps_and_what_is_not_visible(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = "the gateway is not there"
    code, out, _ = why(capsys, "--to", "10.2.0.5:7000", "--replay", str(recording(name)))
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("10.2.0.5:7000 cannot be reached: no neighbour answers for")
    assert lines[1] == "  shown by: ip neigh show 10.93.0.77 dev eth0"
    assert lines[2].startswith("  change:   the host with 10.93.0.77 must answer ARP")
    assert any(
        line.startswith("  · route       route 10.2.0.0/24 via 10.93.0.77") for line in lines
    )
    assert any(line.startswith("  ✗ neighbour   no neighbour answers") for line in lines)
    _, other, _ = why(capsys, "--to", "10.99.7.2", "--replay", HOST)
    assert "not visible from here:" in other
    assert "  ? neighbour" in other


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--to", "host.example"], "is not ADDRESS or ADDRESS:PORT"),
        (["--to", "10.0.0.1:0"], "a port is a number from 1 to 65535"),
        (["--to", "10.0.0.1:70000"], "a port is a number"),
        (["--to", ""], "is empty"),
        (["--to", "10.0.0.1", "--mark", "x"], "is not a mark"),
        (["--to", "10.0.0.1", "--from", "2001:db8::1"], "two address families"),
        (["eth0", "--to", "10.0.0.1"], "leave out TARGET and --peer"),
        (["--from", "10.0.0.1"], "belong to --to"),
        (["--mark", "1"], "belong to --to"),
    ],
)
def test_a_wrong_question_is_refused_with_one_sentence(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = why(capsys, *words, "--replay", HOST)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "to", "port"),
    [("10.99.7.2:80", "10.99.7.2", 80), ("[2001:db8::1]:80", "2001:db8::1", 80),
     ("2001:db8::1", "2001:db8::1", None), ("[::ffff:10.99.7.2]", "10.99.7.2", None)],
)  # fmt: skip
def test_addresses_are_written_in_each_form(
    text: str, to: str, port: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = why(capsys, "--to", text, "--json", "--replay", HOST)
    assert code == 0, err
    found = json.loads(out)
    assert (found["to"], found["port"]) == (to, port)


def test_an_interface_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = why(capsys, "--to", "10.99.9.9", "--from", "nic9", "--replay", HOST)
    assert out.startswith(
        "10.99.9.9 from 192.0.2.1 on nic9 cannot be reached: there is no interface"
    )


def test_a_host_whose_interfaces_are_not_known_is_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = why(capsys, "--to", "10.0.0.1", "--root", str(tmp_path))
    assert (code, out) == (3, "")
    assert "not enough was seen: links" in err


def test_a_recording_made_for_an_address_has_the_kernels_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "here.host.gz")
    words = ["--seconds", "0.2", "--interval", "0.1", "--keep-addresses"]
    assert main(["record", file, "--to", "127.0.0.1", *words]) == 0
    code, out, err = why(capsys, "--to", "127.0.0.1", "--json", "--replay", file)
    assert code == 0, err
    found = json.loads(out)
    assert not any("the kernel's route answer" in one["saw"] for one in found["steps"])
    assert found["steps"][0]["saw"].startswith("local route 127.0.0.")
