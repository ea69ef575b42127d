"""What a capture test asks of whatever captures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be captured, and where the process runs."""

    interface: str
    port: int
    v6: bool
    cpus: tuple[int, ...]
    ring: int = 0  # bytes of its ring; 0: as it likes
