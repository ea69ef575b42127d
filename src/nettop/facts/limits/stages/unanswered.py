"""Segments of a TCP flow that are sent again and again, and of which none is acknowledged.

What loses them may be this host, the way or the other end; so may what loses the answers. A way
that was walked (`facts.way`), or a drop that the kernel counted, tells that it is this host.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .. import Reading
from ..following import BINDS
from ..looks import Look, loses
from ..stage import Stage
from ..window import share

STAGES: Final = (
    Stage("unanswered", "segments without an answer", "no segment is acknowledged", "LOSS",
          "see `nettop why --to ADDRESS:PORT`", precedence=155, sending=155,
          beyond=True, short="no answer"),
)  # fmt: skip


def readings(look: Look) -> Iterator[Reading]:
    """That of a flow that sends, and has repeated a segment whose timer ended twice or more."""
    if look.over != "flow" or not look.sends or not look.tcp or look.rate:
        return
    held = share(bool((entry.now.backoff or 0) and entry.now.lost) for entry in look.tcp)
    if held:
        own = loses(look)
        why = "no segment is acknowledged: "
        why += own or "lost at this host, on the way or at the other end, or the answers are"
        end = "here" if own else "there"
        yield Reading("unanswered", end, "segments that are repeated", "measured", why,
                      held=max(held, BINDS) if own else held)  # fmt: skip
