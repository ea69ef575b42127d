"""Names of places in the code of the running kernel: /proc/kallsyms.

To list it takes 50 ms or more. The kernel's own functions stay where they are while it
runs: their names are read once and kept (2 MB), in the order of their addresses
(scripts/kallsyms.c, sort_symbols). Those of modules and of BPF programs come and go.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice, takewhile
from operator import itemgetter
from typing import Final, NamedTuple
from zlib import compress, decompress

_FILE: Final = "/proc/kallsyms"
_HIDDEN: Final = b"0" * 16  # kptr_restrict
_CODE: Final = b"tTwW"  # the types of functions
_BLOCK: Final = 256  # names packed together: 6 KB, of which a third is kept
_PIECE: Final = 1 << 16  # bytes
_MODULE: Final = b"\t["  # before its name; also of BPF programs


class Functions(NamedTuple):
    """Functions by address; their names in that order, packed, `_BLOCK` of them together."""

    begins: Sequence[int]
    names: Sequence[bytes]

    @classmethod
    def of(cls, lines: Iterable[bytes]) -> Functions:
        """Of lines `ADDRESS TYPE NAME [MODULE]` of 16 hex digits each, by address; none is kept.

        Of several names of one address it is the last one in the order of the lines.
        """
        begins, names = array("Q"), list[bytes]()
        every = iter(lines)
        while block := list(islice(every, _BLOCK)):
            begins.extend(int(line[:16], 16) for line in block)
            names.append(compress(b"".join(line[19:] for line in block), 1))
        return cls(begins, names)

    def begin(self, address: int) -> int:
        """Where the function that has the address begins; 0 before the first one."""
        at = bisect_right(self.begins, address)
        return self.begins[at - 1] if at else 0

    def name(self, address: int) -> str:
        """The function that has the address, without its module; empty before the first one.

        A copy that the compiler made of it, such as ip_rcv_core.isra.0, has its name.
        """
        at = bisect_right(self.begins, address) - 1
        if at < 0:
            return ""
        block, place = divmod(at, _BLOCK)
        words = _lines(self.names[block])[place].split()
        return words[0].decode().split(".", 1)[0]


@lru_cache(maxsize=1)
def _lines(packed: bytes) -> list[bytes]:
    return decompress(packed).splitlines()


class Symbols:
    """Names by address. The file is read again for new addresses outside the kernel's own code.

    Not for one between the begin of a function there and another one that was found in it.
    """

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._names: dict[int, str] = {}
        self._others = Functions.of(())
        self._furthest = dict[int, int]()  # the last address that was found, by begin

    @property
    def hidden(self) -> bool:
        """Whether the kernel hides all addresses (kernel.kptr_restrict)."""
        try:
            with open(_FILE, "rb") as file:
                return all(line.startswith(_HIDDEN) for line in file)
        except OSError:
            return True

    def name(self, address: int) -> str:
        """The function that has the address; empty where the kernel hides its addresses."""
        return self._names.get(address, "")

    def learn(self, addresses: Iterable[int]) -> None:
        """Find the names of the addresses that are not known yet."""
        new = set(addresses) - self._names.keys()
        if not new:
            return
        own = kernel()
        if not own.begins:  # hidden, which root may change
            kernel.cache_clear()
        inside = {one for one in new if own.begins and own.begins[0] <= one < own.begins[-1]}
        self._names |= {one: own.name(one) for one in sorted(inside)}
        left = sorted(new - inside)
        if any(one > self._furthest.get(self._others.begin(one), -1) for one in left):
            self._others = Functions.of(sorted(_code(_others()), key=itemgetter(slice(16))))
            found = {self._others.begin(one): one for one in left}
            self._furthest |= {
                one: max(last, self._furthest.get(one, 0)) for one, last in found.items()
            }
        self._names |= {one: self._others.name(one) for one in left}


@cache
def kernel() -> Functions:
    """The functions of the kernel itself; none where it hides its addresses."""
    try:
        with open(_FILE, "rb") as file:
            return Functions.of(_code(takewhile(lambda line: _MODULE not in line, file)))
    except OSError:
        return Functions.of(())


def _code(lines: Iterable[bytes]) -> Iterator[bytes]:
    for line in lines:
        if line[17:18] in _CODE and not line.startswith(_HIDDEN):
            yield line


def _others() -> list[bytes]:
    """The lines of modules and programs, which come after those of the kernel itself.

    Piece by piece: once the 10 MB of all lines were in memory, the allocator keeps as much.
    """
    whole = b""
    try:
        with open(_FILE, "rb") as file:
            while piece := file.read(_PIECE):
                whole = whole[-_PIECE:] + piece
                if (first := whole.find(_MODULE)) >= 0:
                    begin = whole.rfind(b"\n", 0, first) + 1
                    return (whole[begin:] + file.read()).splitlines(keepends=True)
    except OSError:
        pass
    return []
