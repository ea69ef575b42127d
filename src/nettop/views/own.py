"""What nettop's own tests do is no fault of the host: they want all that there is."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from ..facts import Facts

if TYPE_CHECKING:
    from ..advice.rules.rule import Finding

_NUMBER: Final = re.compile(r"(?:^|\[)(\d+)(?:\]|/|$)")  # 352, iperf3[352], tar[352]/read


def without(findings: Sequence[Finding], facts: Facts, own: Collection[int]) -> tuple[Finding, ...]:
    """The findings without those about these processes, their threads and their flows."""
    if not own:
        return tuple(findings)
    flows = {flow.id for flow in facts.flows if flow.pid in own}
    return tuple(one for one in findings if not _about(one.target, flows, own))


def _about(target: str, flows: Collection[str], own: Collection[int]) -> bool:
    known = _NUMBER.search(target)
    return target in flows or (known is not None and int(known[1]) in own)
