"""Whether evidence is a loss or a saturation that happened here, which outranks a mere mismatch."""

from __future__ import annotations

from typing import Any, Final

_LOSSES: Final = (
    "drops", "dropped", "missed", "errors", "fails", "discards", "timeouts", "overflows", "lost",
    "retransmits", "retrans", "allowance", "drops_per_s", "pruned", "prune_called", "limited",
)  # fmt: skip
_BUSY: Final = {"softirq": 80.0, "core_si": 80.0, "core_load": 90.0, "ksoftirqd": 30.0}
_IDLE: Final = 5.0


def seen(field: str, value: Any) -> bool:
    """True for a loss above zero, a core that is full, a limit that was hit."""
    name = field.rpartition(".")[2]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if name == "idle":
        return value < _IDLE
    if name in _BUSY:
        return value > _BUSY[name]
    return value > 0 and any(word in name for word in _LOSSES) and ".total." not in field
