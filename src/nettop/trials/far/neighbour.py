"""A memory-intensive load on a chosen core; its working set exceeds every cache."""

import os
from typing import Any, Dict

from nettop.trials.far.protocol import listen, pin, say, stopping

SIZE = 64 * 1024 * 1024


def main(options: Dict[str, Any]) -> None:
    """Copy memory on `cpus` until told to stop; yields to nobody, as such neighbours do."""
    listen()
    pin(options.get("cpus"))
    here = bytearray(SIZE)
    there = bytearray(SIZE)
    say(walking=os.getpid())
    step = SIZE // 16
    while not stopping.is_set():
        for start in range(0, SIZE, step):
            there[start : start + step] = here[start : start + step]
