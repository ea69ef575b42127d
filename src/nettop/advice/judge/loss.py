"""Whether evidence is a measured loss or saturation, which ranks above a setting alone."""

from __future__ import annotations

from typing import Final

from ..language.values import Value

_LOSSES: Final = (
    "drops", "dropped", "missed", "errors", "fails", "discards", "timeouts", "overflows", "lost",
    "retransmits", "retrans", "allowance", "drops_per_s", "pruned", "prune_called", "limited",
    "pause_rx", "pause_tx",  # the buffers of a receiver were full
)  # fmt: skip
_BUSY: Final = {"softirq": 80.0, "core_si": 80.0, "core_load": 90.0, "ksoftirqd": 30.0}
_IDLE: Final = 5.0


def measured(field: str, value: Value | None) -> bool:
    """Whether a field is a loss above zero, a core at its limit (%), or a limit that was hit."""
    name = field.rpartition(".")[2]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if name == "idle":
        return value < _IDLE
    if name in _BUSY:
        return value > _BUSY[name]
    return value > 0 and any(word in name for word in _LOSSES) and ".total." not in field
