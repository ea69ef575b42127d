"""A capturing program of others: started, waited for until it captures, ended, its summary read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..run import Trial, TrialError

if TYPE_CHECKING:
    from ._wish import Wish

Counts = Callable[[], Mapping[str, Any]]
Summary = Callable[[str], Mapping[str, Any]]


@contextmanager
def capturing(
    trial: Trial, wish: Wish, argv: Sequence[str], ready: str, parse: Summary, linger: float = 0.0
) -> Iterator[Counts]:
    """It captures once it says `ready`; what is yielded ends it, after `linger` s, and counts."""
    words = [*argv, f"udp and dst port {wish.port}"]
    with trial.keep(trial.here, words, cpus=list(wish.cpus)) as near:
        near.wait_for("pid")
        for message in near.messages(10):
            if ready in str(message.get("out", message.get("err", ""))):
                break
            if "exit" in message:
                raise TrialError(f"{argv[0]} ended at once: it needs root")

        def counts() -> Mapping[str, Any]:
            if linger:
                trial.cancel.wait(linger)
            near.stop()
            return parse("\n".join(trial.output(near, 20)[1:]))

        yield counts


def summary(said: str, program: str, counted: re.Pattern[str], needed: str) -> dict[str, int]:
    """The counts by name (`counted` finds number and name); TrialError without the needed one."""
    found = {name: int(count) for count, name in counted.findall(said)}
    if needed not in found:
        last = said.strip().splitlines()[-1:] or ["it said nothing"]
        raise TrialError(f"{program}: {last[0]}")
    return found
