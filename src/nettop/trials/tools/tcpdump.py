"""tcpdump: the same as `capture`, with tcpdump doing the capturing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from ..result import Measured
from ..run import Trial, TrialError
from . import capture

TOOL: Final = "tcpdump"
PACKAGE: Final = "tcpdump"
BUILT_IN: Final = False
HELP: Final = "packets captured and lost by tcpdump"
TIMEOUT: Final = 1.2  # seconds until it has been given the last, half-full block of its ring
_COUNT: Final = re.compile(r"(\d+) packets? (captured|dropped by kernel|dropped by interface)")


def measure(trial: Trial) -> Measured:
    """As `capture` does, with libpcap's ring."""
    return capture.sweep(trial, dump)


@contextmanager
def dump(trial: Trial, wish: capture.Wish) -> Iterator[Callable[[], Mapping[str, Any]]]:
    """Capturing into nothing."""
    argv = ["tcpdump", "-n", "-i", wish.interface, "-w", "/dev/null"]
    argv += ["-B", str(max(1, wish.ring >> 10))] if wish.ring else []
    argv += [f"udp and dst port {wish.port}"]
    with trial.keep(trial.here, argv, cpus=list(wish.cpus)) as near:
        near.wait_for("pid")
        for message in near.messages(10):
            if "listening on" in str(message.get("err", "")):
                break
            if "exit" in message:
                raise TrialError("tcpdump ended at once: it needs root")

        def counts() -> Mapping[str, Any]:
            trial.cancel.wait(TIMEOUT)
            near.stop()
            return parse("\n".join(trial.output(near, 20)[1:]))

        yield counts


def parse(said: str) -> dict[str, int]:
    """The summary's counts; TrialError without one."""
    found = {name: int(count) for count, name in _COUNT.findall(said)}
    if "captured" not in found:
        last = said.strip().splitlines()[-1:] or ["it said nothing"]
        raise TrialError(f"tcpdump: {last[0]}")
    lost = found.get("dropped by kernel", 0) + found.get("dropped by interface", 0)
    return {"packets": found["captured"], "dropped": lost}
