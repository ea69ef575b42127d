"""A line that cannot be read hides no other line of its table, and is told."""

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import pytest
from altered import Altered
from folded import folded
from recorded_hosts import HERE

from nettop import collect
from nettop.collect import (
    _lines,
    conntrack,
    drop_reasons,
    namespaces,
    netdev,
    packet_sockets,
    snmp,
    sockets_tcp,
    softnet,
    tls,
    wireless,
    xfrm,
)
from nettop.collect.interrupts import _is_fixed
from nettop.collect.qdiscs import htb
from nettop.frame.rates import Partly
from nettop.host.netlink.codec import attribute
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
    return collect.rows(name, source, {collect.table(name).memory or name: memory})


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
    figures = _lines.sections("\n".join(lines), ASKED)
    whole = {"A.one": 1, "B.two": 2, "C.three": 3}
    del whole[["A.one", "B.two", "C.three"][place // 2]]
    assert figures == whole
    assert figures.wrong


def test_a_figure_that_cannot_be_read_hides_no_other() -> None:
    figures = _lines.singles(f"four 4\n{GARBAGE}\nfive x\n", ASKED)
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


# Odd lines of /proc/net/dev.


HEAD = "Inter-|   Receive  |  Transmit\n face |bytes|bytes\n"
SIXTEEN = " ".join(map(str, range(1, 17)))


def test_a_line_of_another_form_hides_no_other_interface() -> None:
    odd = f"  eth0: {SIXTEEN}\n  eth0:1: {SIXTEEN}\n  x: 1 2\n  y: a {SIXTEEN}\n  lo:{SIXTEEN}\n"
    rows = netdev.parse(HEAD + odd)
    assert [row.name for row in rows] == ["eth0", "eth0:1", "lo"]
    assert isinstance(rows, Partly)
    assert rows.why == "/proc/net/dev: 2 columns for 'x'; lines left out: 2"
    assert not isinstance(netdev.parse(HEAD + f"  eth0: {SIXTEEN}\n"), Partly)


def test_a_table_without_any_right_line_cannot_be_read() -> None:
    with pytest.raises(ValueError, match="2 columns for 'x'"):
        netdev.parse(HEAD + "  x: 1 2\n")


def test_a_bad_count_names_its_interface() -> None:
    with pytest.raises(ValueError, match="'x': "):
        netdev.parse(HEAD + f"  x: {SIXTEEN.replace('16', 'a')}\n")


# Numbers at the bounds of their fields: what the kernel may print, and what may be missing.


@pytest.mark.parametrize(
    ("counts", "fixed"),
    [
        (f"{7:11}{12:11}", True),
        (f"{10**10:11}{10**11 - 1:11}", False),  # the columns touch: they cannot be told apart
        (f"{7:11}{10**11:12}", False),  # one digit more than the column has
        (f"{7:11}", False),
        (f"{7:11}{12:10} ", False),
        (f"{7:11}{12:11}   PCI-MSIX", True),
    ],
)
def test_counts_have_fixed_columns_only_where_each_ends_at_its_column(
    counts: str, fixed: bool
) -> None:
    assert _is_fixed(f" 50:{counts}".encode(), (0, 1)) is fixed


def test_the_namespace_with_most_processes_is_the_hosts_where_process_1_is_closed() -> None:
    closed = namespaces._CLOSED
    assert namespaces._outermost(1, {1: [10, 11], 2: [12]}, 0, closed)
    assert not namespaces._outermost(1, {1: [10], 2: [12, 13]}, 0, closed)
    assert namespaces._outermost(1, {1: [10], 2: [12, 13]}, 1, closed)
    assert namespaces._outermost(1, {1: [10]}, 0, closed)
    assert not namespaces._outermost(1, {1: [10, 11], 2: [12]}, 0, 2)


def test_an_htb_class_above_32_gbit_has_its_rate_in_a_field_of_64_bits() -> None:
    """The 32-bit field holds all ones then; ceil has a 64-bit field of its own."""
    spec = struct.Struct("=8xI")
    head = attribute(1, spec.pack(0xFFFFFFFF) + spec.pack(125_000_000) + bytes(20))
    rate = attribute(6, struct.pack("=Q", 5_000_000_000))
    ceiling = attribute(7, struct.pack("=Q", 12_500_000_000))
    assert htb(head + rate) == (4e10, 1e9)
    assert htb(head + rate + ceiling) == (4e10, 1e11)
    assert htb(head + ceiling)[1] == 1e11


def test_attributes_that_touch_are_read_at_once() -> None:
    """Two attributes with nothing between them, and the first right behind the message's head."""
    size, info = sockets_tcp._MEMORY.size, sockets_tcp._INFO.size
    at = sockets_tcp._ATTRIBUTES_AT
    touching = sockets_tcp._numbers((at, at + size), (at + size, at + size + info))
    assert touching is not None
    assert touching.size == 16 + size + info
    assert sockets_tcp._numbers((at, at + size), (at + size - 1, at + size + info)) is None
    assert sockets_tcp._numbers((at, at + size - 1), (at + size, at + size + info)) is None
    assert sockets_tcp._numbers((at, at + size), (at + size, at + size + info - 1)) is None
