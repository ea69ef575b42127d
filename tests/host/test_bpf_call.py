"""The bytes of bpf(2): instructions, map, program, attachment; without asking the kernel."""

from __future__ import annotations

import ctypes
import errno
import struct

import pytest

from nettop.host.bpf import call, drops


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bytes]]:
    asked: list[tuple[int, bytes]] = []

    def answer(command: int, values: bytes) -> int:
        asked.append((command, values))
        return 40 + len(asked)

    monkeypatch.setattr(call, "_call", answer)
    return asked


def test_instructions_as_the_standard_writes_them() -> None:
    assert call.instruction(0x95) == b"\x95" + bytes(7)  # exit
    assert call.instruction(0xB7, 1, value=5) == b"\xb7\x01\0\0\x05\0\0\0"  # r1 = 5
    assert call.instruction(0x63, 10, 6, -4) == b"\x63\x6a\xfc\xff\0\0\0\0"  # *(u32 *)(r10-4) = r6
    assert call.instruction(0xA5, 6, offset=1, value=511) == b"\xa5\x06\x01\0\xff\x01\0\0"


def test_a_map_is_an_array_of_64_bit_counters_that_can_be_mapped(
    calls: list[tuple[int, bytes]],
) -> None:
    assert call.shared_map(100, "a-name-of-more-than-fifteen") == 41
    ((command, values),) = calls
    assert command == 0  # BPF_MAP_CREATE
    assert struct.unpack("=7I16s", values) == (
        2, 4, 8, 100, 0x400, 0, 0, b"a-name-of-more-\0",  # BPF_MAP_TYPE_ARRAY, BPF_F_MMAPABLE
    )  # fmt: skip


def test_a_program_is_given_with_its_length_licence_and_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[object] = []

    def answer(command: int, values: bytes) -> int:
        kind, count, code, licence, level, room, log, version, flags, name = struct.unpack(
            "=IIQQIIQII16s", values
        )
        seen.extend((command, kind, count, level, room, version, flags, name.rstrip(b"\0")))
        seen.extend((ctypes.string_at(code, 8 * count), ctypes.string_at(licence)))
        ctypes.memmove(log, b"first\nR1 is not a pointer\n\0", 27)
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(call, "_call", answer)
    code = call.instruction(0xB7, 0) + call.instruction(0x95)
    with pytest.raises(OSError, match="refuses the program: R1 is not a pointer") as error:
        call.program(code, "one")
    assert error.value.errno == errno.EINVAL
    # BPF_PROG_LOAD, BPF_PROG_TYPE_RAW_TRACEPOINT
    assert seen == [5, 17, 2, 1, 1 << 16, 0, 0, b"one", code, b"Dual MIT/GPL"]


def test_without_the_right_the_log_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_command: int, _values: bytes) -> int:
        raise OSError(errno.EPERM, "needs root")

    monkeypatch.setattr(call, "_call", refuse)
    with pytest.raises(PermissionError, match="needs root"):
        call.program(call.instruction(0x95), "one")


def test_a_program_is_attached_to_a_tracepoint_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []

    def answer(command: int, values: bytes) -> int:
        name, handle = struct.unpack("=QI", values)
        seen.extend((command, ctypes.string_at(name), handle))
        return 9

    monkeypatch.setattr(call, "_call", answer)
    assert call.attach("kfree_skb", 7) == 9
    assert seen == [17, b"kfree_skb", 7]  # BPF_RAW_TRACEPOINT_OPEN


class Machine:
    """Runs the instructions of the program; r1 is its argument block, memory is a dictionary."""

    def __init__(self, cpu: int, reason: int) -> None:
        self.cpu, self.reason, self.counts = cpu, reason, dict[int, int]()

    def run(self, code: bytes) -> None:
        r, stack, at = [0] * 11, dict[int, int](), 0
        while True:
            what, registers, offset, value = struct.unpack_from("=BBhi", code, 8 * at)
            to, of, at = registers & 15, registers >> 4, at + 1
            if what == 0x95:
                assert r[0] == 0
                return
            if what == 0x79:
                assert (of, offset) == (1, 16)
                r[to] = self.reason
            elif what == 0x67:
                r[to] = r[to] << value & (1 << 64) - 1
            elif what == 0x77:
                r[to] >>= value
            elif what == 0xA5:
                at += offset if r[to] < value else 0
            elif what == 0xB7:
                r[to] = value
            elif what == 0x85 and value == 8:
                r[0] = self.cpu
            elif what == 0x85:
                assert (value, r[1], r[2]) == (1, 77, -4)
                r[0] = 1 + stack[-4]
            elif what in (0x57, 0x27, 0x07):
                r[to] = {0x57: r[to] & value, 0x27: r[to] * value, 0x07: r[to] + value}[what]
            elif what == 0x0F:
                r[to] += r[of]
            elif what == 0x63:
                assert to == 10
                stack[offset] = r[of]
            elif what == 0xBF:
                r[to] = r[of]
            elif what == 0x18:
                assert of == 1  # BPF_PSEUDO_MAP_FD
                r[to], at = value, at + 1
            elif what == 0x15:
                at += offset if r[to] == value else 0
            else:
                assert what == 0xDB
                slot = r[to] - 1
                self.counts[slot] = self.counts.get(slot, 0) + r[of]


@pytest.mark.parametrize(
    ("cpu", "reason", "slot"),
    [
        (0, 0, 0), (0, 5, 5), (3, 5, 3 * drops.SLOTS + 5), (16, 5, 5),
        (17, drops.SLOTS - 2, 2 * drops.SLOTS - 2), (0, drops.SLOTS - 1, drops.SLOTS - 1),
        (0, 1 << 16, drops.SLOTS - 1), (0, 0xDEAD << 32 | 7, 7),
    ],
)  # fmt: skip
def test_the_program_counts_one_in_the_slot_of_cpu_and_reason(
    cpu: int, reason: int, slot: int
) -> None:
    machine = Machine(cpu, reason)
    machine.run(drops._code(77))
    assert machine.counts == {slot: 1}
