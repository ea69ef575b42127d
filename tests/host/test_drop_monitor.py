"""Dropped packets by the kernel's drop monitor: messages, tiers, who starts and stops it."""

import errno
import os
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettop.collect import drop_reasons
from nettop.frame.rates import Partly
from nettop.host import bpf, drop_monitor, monitor_guard
from nettop.host.bpf import rights
from nettop.host.netlink.codec import HEADER, attribute, encode

OURS, THEIRS = bytes.fromhex("020000000001"), bytes.fromhex("020000000009")
HOSTS = {2: OURS}
PLACES = {0x10: "udp_queue_rcv_one_skb", 0x20: "ip_forward"}
WHY = "this kernel cannot run BPF programs"


def message(command: int, body: bytes) -> bytes:
    """A message of the generic family."""
    whole = struct.pack("=BBH", command, 1, 0) + body
    return HEADER.pack(HEADER.size + len(whole), 30, 0, 0, 0) + whole


def summary(*points: tuple[int, int]) -> bytes:
    """NET_DM_CMD_ALERT."""
    body = b"".join(struct.pack("=QI", *point) for point in points)
    return message(1, attribute(0, struct.pack("=I", len(points)) + body))


def packet(reason: str | None, symbol: str, payload: bytes, came_by: int = 0, **more: int) -> bytes:
    """NET_DM_CMD_PACKET_ALERT."""
    values: dict[str, object] = {
        "pc": 0x20, "symbol": symbol, "in_port": {"at": came_by} if came_by else {},
        "proto": int.from_bytes(payload[12:14], "big"), "payload": payload, **more,
    }  # fmt: skip
    if reason is not None:
        values["reason"] = reason
    return message(5, encode(monitor_guard.REPORT, values))


def frame(
    to: bytes,
    sender: bytes,
    number: int = 17,
    ports: tuple[int, int] = (5000, 53),
    v6: bool = False,
) -> bytes:
    """The first bytes of a packet."""
    if v6:
        header = bytes([0x60, 0, 0, 0, 0, 8, number, 64]) + bytes(32)
    else:
        header = bytes([0x45]) + bytes(8) + bytes([number]) + bytes(10)
    ether = 0x86DD if v6 else 0x0800
    return to + sender + struct.pack("!H", ether) + header + struct.pack("!HH", *ports)


def lines(data: bytes, *, alone: bool = True) -> Counter[str]:
    """The lines of a message."""
    return monitor_guard.lines(data, lambda address: PLACES.get(address, ""), HOSTS, alone=alone)


def test_a_sum_of_places_has_no_reason_and_the_protocol_of_the_function() -> None:
    """Place 0 is what a device counted itself; an address without a name has none."""
    found = lines(summary((0x10, 7), (0x20, 2), (0, 3), (0x30, 1)))
    assert found == {
        "NO_REASON {} udp_queue_rcv_one_skb here - udp -": 7,
        "NO_REASON {} ip_forward here - - -": 2, "NO_REASON {} - here - - -": 1,
    }  # fmt: skip
    text = "".join(line.format(count) + "\n" for line, count in found.items())
    assert [(row.reason, row.protocol) for row in drop_reasons.parse(text)] == [
        ("SOCKET_RCVBUFF", "udp"), ("NO_REASON", ""), ("NO_REASON", ""),
    ]  # fmt: skip
    assert [*lines(summary((0x20, 2)), alone=False)] == ["NO_REASON {} ip_forward unknown - - -"]


UDP = "udp_queue_rcv_one_skb+0x1b2/0x2f0"


