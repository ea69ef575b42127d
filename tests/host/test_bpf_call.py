"""The bytes of bpf(2) and of programs: without asking the kernel."""

import ctypes
import errno
import struct
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from nettop.host.bpf import assembler as a
from nettop.host.bpf import btf, call, counting, rings


def test_instructions_as_the_standard_writes_them() -> None:
    parts = (
        *a.number(a.R1, 5), *a.store(a.R10, -4, a.R6, 4), *a.put(a.R10, -8, -1), *a.load(6, 1, 16),
        *a.when(a.R6, "<", 511, "out"), *a.change(a.R6, "<<", 32), *a.add_to(a.R0, a.R1),
        *a.map_of(a.R1, "counts"), *a.call(a.LOOKUP), "out", *a.end(),
    )  # fmt: skip
    assert a.assemble(parts, counts=7) == b"".join(
        (
            b"\xb7\x01\0\0\x05\0\0\0",  # r1 = 5
            b"\x63\x6a\xfc\xff\0\0\0\0",  # *(u32 *)(r10 - 4) = r6
            b"\x7a\x0a\xf8\xff\xff\xff\xff\xff",  # *(u64 *)(r10 - 8) = -1
            b"\x79\x16\x10\0\0\0\0\0",  # r6 = *(u64 *)(r1 + 16)
            b"\xa5\x06\x05\0\xff\x01\0\0",  # if r6 < 511 goto +5
            b"\x67\x06\0\0\x20\0\0\0",  # r6 <<= 32
            b"\xdb\x10\0\0\0\0\0\0",  # lock *(u64 *)r0 += r1
            b"\x18\x11\0\0\x07\0\0\0" + bytes(8),  # r1 = map 7
            b"\x85\0\0\0\x01\0\0\0",  # call 1
            b"\xb7\0\0\0\0\0\0\0" + b"\x95" + bytes(7),  # r0 = 0; exit
        )
    )


def test_a_table_that_may_not_lock_memory_is_tried_again_with_a_higher_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[int, bytes]] = []
    raised: list[tuple[int, int]] = []

    def answer(command: int, values: bytes) -> int:
        asked.append((command, values))
        if len(asked) == 1:
            raise PermissionError(errno.EPERM, "needs root")
        return 41

    monkeypatch.setattr(call, "_call", answer)
    monkeypatch.setattr("resource.setrlimit", lambda _what, limits: raised.append(limits))
    assert call.table(24, 100, "a-name-of-more-than-fifteen") == 41
    assert raised == [(-1, -1)]
    assert asked[0] == asked[1]
    command, values = asked[0]
    assert command == 0  # BPF_MAP_CREATE
    assert struct.unpack("=7I16s", values) == (
        1, 24, 8, 100, 0, 0, 0, b"a-name-of-more-\0",  # BPF_MAP_TYPE_HASH
    )  # fmt: skip


def test_a_program_is_given_with_its_length_licence_and_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[object] = []

    def answer(command: int, values: bytes) -> int:
        kind, count, code, licence, level, room, log, version, flags, name, *typed = struct.unpack(
            "=IIQQIIQII16sII36xI", values
        )
        if not level:  # first without a log
            assert (room, log) == (0, 0)
            raise OSError(errno.EINVAL, "Invalid argument")
        seen.extend((command, kind, count, level, room, version, flags, name.rstrip(b"\0")))
        seen.append(typed)
        seen.extend((ctypes.string_at(code, 8 * count), ctypes.string_at(licence)))
        told = b"first\nR1 is not a pointer\nprocessed 2 insns\n\0"
        ctypes.memmove(log, told, len(told))
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(call, "_call", answer)
    code = a.assemble(a.end())
    with pytest.raises(OSError, match="refuses the program: R1 is not a pointer") as error:
        call.program(code, "one")
    assert error.value.errno == errno.EINVAL
    # BPF_PROG_LOAD, BPF_PROG_TYPE_RAW_TRACEPOINT
    assert seen == [5, 17, 2, 1, 1 << 16, 0, 0, b"one", [0, 0, 0], code, b"Dual MIT/GPL"]
    seen.clear()
    with pytest.raises(OSError, match="refuses the program"):
        call.program(code, "one", 4711)
    assert seen[1] == 26  # BPF_PROG_TYPE_TRACING
    assert seen[8] == [0, 23, 4711]  # BPF_TRACE_RAW_TP


