"""Why the kernel drops packets: names, counts, the seam, the fact, the line, the switch."""

import errno
import os
import struct
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
import scenes
from hypothesis import given
from hypothesis import strategies as st

from nettop import collect
from nettop.collect import drop_reasons
from nettop.facts.kinds import path
from nettop.facts.kinds.host import HostFact
from nettop.facts.kinds.nic import Counters, Nic
from nettop.facts.limits.stages import way
from nettop.host.bpf import btf, call, drops
from nettop.host.recording import Replay
from nettop.host.source import Live
from nettop.panes.interfaces import reasons as told
from nettop.sampling.sampler import Sampler
from nettop.terms.text import text_of
from nettop.views.observer import Observer

KERNEL = {
    0: "SKB_NOT_DROPPED_YET", 1: "SKB_CONSUMED", 2: "SKB_DROP_REASON_NOT_SPECIFIED",
    3: "SKB_DROP_REASON_NO_SOCKET", 6: "SKB_DROP_REASON_SOCKET_RCVBUFF", 9: "SKB_DROP_REASON_MAX",
    -65536: "SKB_DROP_REASON_SUBSYS_MASK",
}  # fmt: skip
TWO = """-- @0.000 wall 1700000000.0 --
-- bpf/drops --
NO_SOCKET 5
SOCKET_RCVBUFF 7
OTHER 0
-- @2.000 wall 1700000002.0 --
-- bpf/drops --
NO_SOCKET 105
SOCKET_RCVBUFF 7
OTHER 3
"""


