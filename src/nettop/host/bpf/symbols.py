"""Names of places in the kernel's code, from /proc/kallsyms."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

_FILE: Final = "/proc/kallsyms"
_HIDDEN: Final = b"0" * 16  # kptr_restrict


class Symbols:
    """Names by address. The file is read for addresses that are new, or once if it is kept."""

    def __init__(self, *, keep: bool = False) -> None:
        """`keep`: what was read stays in memory (10 MB); else nothing was read yet."""
        self._names: dict[int, str] = {}
        self._kept = ordered(_read()) if keep else None

    @property
    def hidden(self) -> bool:
        """Whether the kernel hid all addresses in what is kept (kernel.kptr_restrict)."""
        return not self._kept

    def name(self, address: int) -> str:
        """The function that has the address; empty where the kernel hides its addresses."""
        return self._names.get(address, "")

    def learn(self, addresses: Iterable[int]) -> None:
        """Read the names of the addresses that are not known yet."""
        if new := set(addresses) - self._names.keys():
            known = self._kept if self._kept is not None else ordered(_read())
            self._names |= names(new, known)


def ordered(lines: Iterable[bytes]) -> list[bytes]:
    """The lines `ADDRESS TYPE NAME [MODULE]` of 16 hex digits each, by address."""
    return sorted(line for line in lines if not line.startswith(_HIDDEN))


def names(addresses: Iterable[int], lines: Sequence[bytes]) -> dict[int, str]:
    """The function of each address, by the `ordered` lines.

    A copy that the compiler made of it, such as ip_rcv_core.isra.0, has its name.
    """
    places = {one: bisect_right(lines, b"%016x~" % one) - 1 for one in addresses}
    return {one: _function(lines[at]) if at >= 0 else "" for one, at in places.items()}


def _function(line: bytes) -> str:
    return line.split()[2].decode().split(".", 1)[0]


def _read() -> list[bytes]:
    try:
        with open(_FILE, "rb") as file:
            return file.readlines()
    except OSError:
        return []
