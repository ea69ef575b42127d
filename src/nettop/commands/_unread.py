"""What `advise` could not read of a host, and what is therefore unknown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..facts import Facts
    from ..views.observer import Observation


def unread(last: Observation) -> Iterator[str]:
    """A line for each reason for which tables could not be read, and what is therefore unknown."""
    from ..facts import elsewhere
    from ..views import enough

    reasons: dict[str, list[str]] = {}
    for name, why in enough.unread(last.frame).items():
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        yield f"not read: {', '.join(names)}: {why}"
    yield from _seldom(last)
    yield from _links_only(last.facts)
    yield from elsewhere.limited(last.frame, last.facts)


def _seldom(last: Observation) -> Iterator[str]:
    """A line for each table that is too slow for every sample; its last reading was the last one.

    Meanwhile facts and findings were of readings up to that old.
    """
    for name, wait in sorted(last.stretched.items()):
        took = last.frame.cost.get(name)
        if took is not None:
            yield f"{name}: read every {wait:g} s and at the end only; a reading took {took:.1f} s"


def link_only(facts: Facts) -> list[str]:
    """The interfaces with a link whose drops are not known by kind."""
    return [nic.name for nic in facts.nics if nic.link_only and nic.carrier]


def _links_only(facts: Facts) -> list[str]:
    """A line for each of them."""
    from ..facts.kinds.path import LINK_ONLY

    return [f"{name}: {LINK_ONLY}" for name in link_only(facts)]
