"""What names nothing is refused: an unset variable of the shell never means this host."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest
from folded import folded

from nettop import cli, commands, settings
from nettop.cli import main
from nettop.commands._argument import assignment, whole
from nettop.terms import irqname

HOST = "tests/hosts/guest-transfer.host"
# the value of a setting may be empty: net.ipv4.ip_local_reserved_ports is, by default
VALUES = {
    ("set", "value"),
    ("set", "more"),
    ("set", "before"),
    ("set", "identity"),
    ("sweep", "value"),
    ("sweep", "and_value"),
}


def taking() -> Iterator[tuple[str, argparse.Action]]:
    """Every argument that takes a word, of every command."""
    for name in commands.names():
        for action in cli._command(name)._actions:
            if action.nargs != 0:
                yield name, action


@folded(
    ("name", "action"),
    [pytest.param(*one, id=f"{one[0]} {one[1].dest}") for one in taking()],
)
def test_an_empty_word_is_refused_wherever_a_word_is_taken(
    name: str, action: argparse.Action
) -> None:
    parser = cli._command(name)
    for word in ("", " ", "\t\n"):
        if (name, action.dest) in VALUES:
            assert parser._get_value(action, word) == word
        else:
            with pytest.raises(argparse.ArgumentError):
                parser._check_value(action, parser._get_value(action, word))


@folded("name", commands.names())
@folded("option", ["--netns", "--replay", "--root", "--interface", "--to"])
def test_an_empty_option_is_one_sentence_and_exit_2(
    name: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = {word for action in cli._command(name)._actions for word in action.option_strings}
    if option not in taken:
        option = "--no-such"
    assert main([name, f"{option}="]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1


@folded(
    "words",
    [
        ["compare", "", HOST],
        ["replay", ""],
        ["record", ""],
        ["get", ""],
        ["set", "", "1"],
        ["set", "link.mtu@lo", "1500", "", "1"],
        ["apply", ""],
        ["apply", "rx-ring-overrun@"],
        ["apply", "@eth0"],
        ["explain", "rx-ring-overrun", ""],
        ["explain", "rx-ring-overrun@"],
        ["mute", "rx-ring-overrun@"],
        ["undo", ""],
        ["undo", "0"],
        ["undo", "-1"],
        ["confirm", "1_0"],
        ["confirm", "٣"],
        ["results", "show", ""],
        ["study", ""],
        ["study", "show", ""],
        ["rules", "check", ""],
        ["schema", ""],
        ["export", ""],
        ["export", "="],
        ["export", "=1"],
        ["export", "a=b=777"],
        ["export", "ring.rx@=1"],
        ["export", "rx-ring-overrun@"],
        ["prove", "", "--to", "10.0.0.2"],
        ["prove", "ring.rx@eth0=1", "--to", "10.0.0.2", "--tool", ""],
        ["test", "bulk", "--to", "10.0.0.2 "],
        ["test", "bulk", "--to", "-x"],
        ["test", "bulk", "--to", "127.0.0.1", "--peer", "'' x"],
        ["test", "bulk", "--to", "127.0.0.1", "--peer", "ssh 'a"],
        ["test", "bulk", "--to", "127.0.0.1", "--port", "-1"],
        ["sweep", "", "--value", "1", "--to", "10.0.0.2"],
        ["rate", "a b"],
        ["rate", ".."],
        ["advise", "--interface", "eth0/rx-0"],
        ["advise", "--interface", "0123456789abcdef"],
        ["set", "link.mtu@lo", "1500", "--ssh-peer", "host"],
        ["set", "link.mtu@lo", "1500", "--finding", ""],
        ["advise", "--netns", ".."],
        ["advise", "--netns", "."],
        ["advise", "--netns", "/run/netns/x"],
        ["advise", "--netns", "a b"],
        ["--netns", "", "set", "link.mtu@lo", "1500"],
        [""],
    ],
    ids=" ".join,
)
def test_a_word_that_names_nothing_is_one_sentence_and_exit_2(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("nettop")
    assert err.count("\n") == 1


def test_a_file_left_where_namespaces_stand_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "left").write_text("")
    monkeypatch.setattr("nettop.commands.NAMESPACES", str(tmp_path))
    monkeypatch.setattr("os.execvp", lambda *_: pytest.fail("ip was run"))
    assert main(["advise", "--netns", "left"]) == 2
    assert "no network namespace 'left'" in capsys.readouterr().err


@folded(
    "text",
    [
        "", ".", "ring", "ring.", "ring.@eth0", "ring.rx", "ring.rx@", "ring.rx@.", "ring.rx@..",
        "ring.rx@eth0/", "ring.rx@/eth0", "ring.rx@eth0/rx-0", "ring.rx@a b", "ring.rx@a\n",
        "ring.rx@a:1", "ring.rx@0123456789abcdef", "link.mtu@eth0/zzz", "channels.rx@eth0/x",
        "coalesce.rx-usecs@eth0/x", "feature.gro@eth0/x", "irqbalance.ban@eth0/x",
        "napi.threaded@eth0/x", "pause.rx@eth0/x", "privflag.x@eth0/x", "qdisc.root@eth0/1:",
        "rss.table@eth0/x", "rps.cpus@eth0", "rps.cpus@eth0/rx-0/..",
        "xps.cpus@eth0/x-0", "ntuple.rule@eth0", "ntuple.rule@eth0/x", "irq.affinity@eth0",
        "irq.affinity@5/x", "irq.affinity@eth0/x", "irq.affinity@eth0/irq:",
        "process.affinity@1/2", "process.affinity@x", "process.affinity@0", "nice.value@-1",
        "thread.affinity@1", "thread.affinity@1/", "cpufreq.governor@cpu", "cpufreq.governor@x",
        "cpufreq.governor@cpu0/..",
    ],
)  # fmt: skip
def test_an_address_that_can_be_nothing_is_no_setting(text: str) -> None:
    with pytest.raises(settings.UnknownError):
        settings.parse(text)


@folded(
    "text",
    [
        "ring.rx@a=b", "link.mtu@a@b", "link.mtu@\x1b[31m", "rps.cpus@eth0.5/rx-12",
        "xps.rxqs@eth0/tx-3", "ntuple.rule@eth0/7", "irq.affinity@25", "irq.affinity@eth0/tx-1",
        "irq.affinity@eth0/irq:mlx5_comp0@pci:0000:01:00.0", "process.affinity@1",
        "thread.affinity@1/1", "nice.value@4194304", "cpufreq.governor@all", "cpufreq.epp@cpu12",
    ],
)  # fmt: skip
def test_an_address_that_can_be_is_taken(text: str) -> None:
    assert str(settings.parse(text)) == text


def test_each_example_of_a_target_is_one() -> None:
    kinds = [settings.kind(name) for name in settings.kinds()]
    shown = [kind for kind in kinds if hasattr(kind, "TARGETS")]
    assert len(shown) > 5
    for kind in shown:
        name = kind.__name__.rpartition(".")[2]
        assert settings.parse(f"{name}.{kind.NAMES[0]}@{kind.EXAMPLE}").target == kind.EXAMPLE


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("ring.rx@eth0=4096", ("ring.rx@eth0", "4096")),
        ("link.mtu@a=b=777", ("link.mtu@a=b", "777")),  # no MTU is called b=777
        ("ring.rx@eth0=abc", ("ring.rx@eth0", "abc")),  # whoever plans it says what is wrong
        ("sysctl.net.core.rps_default_mask=", ("sysctl.net.core.rps_default_mask", "")),
    ],
)  # fmt: skip
def test_a_setting_and_its_value_are_parted_where_both_make_sense(
    text: str, pair: tuple[str, str]
) -> None:
    assert assignment(text) == pair


def test_what_can_be_read_in_two_ways_is_refused() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="ambiguous"):
        assignment("qdisc.root@a=b=c")


@folded(
    ("name", "ok"),
    [
        ("eth0", True), ("a=b", True), ("été", True), ("0123456789abcde", True), ("*", True),
        ("", False), (".", False), ("..", False), ("a/b", False), ("a:1", False), ("a b", False),
        ("a\tb", False), ("0123456789abcdef", False), ("ééééééé0", True), ("éééééééé", False),
        ("à", False),  # its last byte is a space to the kernel
    ],
)  # fmt: skip
def test_names_of_devices_are_the_kernel_s(name: str, ok: bool) -> None:
    assert irqname.valid(name) is ok


def test_a_number_is_of_decimal_digits_within_its_bounds() -> None:
    port = whole(1, 65535)
    assert [port("1"), port("65535")] == [1, 65535]
    for word in ("0", "65536", "-1", "1_0", " 1", "٣", "1e3", "", "9" * 5000):
        with pytest.raises(argparse.ArgumentTypeError):
            port(word)


def test_a_rule_without_targets_names_the_tables_that_could_not_be_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    host = "tests/hosts/big-ena.host.gz"
    assert main(["explain", "ports-run-out", "10.0.0.1", "--replay", host]) == 2
    error = capsys.readouterr().err
    assert "(targets: none); not read: sockets_tcp: not in the recording" in error
    named = "/proc/sys/net/ipv4/ip_local_port_range"
    assert f"; not read: time_wait: not in the recording: {named}" in error