@pytest.mark.parametrize(
    ("data", "alone", "line"),
    [
        (packet("SOCKET_RCVBUFF", UDP, frame(OURS, THEIRS), 2), False,
         "SOCKET_RCVBUFF {} udp_queue_rcv_one_skb here 2 udp 53"),
        (packet("NO_SOCKET", "f.isra.0+0x1/0x2 [m]", frame(OURS, THEIRS, 6, v6=True), 2), False,
         "NO_SOCKET {} f here 2 tcp 53"),
        # to an interface of another namespace, or to one of ours that has another number there
        (packet("NO_SOCKET", UDP, frame(THEIRS, OURS), 2), False,
         "NO_SOCKET {} udp_queue_rcv_one_skb unknown - - -"),
        (packet("NO_SOCKET", UDP, frame(OURS, THEIRS), 3), False,
         "NO_SOCKET {} udp_queue_rcv_one_skb unknown - - -"),
        (packet("NO_SOCKET", UDP, frame(THEIRS, THEIRS), 3), True,
         "NO_SOCKET {} udp_queue_rcv_one_skb here 3 udp 53"),
        # what is sent has the local port first
        (packet("QDISC_DROP", "__dev_queue_xmit+0x1/0x2", frame(THEIRS, OURS)), False,
         "QDISC_DROP {} __dev_queue_xmit here 2 udp 5000"),
        (packet("QDISC_DROP", "__dev_queue_xmit+0x1/0x2", frame(OURS, THEIRS)), False,
         "QDISC_DROP {} __dev_queue_xmit unknown - - -"),
        # a later fragment has no ports; without a header of the link the protocol is told beside
        (packet("NO_SOCKET", UDP, frame(OURS, THEIRS)[:20] + b"\0\x10"
                + frame(OURS, THEIRS)[22:], 2), True,
         "NO_SOCKET {} udp_queue_rcv_one_skb here 2 udp -"),
        (packet("NO_SOCKET", UDP, frame(OURS, THEIRS)[14:], 5, proto=0x0800), True,
         "NO_SOCKET {} udp_queue_rcv_one_skb here 5 udp 53"),
        (packet("NO_SOCKET", UDP, b"", 5, proto=0x0806), True,
         "NO_SOCKET {} udp_queue_rcv_one_skb here 5 arp -"),
        # a name that was cut off, or that the kernel does not know, is looked up by its address
        (packet("NOT_SPECIFIED", "a" * 39, frame(OURS, THEIRS), 2), True,
         "NOT_SPECIFIED {} ip_forward here 2 udp 53"),
        (packet("NOT_SPECIFIED", "0xffffffff81234567", frame(OURS, THEIRS), 2), True,
         "NOT_SPECIFIED {} ip_forward here 2 udp 53"),
        (packet(None, UDP, frame(OURS, THEIRS), 2), True,
         "NO_REASON {} udp_queue_rcv_one_skb here 2 udp 53"),
        (packet("A B\n!", UDP, frame(OURS, THEIRS), 2), True,
         "NO_REASON {} udp_queue_rcv_one_skb here 2 udp 53"),
    ],
)  # fmt: skip
def test_a_packet_is_a_line_of_the_table(data: bytes, alone: bool, line: str) -> None:
    assert lines(data, alone=alone) == {line: 1}
    (row,) = drop_reasons.parse(line.format(1))
    assert row.packets == 1


@given(st.binary(max_size=120), st.sampled_from([1, 5, 9]))
def test_whatever_the_bytes_there_are_rows_or_a_value_error(body: bytes, command: int) -> None:
    try:
        found = lines(message(command, body))
    except ValueError:
        return
    drop_reasons.parse("".join(line.format(count) + "\n" for line, count in found.items()))


class Door:
    """A socket with these messages; None: some had no room."""

    def __init__(self, *told: bytes | None) -> None:
        self.told, self.closed, self.dropped = [*told], 0, 0

    def setsockopt(self, *_: int) -> None: ...

    def bind(self, to: tuple[int, int]) -> None:
        assert to == (0, 1)  # the mask of group 1

    def recv(self, *_: int) -> bytes:
        if not self.told:
            raise BlockingIOError
        if (data := self.told.pop(0)) is None:
            raise OSError(errno.ENOBUFS, "No buffer space available")
        return data

    def getsockopt(self, *_: int) -> bytes:
        return struct.pack("=9I", *[0] * 8, self.dropped)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def monitor(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Door, Mock]]:
    """A kernel with a monitor whose last attribute is that, and its socket."""

    def made(door: Door, last: int = 23, alone: bool = True, refused: int = 0) -> Mock:
        ends = Mock()
        monkeypatch.setattr(rights, "lacking", lambda *_: ())
        monkeypatch.setattr(drop_monitor, "last_attribute", lambda: last)
        monkeypatch.setattr(drop_monitor, "door", lambda *_: door)
        monkeypatch.setattr(drop_monitor, "_alone", lambda: alone)
        monkeypatch.setattr(drop_monitor, "_interfaces", lambda: HOSTS)
        stats = iter([{"stats": {"dropped": 5}}, *[{"stats": {"dropped": 6}}] * 9])
        monkeypatch.setattr(drop_monitor, "ask", lambda *_: next(stats))
        error = OSError(refused, os.strerror(refused))
        begins = Mock(side_effect=error) if refused else Mock(return_value=ends)
        monkeypatch.setattr(drop_monitor, "started", begins)
        return ends

    return made


def test_packets_are_counted_and_what_had_no_room_is_told(monitor: Callable[..., Mock]) -> None:
    """By the queue of a CPU since the begin (6 - 5), and by that of the socket (3)."""
    one = packet("NO_SOCKET", UDP, frame(OURS, THEIRS), 2)
    door = Door(one, None, one)
    ends = monitor(door)
    door.dropped = 3
    counter = drop_monitor.instead(OSError(errno.ENOSYS, WHY))
    rows = drop_reasons.parse(counter.text())
    assert {(row.reason, row.packets, row.where) for row in rows} == {
        ("NO_SOCKET", 2, "here"), ("OTHER", 4, "unknown"),
    }  # fmt: skip
    assert isinstance(rows, Partly)
    assert rows.why == (
        f"{WHY}; the kernel's drop monitor counts instead; what this host sends is seen from the "
        "interface on, and no packet before"
    )
    ends.assert_not_called()
    counter.close()
    ends.assert_called_once_with()
    assert door.closed == 1


