"""Programs of BPF as readable Python: instructions with named registers, and labels to jump to.

Documentation/bpf/standardization/instruction-set.rst. A program is a sequence of instructions and
labels, `assemble` turns it into bytes. R0 has the result of a call, which overwrites R1 to R5; R6
to R9 keep their values, and R10 points to the end of the stack, 512 bytes.
"""

import struct
import sys
from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 = range(11)

# helpers (include/uapi/linux/bpf.h)
LOOKUP: Final = 1  # R1 map, R2 key: the address of the value, or 0
UPDATE: Final = 2  # R1 map, R2 key, R3 value, R4 flags
DELETE: Final = 3  # R1 map, R2 key
CLOCK: Final = 5  # nanoseconds of the monotonic clock
CPU: Final = 8  # the number of this CPU
PID: Final = 14  # process and thread of the running task
PID_INSIDE: Final = 120  # R1, R2 device and number of a PID namespace, R3 where to, R4 bytes
COMM: Final = 16  # R1 where to, R2 bytes
TASK: Final = 35  # the address of the running task
READ_USER: Final = 112  # R1 where to, R2 bytes, R3 address
READ: Final = 113  # the same of the kernel's memory
READ_ANY: Final = 4  # bpf_probe_read: either, where the kernel has no other

CALL: Final = 0x85  # the code of an instruction that calls a helper
_EXIT: Final = 0x95
_SIZES: Final = {1: 0x10, 2: 0x08, 4: 0x00, 8: 0x18}
_JUMPS: Final = {"==": 0x10, "!=": 0x50, ">": 0x20, ">=": 0x30, "<": 0xA0, "<=": 0xB0, "&": 0x40}
_SUMS: Final = {"+": 0x00, "*": 0x20, "|": 0x40, "&": 0x50, "<<": 0x60, ">>": 0x70}
_LITTLE: Final = sys.byteorder == "little"


class Instruction(NamedTuple):
    """One instruction: a jump has a label in place of its offset, and a map its name as value."""

    code: int
    to: int = 0
    of: int = 0
    offset: int | str = 0
    value: int | str = 0


Part: TypeAlias = Instruction | str  # a text is a label
Parts: TypeAlias = tuple[Part, ...]


def load(to: int, base: int, offset: int = 0, size: int = 8) -> Parts:
    """`to` = the unsigned number of `size` bytes at `base` + `offset`."""
    return (Instruction(0x61 | _SIZES[size], to, base, offset),)


def store(base: int, offset: int, of: int, size: int = 8) -> Parts:
    """Write the register `of` to `base` + `offset`."""
    return (Instruction(0x63 | _SIZES[size], base, of, offset),)


def put(base: int, offset: int, value: int, size: int = 8) -> Parts:
    """Write a number to `base` + `offset`."""
    return (Instruction(0x62 | _SIZES[size], base, 0, offset, value),)


def add_to(base: int, of: int) -> Parts:
    """Add the register `of` to the 8 bytes at `base`, atomically."""
    return (Instruction(0xDB, base, of),)


def move(to: int, of: int) -> Parts:
    """`to` = `of`."""
    return (Instruction(0xBF, to, of),)


def number(to: int, value: int) -> Parts:
    """`to` = a number of 32 bits with its sign."""
    return (Instruction(0xB7, to, value=value),)


def wide(to: int, value: int) -> Parts:
    """`to` = a number of 64 bits; two instructions wide."""
    low, high = struct.unpack("=ii", struct.pack("=II", value & 0xFFFFFFFF, value >> 32))
    return (Instruction(0x18, to, value=low), Instruction(0, value=high))


def change(to: int, sign: str, value: int) -> Parts:
    """`to` = `to` sign number, with one of + * | & << >>."""
    return (Instruction(0x07 | _SUMS[sign], to, value=value),)


def add(to: int, of: int) -> Parts:
    """`to` = `to` + `of`."""
    return (Instruction(0x0F, to, of),)


def low_half(to: int) -> Parts:
    """Clear the upper 32 bits: they are not part of an int of C."""
    return (*change(to, "<<", 32), *change(to, ">>", 32))


def signed_half(to: int) -> Parts:
    """Spread the sign of the lower 32 bits, an int of C, over all 64."""
    return (*change(to, "<<", 32), Instruction(0xC7, to, value=32))


def negate(to: int) -> Parts:
    """`to` = -`to`."""
    return (Instruction(0x87, to),)


def swapped(to: int) -> Parts:
    """`to`, two bytes in the order of the network, in that of the machine."""
    return (Instruction(0xDC, to, value=16),)


def when(register: int, sign: str, value: int, label: str) -> Parts:
    """Go to the label if register sign number, with one of == != > >= < <= (unsigned) and &."""
    return (Instruction(0x05 | _JUMPS[sign], register, 0, label, value),)


def same(register: int, of: int, label: str) -> Parts:
    """Go to the label if both registers are equal."""
    return (Instruction(0x1D, register, of, label),)


def go(label: str) -> Parts:
    """Go to the label."""
    return (Instruction(0x05, 0, 0, label),)


def call(helper: int) -> Parts:
    """R0 = the result of a helper."""
    return (Instruction(CALL, value=helper),)


def map_of(to: int, name: str) -> Parts:
    """`to` = the map of that name; two instructions wide."""
    return (Instruction(0x18, to, 1, value=name), Instruction(0))


def stack(to: int, offset: int) -> Parts:
    """`to` = the address of the stack's end + `offset`, which is negative."""
    return (*move(to, R10), *change(to, "+", offset))


def end() -> Parts:
    """Return 0."""
    return (*number(R0, 0), Instruction(_EXIT))


def result(of: int) -> Parts:
    """Return the lower 32 bits of the register `of`."""
    return (*move(R0, of), Instruction(_EXIT))


def assemble(parts: Iterable[Part], **maps: int) -> bytes:
    """The bytes of the program with these maps, file descriptors; KeyError for another name."""
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    for part in parts:
        if isinstance(part, str):
            labels[part] = len(instructions)
        else:
            instructions.append(part)
    return b"".join(
        _bytes(
            one,
            labels[one.offset] - at - 1 if isinstance(one.offset, str) else one.offset,
            maps[one.value] if isinstance(one.value, str) else one.value,
        )
        for at, one in enumerate(instructions)
    )


def _bytes(one: Instruction, offset: int, value: int) -> bytes:
    registers = one.to | one.of << 4 if _LITTLE else one.to << 4 | one.of
    return struct.pack("=BBhi", one.code, registers, offset, value)
