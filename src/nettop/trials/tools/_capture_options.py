"""The options that the capture test passes to a capturing program."""

from __future__ import annotations

from ...terms.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CaptureOptions:
    """The traffic to capture and the cores of the capturing process."""

    interface: str
    port: int
    v6: bool
    cpus: tuple[int, ...]
    ring: int = 0  # ring size in bytes; 0: the program's default