def test_a_kernel_without_reasons_tells_places_and_what_it_does_not_know(
    monitor: Callable[..., Mock], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drop_monitor.Counter, "_place", lambda *_: "")
    monkeypatch.setattr(rights, "hidden", lambda: "the kernel hides the addresses")
    monitor(Door(summary((0x10, 7))), last=22, alone=False)
    rows = drop_reasons.parse(drop_monitor.instead(OSError(errno.EPERM, "needs root")).text())
    assert [(row.reason, row.place, row.where) for row in rows] == [("NO_REASON", "", "unknown")]
    assert isinstance(rows, Partly)
    assert rows.why.endswith(
        "places are up to a second late, without interface and port; it does not tell the network "
        "namespaces apart; the kernel hides the addresses"
    )


def test_too_many_packets_stop_it_and_what_was_counted_stays(
    monitor: Callable[..., Mock], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drop_monitor, "MOST", 2)
    one = packet("NO_SOCKET", UDP, frame(OURS, THEIRS), 2)
    door = Door(one, one, one)
    ends = monitor(door)
    counter = drop_monitor.instead(OSError(errno.ENOSYS, WHY))
    assert "it was stopped: more than 2 packets a second" in counter.text()
    ends.assert_called_once_with()
    door.told += [one]
    assert "NO_SOCKET 3 " in counter.text()


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EAGAIN, f"{WHY}; and the kernel's drop monitor runs already: another program uses"),
        (errno.EBUSY, f"{WHY}; and the kernel's drop monitor runs already: another program uses"),
        (errno.EPERM, f"{WHY}; and the kernel's drop monitor is forbidden by"),
        (errno.ENOENT, f"{WHY}; and the kernel has no drop monitor here"),
        (errno.EINPROGRESS, f"{WHY}; and the kernel's drop monitor: Operation now in progress"),
    ],
)
def test_what_refuses_both_is_one_sentence_and_nothing_stays_open(
    number: int, said: str, monitor: Callable[..., Mock]
) -> None:
    door = Door()
    ends = monitor(door, refused=number)
    with pytest.raises(OSError, match=said) as error:
        drop_monitor.instead(OSError(errno.ENOSYS, WHY))
    assert error.value.errno == errno.ENOSYS
    assert door.closed == 1
    ends.assert_not_called()


def test_a_kernel_without_a_monitor_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question makes it look for the module."""
    asked = Mock(side_effect=FileNotFoundError(errno.ENOENT, "this kernel has no NET_DM netlink"))
    monkeypatch.setattr(monitor_guard, "ask", asked)
    monkeypatch.setattr(rights, "lacking", lambda *_: ())
    monitor_guard.last_attribute.cache_clear()
    for _ in range(3):
        with pytest.raises(OSError, match=f"{WHY}; and the kernel has no drop monitor here"):
            drop_monitor.instead(OSError(errno.ENOSYS, WHY))
    monitor_guard.last_attribute.cache_clear()
    assert asked.call_count == 1


def test_who_may_not_have_it_does_not_ask_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """The question alone would load the module."""
    asked = Mock()
    monkeypatch.setattr(drop_monitor, "last_attribute", asked)
    monkeypatch.setattr(rights, "lacking", lambda *names: names)
    with pytest.raises(OSError, match=f"^.*{WHY}$"):
        drop_monitor.instead(OSError(errno.ENOSYS, WHY))
    asked.assert_not_called()


@pytest.mark.parametrize("name", ["drops", "calls"])
def test_only_drops_have_a_second_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    error = OSError(errno.EPERM, "needs root")
    monkeypatch.setattr(bpf, "_loaded", Mock(side_effect=error))
    monitor = Mock()
    monkeypatch.setattr(drop_monitor, "instead", lambda _: monitor)
    if name == "drops":
        assert bpf.counter(name) is monitor
    else:
        with pytest.raises(OSError, match="needs root"):
            bpf.counter(name)


def test_the_host_has_one_namespace_if_no_process_and_no_name_has_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A process that ends says nothing; one that may not be looked at may have another."""
    spaces: dict[str, int | type[OSError]] = {}
    names = {"/proc": ["1", "7", "self", "net"], "/run/netns": list[str]()}

    def space(path: str) -> Mock:
        found = spaces.get(path.split("/")[2], 1)
        if not isinstance(found, int):
            raise found
        return Mock(st_ino=found)

    monkeypatch.setattr("os.listdir", lambda path: names[path])
    monkeypatch.setattr("os.stat", space)
    monkeypatch.setattr("os.path.isdir", lambda path: path in names)
    assert drop_monitor._alone()
    for other, alone in ((FileNotFoundError, True), (2, False), (PermissionError, False)):
        spaces["7"] = other
        assert drop_monitor._alone() is alone
    spaces.clear()
    names["/run/netns"] = ["b"]
    assert not drop_monitor._alone()


def test_the_interfaces_are_those_of_this_namespace() -> None:
    found = drop_monitor._interfaces()
    for name in os.listdir("/sys/class/net"):
        index, address = (
            Path(f"/sys/class/net/{name}/{what}").read_text().strip()
            for what in ("ifindex", "address")
        )
        hardware = bytes.fromhex(address.replace(":", ""))
        assert found.get(int(index)) == (hardware if any(hardware) else None)
