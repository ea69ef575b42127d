"""Names of places in the kernel's code, from /proc/kallsyms."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

_FILE: Final = "/proc/kallsyms"
_HIDDEN: Final = b"0" * 16  # kptr_restrict


class Symbols:
    """Names by address. The file is read for addresses that are new."""

    def __init__(self) -> None:
        """Nothing was read yet."""
        self._names: dict[int, str] = {}

    def name(self, address: int) -> str:
        """The function that has the address; empty where the kernel hides its addresses."""
        return self._names.get(address, "")

    def learn(self, addresses: Iterable[int]) -> None:
        """Read the names of the addresses that are not known yet."""
        if new := set(addresses) - self._names.keys():
            self._names |= names(sorted(new), _read())


def names(addresses: Iterable[int], lines: Iterable[bytes]) -> dict[int, str]:
    """The function of each address, by lines `ADDRESS TYPE NAME [MODULE]` of 16 hex digits each."""
    found = sorted(line for line in lines if not line.startswith(_HIDDEN))
    places = {one: bisect_right(found, b"%016x~" % one) - 1 for one in addresses}
    return {one: found[at].split()[2].decode() if at >= 0 else "" for one, at in places.items()}


def _read() -> list[bytes]:
    try:
        with open(_FILE, "rb") as file:
            return file.readlines()
    except OSError:
        return []
