"""A line that cannot be read hides no other line of its table, and is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import pytest
from altered import Altered
from folded import folded
from recorded_hosts import HERE

from nettop import collect
from nettop.collect import (
    _pairs,
    conntrack,
    drop_reasons,
    packet_sockets,
    snmp,
    softnet,
    tls,
    wireless,
    xfrm,
)
from nettop.frame.rates import Partly
from nettop.host.recording import Replay, load

GARBAGE = "?! garbage"
HOSTS = ("vm-vmxnet3-drops", "netns-send")
# the number of lines above the first row
HEADINGS = {
    "netdev": 2, "sockets_udp": 1, "interrupts": 1, "softirqs": 1, "cpu": 1,
    "softnet": 0,
}  # fmt: skip
FILES = {
    "/proc/net/dev", "/proc/net/udp", "/proc/net/udp6", "/proc/interrupts", "/proc/softirqs",
    "/proc/stat", "/proc/net/softnet_stat",
}  # fmt: skip


@cache
def host(name: str) -> Replay:
    return Replay(load(str(HERE / f"hosts/{name}.host")))


def rows(name: str, source: Any, memory: collect.Memory) -> Sequence[Any]:
    module = collect.collector(name)
    if hasattr(module, "update"):
        return module.update(source, memory)  # type: ignore[no-any-return]
    return module.read(source)  # type: ignore[no-any-return]


def damaged(where: str, name: str) -> Iterator[tuple[str, str]]:
    """Each file of more than one row with one of them replaced."""
    plain = Altered(host(where))
    rows(name, plain, {})
    for path in FILES & plain.kept.keys():
        answer = plain.kept[path]
        text = answer if isinstance(answer, str) else answer.decode()
        lines = text.splitlines(keepends=True)
        read = text[: text.find("\nintr ")].count("\n") + 1 if name == "cpu" else len(lines)
        for place in range(HEADINGS[name], read if read > HEADINGS[name] + 1 else 0):
            yield path, "".join([*lines[:place], GARBAGE + "\n", *lines[place + 1 :]])


@folded("again", [False, True])
@folded("name", HEADINGS)
@folded("where", HOSTS)
def test_the_other_rows_stay_equal(where: str, name: str, again: bool) -> None:
    known = list(rows(name, host(where), {}))
    for path, text in damaged(where, name):
        memory: collect.Memory = {}
        if again:
            rows(name, host(where), memory)
        source = Altered(host(where), path, text)
        found = rows(name, source, memory)
        assert isinstance(found, Partly), (path, text)
        assert path.removesuffix("6") in found.why
        assert found.why.endswith("lines left out: 1")
        if name == "softirqs":  # a line is a column
            gone = {f for row, old in zip(found, known, strict=True) for f in _differ(row, old)}
            assert len(gone) <= 1, gone
        else:
            assert [row for row in known if row in found] == list(found)
            assert len(known) - len(found) == 1, (path, text)
        if hasattr(collect.collector(name), "update"):  # asked again, it says the same
            assert rows(name, source, memory) == found
        assert list(rows(name, host(where), memory)) == known


def _differ(row: Any, old: Any) -> set[str]:
    names = ("net_rx", "net_tx", "tasklet", "timer", "sched", "rcu")
    return {name for name in names if getattr(row, name) != getattr(old, name)}


SHORT: list[tuple[Callable[[str], Sequence[Any]], str, str]] = [
    (packet_sockets.parse, "sk\n", "0 3 3 0003 2 1 640 0 75831\n"),
    (wireless.parse, "a\nb\n", " wlan0: 0000 41. -69. -256 0 0 0 318 21 0\n"),
    (drop_reasons.parse, "", "NO_SOCKET 5\n"),
    (lambda text: softnet.rows(softnet.split(text), (0,) * text.count("\n")), "", "1 " * 9 + "\n"),
]  # fmt: skip


@pytest.mark.parametrize(("parse", "head", "line"), SHORT)
def test_a_text_of_lines(parse: Callable[[str], Sequence[Any]], head: str, line: str) -> None:
    (row,) = parse(head + line)
    found = parse(f"{head}{line}{GARBAGE}\n{line}")
    assert isinstance(found, Partly)
    assert list(found) == [row, row]
    with pytest.raises(ValueError, match="garbage"):
        parse(f"{head}{GARBAGE}\n{GARBAGE}\n")


class Text:
    """A host with one text, whatever is asked."""

    def __init__(self, text: str) -> None:
        self.one = text

    def text(self, path: str) -> str:
        if path.endswith("nf_conntrack_count"):
            return "5"
        return self.one


@pytest.mark.parametrize("read", [tls.read, xfrm.read])
def test_a_text_of_names_with_counts(read: Callable[[Any], Sequence[Any]]) -> None:
    good = "TlsCurrTxSw 2\nXfrmInError 3\n"
    found = read(Text(f"{GARBAGE} x\n{good}"))
    assert isinstance(found, Partly)
    assert list(found) == list(read(Text(good)))


def test_sums_over_cpus_are_unknown_without_one_of_them() -> None:
    (row,) = found = conntrack.read(Text(f"drop\n1\n{GARBAGE}\n"))  # type: ignore[arg-type]
    assert (row.count, row.drops) == (5, None)
    assert isinstance(found, Partly)


ASKED = frozenset({"A.one", "B.two", "C.three", "6.four", "6.five"})
SECTIONS = "A: one\nA: 1\nB: two\nB: 2\nC: three\nC: 3\n"


@folded("place", range(6))
@folded("cut", [False, True])
def test_a_section_that_cannot_be_read_hides_no_other(place: int, cut: bool) -> None:
    lines = SECTIONS.splitlines()
    lines[place : place + 1] = [] if cut else [GARBAGE]
    figures = _pairs.sections("\n".join(lines), ASKED)
    whole = {"A.one": 1, "B.two": 2, "C.three": 3}
    del whole[["A.one", "B.two", "C.three"][place // 2]]
    assert figures == whole
    assert figures.wrong


def test_a_figure_that_cannot_be_read_hides_no_other() -> None:
    figures = _pairs.singles(f"four 4\n{GARBAGE}\nfive x\n", ASKED)
    assert (figures, len(figures.wrong)) == ({"6.four": 4}, 1)


SNMP = "Ip: InReceives\nIp: {}\nTcp: InSegs\nTcp: 7\n"


def test_a_sum_without_one_of_its_figures_is_unknown() -> None:
    """IPv6 alone would look like a host whose IPv4 stopped, and then like a burst."""
    texts = {"/proc/net/snmp": SNMP.format(5), "/proc/net/snmp6": "Ip6InReceives 3\n"}
    archive = "c\n" + "".join(f"-- {path} --\n{text}" for path, text in texts.items())
    (good,) = snmp.update(Replay(archive), {})
    assert (good.ip_in, good.tcp_in) == (8, 7)
    found = snmp.update(Replay(archive.replace("Ip: 5", "Ip: x")), {})
    assert [(row.ip_in, row.tcp_in) for row in found] == [(None, 7)]
    assert isinstance(found, Partly)
    assert "/proc/net/snmp: " in found.why
