"""Receive and send of an interface over the last minutes, side by side and to one scale."""

from __future__ import annotations

from typing import Any, Final

from ..text import Line, area, fit, line
from .grid import beside
from .scene import Scene

_LABEL: Final = 12
_IDLE: Final = 0.01  # share of the link below which a graph stays low, however its noise moves
_UNKNOWN: Final = 100e6  # bit/s taken for a link that does not tell its speed


def pair(scene: Scene, nic: Any, width: int, rows: int) -> list[Line]:
    """The two graphs in `rows` lines of `width` cells; nothing before there is a past."""
    moments = scene.past.fine
    if len(moments) < 2 or rows < 2 or width < 60:
        return []
    each = width // 2
    room = each - _LABEL - 2
    seen = [m.ports.get(nic.name) for m in moments[-room:]]
    rates = [[getattr(p, name, None) for p in seen] for name in ("rx", "tx")]
    known = [v for values in rates for v in values if v is not None]
    top = max(known, default=0.0)
    top = max(top, (nic.speed or _UNKNOWN) * _IDLE / 8)
    columns = []
    for title, role, values in zip(("receive", "send"), ("good", "accent"), rates, strict=True):
        labels = [scene.units.rate(top), title] + [""] * rows
        drawn = area(values, room, rows, top)
        columns.append(
            [
                line((fit(label, _LABEL, ">") + " ", "dim" if n != 1 else "head"), (text, role))
                for n, (label, text) in enumerate(zip(labels, drawn, strict=False))
            ]
        )
    return beside(columns, each, width)