def test_a_kernel_without_the_helper_reads_with_the_older_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[bytes] = []

    def answer(_command: int, values: bytes) -> int:
        _, count, code, _, _, _, log = struct.unpack_from("=IIQQIIQ", values)
        loaded.append(ctypes.string_at(code, 8 * count))
        if a.READ in loaded[-1][4::8]:
            told = f"first\ninvalid func unknown#{a.READ}\n\0".encode()
            if log:
                ctypes.memmove(log, told, len(told))
            raise OSError(errno.EINVAL, "Invalid argument")
        return 9

    monkeypatch.setattr(call, "_call", answer)
    parts = (*a.call(a.READ), *a.call(a.LOOKUP), *a.end())
    assert call.program(a.assemble(parts), "one") == 9
    old = (*a.call(a.READ_ANY), *a.call(a.LOOKUP), *a.end())
    assert loaded == [a.assemble(parts), a.assemble(parts), a.assemble(old)]


def test_a_table_is_read_key_by_key_where_the_kernel_knows_no_other_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = {b"one-key.": 3, b"gone-key": None, b"two-key.": 5}

    def answer(command: int, block: ctypes.Array[ctypes.c_char]) -> int:
        if command == 24:  # BPF_MAP_LOOKUP_BATCH
            raise OSError(errno.EINVAL, "Invalid argument")
        handle, key, to, _ = struct.unpack_from("=IxxxxQQQ", block.raw)
        assert handle == 7
        keys = list(held)
        if command == 4:  # BPF_MAP_GET_NEXT_KEY
            at = keys.index(ctypes.string_at(key, 8)) + 1 if key else 0
            if at == len(keys):
                raise FileNotFoundError(errno.ENOENT, "no more")
            ctypes.memmove(to, keys[at], 8)
        elif (value := held[ctypes.string_at(key, 8)]) is None:
            raise FileNotFoundError(errno.ENOENT, "no such key")
        else:
            ctypes.memmove(to, struct.pack("=Q", value), 8)
        return 0

    monkeypatch.setattr(call, "_ask", answer)
    assert call.contents(7, 8, 100) == {b"one-key.": 3, b"two-key.": 5}


def test_without_the_right_the_log_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_command: int, _values: bytes) -> int:
        raise OSError(errno.EPERM, "needs root")

    monkeypatch.setattr(call, "_call", refuse)
    with pytest.raises(PermissionError, match="needs root"):
        call.program(a.assemble(a.end()), "one")


def test_a_program_is_attached_to_a_tracepoint_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []

    def answer(command: int, values: bytes) -> int:
        name, handle = struct.unpack("=QI", values)
        seen.extend((command, ctypes.string_at(name), handle))
        return 9

    monkeypatch.setattr(call, "_call", answer)
    assert call.attach(7, "kfree_skb") == 9
    assert seen == [17, b"kfree_skb", 7]  # BPF_RAW_TRACEPOINT_OPEN


def test_a_program_is_run_once_with_an_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(command: int, block: ctypes.Array[ctypes.c_char]) -> int:
        handle, size, place = struct.unpack_from("=I36xI4xQ", block.raw)
        assert (command, handle, size) == (10, 5, 8)  # BPF_PROG_TEST_RUN
        assert ctypes.c_uint64.from_address(place).value == 77
        struct.pack_into("=I", block, 4, 2**32 - 1)
        return 0

    monkeypatch.setattr(call, "_ask", answer)
    assert call.run(5, 77) == 2**32 - 1


def test_a_kernel_that_does_not_describe_packet_sockets_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counting, "types", lambda: b"")
    monkeypatch.setattr(btf, "Types", lambda _: SimpleNamespace(offset=missing))
    with pytest.raises(OSError, match="does not describe packet sockets"):
        rings.Rings(1)


def missing(*name: str) -> int:
    raise KeyError(name)


def test_a_load_that_signals_cut_off_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    for cut, good in ((0, True), (4, True), (99, False)):
        loads = iter(range(1000))

        def answer(_: int, values: bytes, cut: int = cut, loads: Iterator[int] = loads) -> int:
            if next(loads) < cut:
                raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
            return 7

        monkeypatch.setattr(call, "_call", answer)
        if good:
            assert call.program(bytes(8), "n") == 7
        else:
            with pytest.raises(OSError, match="Resource temporarily unavailable"):
                call.program(bytes(8), "n")
