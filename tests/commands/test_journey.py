"""`nettop journey`: what it refuses, and what it says of what could not be seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from nettop.cli import main

SLOW = str(Path(__file__).parents[1] / "collect/slow-reader.host")


@pytest.mark.parametrize("target", ["eth9", "0", "65536", "80>", "a>b", "1.2.3.4"])
def test_a_wrong_target_is_one_sentence(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["journey", target, "--replay", SLOW]) == 2
    assert "no flow, port or interface" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ("!1 counting in the kernel needs root\n", "cannot be seen: counting in the kernel needs"),
        ("nonsense\n", "cannot be seen: not a journey"),
        ("5.000\n5.000 0\nqueue 300 1 here - - - -\n", "not a stage with its bucket"),
    ],
)
def test_what_cannot_be_seen_is_one_sentence_and_exit_code_3(
    entry: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.host"
    file.write_text(f"a host\n-- @0.000 --\n-- bpf/journey --\n{entry}", encoding="utf-8")
    assert main(["journey", "--replay", str(file)]) == 3
    assert sentence in capsys.readouterr().err


def test_what_the_figures_leave_out_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.host"
    file.write_text(
        "a host\n-- @0.000 --\n-- bpf/journey --\n5.000\n1.000 7\nqueue 96 1 here 80 2 - -\n"
        "queue x\n!datagram this kernel has no tracepoint sock_recv_length\n"
        "!softirq this kernel has no tracepoint softirq_raise\n", "utf-8",
    )  # fmt: skip
    assert main(["journey", "--replay", str(file)]) == 0
    out = capsys.readouterr().out.replace("\n", " ")
    assert "1 packet waited > 10 ms in the queue of interface 2" in out
    assert "in one piece are not seen: this kernel has no tracepoint sock_recv_length" in out
    assert "softirq-rx" not in out
    assert "they ran for 1 s of 5 s" in out
    assert "Packets that had no room in the table: 7." in out
    assert "lines left out: 1" in out
