"""The filter of a capture, carried out: it accepts the datagrams to one port and no other packet.

The machine is that of Documentation/networking/filter.rst; a load outside of the packet gives 0.
"""

import struct
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nettop.trials.far import capture


def accepted(program: Sequence[tuple[int, int, int, int]], packet: bytes) -> int:
    """What the program returns for a frame: the bytes of it that are kept."""
    a = x = at = 0
    while True:
        code, yes, no, k = program[at]
        at += 1
        first, size = {0x28: (k, 2), 0x30: (k, 1), 0x48: (x + k, 2), 0xB1: (k, 1)}.get(code, (0, 0))
        if first + size > len(packet):
            return 0
        value = int.from_bytes(packet[first : first + size], "big")
        if code == 0x06:
            return k
        if code in (0x28, 0x30, 0x48):
            a = value
        elif code == 0xB1:
            x = 4 * (value & 0xF)
        elif code == 0x15:
            at += yes if a == k else no
        elif code == 0x45:
            at += yes if a & k else no
        else:
            raise ValueError(f"an instruction {code:#x} that this test does not know")


def v4(protocol: int, port: int, options: int, fragment: int) -> bytes:
    """An IPv4 packet whose header has so many words of options."""
    head = struct.pack(">BBHHHBBH8x", 0x45 + options, 0, 0, 0, fragment, 64, protocol, 0)
    return b"\2" * 12 + b"\x08\x00" + head + b"\0\0\0\0" * options + udp(port)


def v6(protocol: int, port: int) -> bytes:
    head = struct.pack(">IHBB32x", 6 << 28, 8, protocol, 64)
    return b"\2" * 12 + b"\x86\xdd" + head + udp(port)


def udp(port: int) -> bytes:
    return struct.pack(">HHHH", 7000, port, 8, 0)


PORTS = st.sampled_from((7009, 7010, 1, 0, 65535)) | st.integers(0, 65535)
PROTOCOLS = st.sampled_from((17, 6, 0, 18))
FRAGMENTS = st.sampled_from((0, 1, 0x1FFF, 0x1000, 0x2000, 0x2001, 0x4000))  # 0x4000: do not


@given(st.sampled_from((7009, 5)), PORTS, PROTOCOLS, st.integers(0, 10), FRAGMENTS)
@example(7009, 7009, 17, 0, 0)
@example(7009, 7009, 17, 10, 0x4000)
@example(7009, 7009, 17, 0, 1)
@example(7009, 7009, 6, 0, 0)
@example(7009, 7010, 17, 0, 0)
def test_datagrams_over_ipv4_to_the_port_are_captured(
    wanted: int, port: int, protocol: int, options: int, fragment: int
) -> None:
    packet = v4(protocol, port, options, fragment)
    program = capture.filtered(wanted, v6=False)
    whole = port == wanted and protocol == 17 and not fragment & 0x1FFF
    assert accepted(program, packet) == (0x40000 if whole else 0)
    assert accepted(capture.filtered(wanted, v6=True), packet) == 0
    for cut in range(len(packet) - 4):  # before the end of the port
        assert accepted(program, packet[:cut]) == 0


@given(st.sampled_from((7009, 5)), PORTS, PROTOCOLS)
@example(7009, 7009, 17)
@example(7009, 7009, 6)
@example(7009, 7010, 17)
def test_datagrams_over_ipv6_to_the_port_are_captured(
    wanted: int, port: int, protocol: int
) -> None:
    packet = v6(protocol, port)
    program = capture.filtered(wanted, v6=True)
    assert accepted(program, packet) == (0x40000 if port == wanted and protocol == 17 else 0)
    assert accepted(capture.filtered(wanted, v6=False), packet) == 0
    for cut in range(len(packet) - 4):
        assert accepted(program, packet[:cut]) == 0


def test_a_frame_of_another_kind_is_not_captured() -> None:
    for packet in (v4(17, 7009, 0, 0), v6(17, 7009)):
        other = packet[:12] + b"\x81\x00" + packet[14:]
        assert not any(accepted(capture.filtered(7009, v6=six), other) for six in (False, True))


@pytest.mark.parametrize("six", [False, True])
def test_only_jumps_have_targets_and_all_are_in_the_program(six: bool) -> None:
    program = capture.filtered(7009, six)
    for at, (code, yes, no, _) in enumerate(program):
        if code & 0x07 == 0x05:  # BPF_JMP
            assert yes != no
            assert at + 1 + max(yes, no) < len(program)
        else:
            assert (yes, no) == (0, 0)
