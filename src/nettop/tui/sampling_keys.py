"""The key that records to a file."""

from __future__ import annotations

import os
import time

from .working import Engine


def record(engine: Engine, running: str) -> tuple[str, str]:
    """Begin a recording in the current directory, or end the running one; a note and its role."""
    if running:
        engine.record("")
        return "the recording is being written", "dim"
    path = os.path.abspath(time.strftime("nettop-%Y%m%d-%H%M%S.host.gz", time.gmtime()))
    engine.record(path)
    return f"recording to {path}; r ends it", "good"
