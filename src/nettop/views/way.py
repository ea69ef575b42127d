"""Ask a host for the way of a flow: the kernel's answers, then the walk over its tables."""

from __future__ import annotations

from typing import Final

from ..facts.way import Flow, Way, questions, walk
from ..frame.rates import Frame
from ..host.source import Source
from ..sampling.sampler import Sampler
from ..terms.errors import Refused

TABLES: Final = (
    "addresses", "links", "processes", "qdiscs", "socket_owners", "sockets_tcp", "sockets_udp",
    "sysctls",
)  # fmt: skip
MOST: Final = 6  # rounds: an answer may lead to one more question


def look(source: Source, flow: Flow) -> tuple[Frame, Way]:
    """The tables and the way of a flow. Refused (3) if the interfaces are not known."""
    while source.ends and source.wait(1.0):  # a recording is judged at its end
        pass
    sampler = Sampler(source)
    frame = Frame(source.now(), source.wall(), {})
    for _ in range(MOST):
        asked = questions(flow, frame)
        if asked == sampler.questions:
            break
        sampler.ask(asked)
        frame = sampler.take(TABLES)
    if not frame.rows("links"):
        why = frame.missing.get("links", "there are none")
        raise Refused(f"not enough was seen: links: {why}", 3)
    return frame, walk(flow, frame)
