"""Receive rate, send rate and drops of an interface over the last minutes, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..facts.kinds.nic import Nic
from ..terms.text import Line, area, fit, line
from ..terms.units import per_second
from ..views.scene import Scene
from .grid import beside

_LABEL: Final = 13
_IDLE: Final = 0.01  # share of the link that the scale has at least: noise stays low
_UNKNOWN: Final = 100e6  # bit/s assumed for a link of unknown speed
_THREE: Final = 100  # columns from which the drops are beside the rates


def graphs(scene: Scene, nic: Nic, width: int, rows: int) -> list[Line]:
    """The graphs in `rows` lines of `width` cells; [] before there are two samples.

    Receive and send have the same scale, so that they can be compared.
    """
    moments = scene.past.fine
    if len(moments) < 2 or rows < 2 or width < 60:
        return []
    across = 3 if width >= _THREE else 2
    each = width // across
    room = each - _LABEL - 2
    samples = [m.ports.get(nic.name) for m in moments[-room:]]
    rates = [[getattr(p, name, None) for p in samples] for name in ("rx", "tx")]
    top = max((v for values in rates for v in values if v is not None), default=0.0)
    top = max(top, (nic.speed or _UNKNOWN) * _IDLE / 8)
    scale = f"top {scene.units.rate(top)}"
    columns = [
        _graph(("receive", scale, "good"), rates[0], top, (room, rows)),
        _graph(("send", scale, "accent"), rates[1], top, (room, rows)),
    ]
    if across == 3:
        lost = [getattr(p, "lost", None) for p in samples]
        most = max((v for v in lost if v is not None), default=None)
        columns.append(
            _graph(("lost", f"peak {per_second(most)}", "bad"), lost, most or 1.0, (room, rows))
        )
    return beside(columns, each, width)


def _graph(
    about: tuple[str, str, str],
    values: Sequence[float | None],
    top: float,
    size: tuple[int, int],
) -> list[Line]:
    """One graph of `size` columns and rows; `about` is its title, scale and role."""
    title, scale, role = about
    labels = [(scale, "dim"), (title, "head"), *[("", "")] * size[1]]
    return [
        line((fit(label, _LABEL, ">") + " ", kind), (text, role))
        for (label, kind), text in zip(labels, area(values, *size, top), strict=False)
    ]
