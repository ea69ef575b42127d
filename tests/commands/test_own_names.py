"""Alternative names of interfaces are accepted wherever a user names an interface."""

from pathlib import Path
from typing import Any

import pytest
from folded import folded
from netlink_bytes import Fake, link, nest, text

from nettop.cli import _command, main
from nettop.commands._argument import own_names

LONG = "a-name-longer-than-fifteen-bytes"
LINKS = (
    link(2, "eth0", nest(52, text(53, "uplink"), text(53, LONG)))
    + link(3, "eth1", nest(52, text(53, "1234")))
    + link(4, "eth2")
)


def named(*words: str, source: Any = None) -> dict[str, Any]:
    args = _command(words[0]).parse_args(words[1:])
    own_names(args, source or Fake({"route/links": LINKS}))
    return vars(args)


@folded("other", ["uplink", LONG])
@folded(
    ("argument", "words"),
    [
        ("interface", ["rate", "{}"]),
        ("interface", ["show", "nic", "--interface", "{}"]),
        ("interface", ["advise", "--interface", "{}"]),
        ("interface", ["watch", "--interface", "{}"]),
        ("target", ["why", "{}"]),
        ("target", ["explain", "rx-ring-overrun", "{}"]),
        ("rule", ["explain", "rx-ring-overrun@{}"]),
        ("setting", ["get", "link.mtu@eth1", "rps.cpus@{}/rx-0"]),
        ("setting", ["set", "link.mtu@{}", "9000"]),
        ("more", ["set", "link.mtu@eth1", "9000", "link.mtu@{}", "9000"]),
        ("finding", ["apply", "rx-ring-overrun@{}"]),
        ("what", ["export", "rx-ring-overrun@{}", "link.mtu@{}=9000"]),
        ("what", ["prove", "link.mtu@{}=9000", "--to", "10.0.0.1"]),
        ("setting", ["sweep", "link.mtu@{}", "--value", "9000", "--to", "10.0.0.1"]),
    ],
)
def test_an_alternative_name_becomes_the_own_name(
    argument: str, words: list[str], other: str
) -> None:
    found = named(*(word.format(other) for word in words))
    assert found[argument] == named(*(word.format("eth0") for word in words))[argument]
    assert other not in str(found[argument])


@folded(
    "words",
    [
        ["why", "1234"],  # a process
        ["get", "irq.affinity@1234"],  # an interrupt
        ["why", "10.0.0.1:5000"],
        ["why", "eth0@uplink"],  # of a namespace
        ["rate", "nothing"],
        ["get", "sysctl.net.core.rmem_max"],
    ],
)
def test_other_words_stay(words: list[str]) -> None:
    assert named(*words) == named(*words, source=Fake())


def test_without_the_links_a_name_stays() -> None:
    assert named("rate", LONG, source=Fake())["interface"] == LONG


def test_no_name_asks_for_no_links() -> None:
    source = Fake()
    named("get", "sysctl.net.core.rmem_max", source=source)
    named("why", source=source)
    assert source.asked == []


# `nettop journey`: what it refuses, and what it says of what could not be seen.


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
