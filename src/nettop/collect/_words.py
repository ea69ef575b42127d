"""What the reasons of drops and the errors of calls mean: two tables in the rules folder."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from .. import config

UNKNOWN: Final = "unknown"
NORMAL: Final = "normal"
RETURNED: Final = "returned"  # a datagram that a socket gave back: a fault if all are


class Words(NamedTuple):
    """What a reason or an error means."""

    means: str  # a title
    kind: str  # loss, fault, refused, aborted, turned away, returned, normal or unknown
    cause: str = ""  # what decides it
    advice: str = ""
    rests: str = ""  # the source that says so
    rule: str = ""  # the rule that explains it

    @property
    def normal(self) -> bool:
        """Whether it is no fault by itself on a sound host."""
        return self.kind in (NORMAL, RETURNED)


def entries(file: str, name: str) -> Iterator[tuple[Mapping[str, Any], Words]]:
    """Each `[[name]]` of a table, and its words."""
    text = (config.rules_folder() / file).read_text("utf-8")
    for one in tomllib.loads(text)[name]:
        yield one, Words(*(one.get(field, "") for field in Words._fields))
