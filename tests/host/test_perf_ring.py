"""The records of a ring: wrapped around its end, lost, cut off, and of any bytes."""

import mmap
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettop.host.bpf import profile
from nettop.host.bpf.profile import Ring, Sample, records

KERNEL, USER, MARK = 1, 2, 2**64 - 128
IP = 0xFFFFFFFF81000010


def sample(
    mode: int, address: int, *chain: int, thread: tuple[int, int] = (7, 8), count: int | None = None
) -> bytes:
    told = len(chain) if count is None else count
    body = struct.pack("=QIIQ", address, *thread, told) + struct.pack(f"={len(chain)}Q", *chain)
    return struct.pack("=IHH", 9, mode, 8 + len(body)) + body


def lost(number: int) -> bytes:
    return struct.pack("=IHHQQ", 2, 0, 24, 1, number)


IN_KERNEL = sample(KERNEL, IP, MARK, IP, IP + 64)
IN_PROGRAM = sample(USER, 0x7F0000001000)


def test_a_sample_of_the_kernel_has_its_functions_and_one_of_a_program_its_address() -> None:
    found, dropped = records(IN_KERNEL + IN_PROGRAM)
    assert found == [Sample(7, 8, 0, (IP, IP + 64)), Sample(7, 8, 0x7F0000001000, ())]
    assert dropped == 0


def test_a_sample_without_a_chain_has_its_address() -> None:
    assert records(sample(KERNEL, IP))[0] == [Sample(7, 8, 0, (IP,))]


def test_lost_samples_are_counted_and_other_records_are_passed_over() -> None:
    throttled = struct.pack("=IHHQQQ", 5, 0, 32, 1, 2, 3)
    assert records(lost(12) + throttled + IN_PROGRAM + lost(3)) == (records(IN_PROGRAM)[0], 15)


@pytest.mark.parametrize(
    "broken",
    [
        IN_KERNEL[:-1], IN_KERNEL[:10], b"\0" * 64, struct.pack("=IHH", 9, KERNEL, 4),
        sample(KERNEL, IP, IP, count=2), sample(KERNEL, IP, count=2**61),
    ],
)  # fmt: skip
def test_what_is_not_a_whole_record_ends_the_reading(broken: bytes) -> None:
    assert records(IN_PROGRAM + broken) == records(IN_PROGRAM)


@given(st.binary(max_size=400))
def test_any_bytes_are_read(data: bytes) -> None:
    found, dropped = records(data)
    assert len(found) <= len(data) // 32
    assert dropped >= 0


class _Memory(Ring):
    """A ring without an event, filled by hand."""

    def __init__(self, tail: int) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE + profile.PIECE)
        struct.pack_into("=QQ", self._memory, 1024, tail, tail)

    def add(self, data: bytes) -> None:
        (head,) = struct.unpack_from("=Q", self._memory, 1024)
        for at, byte in enumerate(data, head):
            self._memory[mmap.PAGESIZE + at % profile.PIECE] = byte
        struct.pack_into("=Q", self._memory, 1024, head + len(data))


@pytest.mark.parametrize("before", [0, 8, 16, 40, len(IN_KERNEL)])
def test_a_record_may_go_on_at_the_beginning_of_the_ring(before: int) -> None:
    ring = _Memory(3 * profile.PIECE - before)
    ring.add(IN_KERNEL + IN_PROGRAM)
    assert ring.take() == records(IN_KERNEL + IN_PROGRAM)
    assert ring.take() == ([], 0)
    ring.add(IN_PROGRAM)
    assert ring.take() == records(IN_PROGRAM)


def test_a_ring_that_is_full_to_the_last_byte_is_read_once() -> None:
    ring = _Memory(profile.PIECE - 8)
    many = profile.PIECE // len(IN_PROGRAM)
    ring.add(IN_PROGRAM * many)
    assert len(ring.take()[0]) == many == profile.PIECE / len(IN_PROGRAM)
    assert ring.take() == ([], 0)
