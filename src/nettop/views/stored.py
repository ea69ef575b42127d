"""The options in effect beside those that config.toml has."""

from __future__ import annotations

from ..config.edit import Value
from .scene import Scene
from .view import View


def document(view: View) -> dict[str, Value]:
    """The options in effect as keys and values of config.toml."""
    now = view.options
    out: dict[str, Value] = {
        "theme": now.theme, "units": "bits" if now.units.bits else "bytes",
        "prefix": "iec" if now.units.iec else "si", "interval": now.interval,
        "mouse": now.mouse, "bell": now.bell, "ascii": now.ascii,
    }  # fmt: skip
    return out | {f"columns.{name}": tuple(columns) for name, columns in view.columns.items()}


def changed(scene: Scene, view: View) -> dict[str, Value]:
    """The options that differ from those at the start, or from those written since."""
    stored = scene.stored
    return {key: now for key, now in document(view).items() if stored and stored.get(key) != now}
