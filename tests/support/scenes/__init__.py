"""Synthetic scenes: hosts in various states, for tests of panes and for screenshots."""

from .big import big
from .found import FAR, FEATURES, PAUSE, RING, SACK, SILENT, STEPS, WALL, Cited, Found, Seen, core
from .lossy import lossy, several
from .others import bare, healthy, hostile
from .storied import lately, storied

SCENES = {
    "lossy": lossy,
    "storied": storied,
    "big": big,
    "healthy": healthy,
    "bare": bare,
    "hostile": hostile,
}

__all__ = [
    "FAR",
    "FEATURES",
    "PAUSE",
    "RING",
    "SACK",
    "SCENES",
    "SILENT",
    "STEPS",
    "WALL",
    "Cited",
    "Found",
    "Seen",
    "bare",
    "big",
    "core",
    "healthy",
    "hostile",
    "lately",
    "lossy",
    "several",
    "storied",
]
