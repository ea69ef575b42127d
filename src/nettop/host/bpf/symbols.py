"""Names of places in the kernel's code, from /proc/kallsyms.

To list the file and to sort it takes 50 ms. The kernel's own functions stay where they are while it
runs, so those that were found once are not looked up again; those of modules and of BPF programs
come and go.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

_FILE: Final = "/proc/kallsyms"
_HIDDEN: Final = b"0" * 16  # kptr_restrict


class Function(NamedTuple):
    """A function and the addresses that it has, without `end`."""

    begin: int
    end: int
    name: str
    stays: bool  # while the kernel runs


_FOUND: Final[list[Function]] = []  # those that stay, by address


class Symbols:
    """Names by address. The file is read for addresses in new functions, or once if it is kept."""

    def __init__(self, *, keep: bool = False) -> None:
        """`keep`: what is read stays in memory (10 MB)."""
        self._names: dict[int, str] = {}
        self._keep = keep
        self._kept: list[bytes] | None = None

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
        found = {one: function for one in new if (function := _known(one))}
        if left := new - found.keys():
            lines = self._kept if self._kept is not None else ordered(_read())
            self._kept = lines if self._keep else None
            found |= functions(left, lines)
            for one in {*found.values()}.difference(_FOUND):
                if one.stays:
                    insort(_FOUND, one)
        self._names |= {one: function.name for one, function in found.items()}


def ordered(lines: Iterable[bytes]) -> list[bytes]:
    """The lines `ADDRESS TYPE NAME [MODULE]` of 16 hex digits each, by address."""
    return sorted(line for line in lines if not line.startswith(_HIDDEN))


def functions(addresses: Iterable[int], lines: Sequence[bytes]) -> dict[int, Function]:
    """The function of each address, by the `ordered` lines; one without a name before the first.

    A copy that the compiler made of it, such as ip_rcv_core.isra.0, has its name.
    """
    places = {one: bisect_right(lines, b"%016x~" % one) for one in addresses}
    return {one: _function(lines[max(0, at - 1) : at + 1], at > 0) for one, at in places.items()}


def _function(lines: Sequence[bytes], known: bool) -> Function:
    """The function of the first of these lines, which ends where the second begins."""
    if not known:
        return Function(0, 0, "", stays=False)
    begin, end = int(lines[0][:16], 16), int(lines[-1][:16], 16)
    stays = begin < end and not any(b"\t[" in line for line in lines)
    return Function(begin, end, lines[0].split()[2].decode().split(".", 1)[0], stays)


def _known(address: int) -> Function | None:
    """The function that stays and has the address, if it was found before."""
    at = bisect_right(_FOUND, address, key=lambda one: one.begin) - 1
    return _FOUND[at] if at >= 0 and address < _FOUND[at].end else None


def _read() -> list[bytes]:
    try:
        with open(_FILE, "rb") as file:
            return file.readlines()
    except OSError:
        return []
