"""A memory-intensive load on a chosen core; its working set exceeds every cache."""

import os
from typing import TYPE_CHECKING

from nettop.trials.far.protocol import pin, send, stopping, watch_input

if TYPE_CHECKING:
    from nettop.trials.far.schema import HelperOptions

SIZE = 64 * 1024 * 1024


def main(options: "HelperOptions") -> None:
    """Copy memory on `cpus` until told to stop, at full priority."""
    watch_input()
    pin(options.get("cpus"))
    source = bytearray(SIZE)
    target = bytearray(SIZE)
    send(walking=os.getpid())
    step = SIZE // 16
    while not stopping.is_set():
        for start in range(0, SIZE, step):
            target[start : start + step] = source[start : start + step]
