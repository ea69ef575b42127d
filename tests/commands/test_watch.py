"""`nettop watch`: the limit of the headline, one line per change, as text and as JSON."""

import json
from pathlib import Path

import pytest

from nettop.cli import main

HOSTS = Path(__file__).parents[1] / "hosts"


def output(capsys: pytest.CaptureFixture[str], host: str, *words: str) -> list[str]:
    main(["watch", *words, "--replay", str(HOSTS / host)])
    return capsys.readouterr().out.splitlines()


def test_the_limit_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    limited = [line for line in output(capsys, "vm-send-buffer.host") if "limited by" in line]
    assert len(limited) == 1
    assert " · iperf3 sends " in limited[0]
    assert ", limited by the send buffer (" in limited[0]


def test_the_limit_as_json_has_the_form_of_why(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.loads(one) for one in output(capsys, "vm-send-buffer.host", "--json")]
    (limit,) = (one for one in lines if one["event"] == "limit")
    assert limit["title"].startswith("iperf3 sends ")
    assert limit["limit"]["limit"]["stage"] == "sndbuf"
    assert limit["limit"]["ladder"][0]["stage"] == "sndbuf"


def test_a_host_without_a_limited_flow_has_no_such_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert output(capsys, "guest-idle.host") == []


def test_the_limit_of_another_interface_is_not_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = output(capsys, "vm-send-buffer.host", "--interface", "lo")
    assert not any("limited by" in line for line in lines)