def types(members: dict[int, str], name: str = "skb_drop_reason") -> bytes:
    """A kernel's type information: an integer, a decoy that names the word, the enumeration."""
    texts = bytearray(b"\0")

    def text(word: str) -> int:
        at = len(texts)
        texts.extend(word.encode() + b"\0")
        return at

    whole = struct.pack("=IIII", text("int"), 1 << 24, 4, 32)
    word = text(name)
    decoy = struct.pack("=III", word, 8 << 24, 1)  # a typedef of the same name
    rows = b"".join(struct.pack("=Ii", text(label), number) for number, label in members.items())
    body = whole + decoy + struct.pack("=III", word, 6 << 24 | len(members), 4) + rows
    head = struct.pack("=HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(body), len(body), len(texts))
    return head + body + bytes(texts)


def test_an_enumeration_is_found_past_a_type_of_the_same_name() -> None:
    assert btf.enumeration(types(KERNEL), "skb_drop_reason", "SKB_") == KERNEL
    with pytest.raises(KeyError):
        btf.enumeration(types(KERNEL), "skb_drop_reasons", "SKB_")
    with pytest.raises(KeyError):
        btf.enumeration(types(KERNEL), "skb_drop_reason", "TCP_")


@given(st.binary(max_size=200) | st.integers(0, 300).map(lambda n: types(KERNEL)[:n]))
def test_whatever_the_bytes_only_the_documented_errors_come(data: bytes) -> None:
    try:
        found = btf.enumeration(data, "skb_drop_reason", "SKB_")
    except (ValueError, KeyError):
        return
    assert found


@given(st.integers(0, 280), st.integers(0, 255))
def test_a_changed_byte_gives_an_error_or_names(at: int, byte: int) -> None:
    data = bytearray(types(KERNEL))
    data[at % len(data)] = byte
    try:
        found = btf.enumeration(bytes(data), "skb_drop_reason", "SKB_")
    except (ValueError, KeyError):
        return
    assert all(isinstance(name, str) for name in found.values())


def test_the_names_are_the_running_kernels_without_those_that_are_no_drop() -> None:
    assert drops.names(types(KERNEL)) == {
        2: "NOT_SPECIFIED", 3: "NO_SOCKET", 6: "SOCKET_RCVBUFF",
    }  # fmt: skip


def test_an_older_kernel_has_the_place_alone_and_no_types_are_one_sentence() -> None:
    assert drops.names(types({0: "A"}, "other")) == {0: drop_reasons.NO_REASON}
    with pytest.raises(OSError, match="cut off"):
        drops.names(b"")


def test_without_a_reason_the_place_stands_for_it_where_it_drops_for_one_alone() -> None:
    places = ["nf_hook_slow", "__udp4_lib_rcv", "ip_error", "tcp_v4_rcv", "-"]
    old = drop_reasons.parse("NO_REASON 9 udp_queue_rcv_skb here - udp -\n")  # before Linux 5.0
    assert [row.reason for row in old] == ["SOCKET_RCVBUFF"]
    lines = [f"NO_REASON 9 {place} here 2 udp 53" for place in places]
    rows = drop_reasons.parse("\n".join(["4.000", *lines, ""]))
    assert [row.reason for row in rows] == [
        "NETFILTER_DROP", "NO_SOCKET", "NO_REASON", "NO_REASON", "NO_REASON",
    ]  # fmt: skip
    kinds = [drop_reasons.words(row.reason, row.place).kind for row in rows]
    assert kinds == ["turned away", "turned away", "turned away", "normal", "normal"]


def test_the_hardware_addresses_of_a_frame_follow_both_ends() -> None:
    ends, frame = "10.0.0.2 40000 10.0.0.1 80", "02:00:00:00:00:09 02:00:00:00:00:02"
    first, second = drop_reasons.parse(
        f"4.000\nOTHERHOST 9 f here 2 udp 80 {ends} {frame}\nOTHERHOST 9 g here 2 udp 80 {ends}\n"
    )
    assert (first.to, first.hardware, first.sender) == ("10.0.0.1", *frame.split())
    assert (second.to, second.hardware, second.sender) == ("10.0.0.1", "", "")
    with pytest.raises(ValueError, match="drop reasons"):
        drop_reasons.parse(f"4.000\nOTHERHOST 9 f here 2 udp 80 {ends} 02:00 02:01\n")


@given(st.text())
def test_the_parser_takes_its_own_lines_and_refuses_others(text: str) -> None:
    try:
        rows = drop_reasons.parse(text)
    except ValueError:
        return
    assert all(row.reason and row.packets >= 0 for row in rows)


WAYS = {direction: way(direction) for direction in ("rx", "tx")}


def test_only_the_receiving_path_with_most_traffic_shows_them() -> None:
    def nic(name: str, rate: float) -> Nic:
        return Nic(name=name, kind="nic", per_s=Counters(rx_bytes=rate), total=Counters())

    nics = [nic("eth0", 5.0), nic("eth1", 50.0)]
    why = (("NO_SOCKET", 50.0),)
    found = path.build(nics, {}, [], HostFact("h"), None, WAYS, why)
    assert {(p.nic, p.direction): p.reasons for p in found} == {
        ("eth0", "rx"): None, ("eth0", "tx"): None, ("eth1", "rx"): why, ("eth1", "tx"): None,
    }  # fmt: skip
    assert all(p.reasons is None for p in path.build(nics, {}, [], HostFact("h"), None, WAYS))


def test_a_recorded_refusal_is_read_as_one() -> None:
    source = Replay("-- @0.000 --\n-- bpf/drops --\n!1 counting in the kernel needs root\n")
    frame = Sampler(source).take(["drop_reasons"])
    assert frame.missing == {"drop_reasons": "counting in the kernel needs root: bpf/drops"}


def test_nobody_counts_unasked() -> None:
    assert collect.counted() == {
        "drop_reasons": "drops", "failed_calls": "calls", "profiles": "profile",
        "journeys": "journey", "arp_requests": "arp", "fdb_moves": "moves",
    }  # fmt: skip
    assert {*collect.counted()} - {*collect.deep()} == {"journeys"}
    assert {*collect.names()} == {*collect.always(), *collect.counted(), *collect.asked()}
    source = _Asked()
    Observer(source).step()
    assert source.asked == []


class _Asked(Live):
    def __init__(self) -> None:
        super().__init__("/nonexistent")
        self.live = True
        self.asked: list[str] = []
        self.ended: list[str] = []

    def counted(self, what: str) -> str:
        self.asked.append(what)
        return ""

    def end_counting(self, what: str) -> None:
        self.ended.append(what)


def test_who_asks_begins_and_who_asks_no_more_ends_it() -> None:
    source = _Asked()
    observer = Observer(source)
    observer.deep = True
    observer.sampler.take(observer.tables())
    assert (sorted(source.asked), source.ended) == (
        ["arp", "calls", "drops", "moves", "profile"],
        [],
    )
    observer.deep = False
    assert not observer.tables() & {*collect.counted()}
    assert sorted(source.ended) == ["arp", "calls", "drops", "moves", "profile"]


def test_the_configuration_can_forbid_a_look_that_nobody_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    looks = Observer(_Asked())
    looks.look_deep()
    assert looks.deep
    (tmp_path / "nettop").mkdir()
    (tmp_path / "nettop" / "config.toml").write_text("deep = false\n", encoding="utf-8")
    other = Observer(_Asked())
    other.look_deep()
    assert not other.deep


def test_a_recording_that_has_them_shows_them() -> None:
    assert Observer(Replay(TWO)).deep
    assert not Observer(Replay("-- /proc/stat --\n")).deep


def test_the_line_says_what_is_dropped() -> None:
    facts = scenes.lossy().facts
    assert facts is not None
    assert told(facts, 100) == []
    (one,) = facts.paths
    shown = replace(facts, paths=(replace(one, reasons=(("NO_SOCKET", 1204.0), ("OTHER", 1.5))),))
    assert [text_of(line).strip() for line in told(shown, 100)] == [
        "kernel drops (host-wide): NO_SOCKET 1,204/s · OTHER 1.5/s"
    ]
    quiet = replace(facts, paths=(replace(one, reasons=()),))
    assert told(quiet, 100) == []


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EINVAL, "this kernel has no tracepoint skb:kfree_skb"),
        (errno.ENOENT, "this kernel has no tracepoint skb:kfree_skb"),
        (errno.EPERM, "Operation not permitted"),
    ],
)
def test_a_tracepoint_that_takes_no_program(
    number: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = OSError(number, os.strerror(number))
    monkeypatch.setattr(call, "attach", Mock(side_effect=error))
    with pytest.raises(OSError, match=said) as caught:
        drops._attach(3)
    assert caught.value.errno == number


def test_programs_that_may_have_dropped_follow_the_reason() -> None:
    (row,) = drop_reasons.parse("4.000\nSOCKET_FILTER;a%20b@/in,c@/ 9 f here 2 udp 80\n")
    assert (row.reason, row.by) == ("SOCKET_FILTER", "a b@/in,c@/")
