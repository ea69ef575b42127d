"""What must be true of the verdicts on one moment of a host, and of what draws them."""

import re
from collections.abc import Iterator
from math import isclose

from told_rates import SKEWED, above

from nettop.facts import Facts
from nettop.facts.flow_words import name
from nettop.facts.limits import Limit, words
from nettop.facts.limits.means import over
from nettop.facts.limits.stages import short
from nettop.panes import flowpage, limit
from nettop.terms.text import text_of
from nettop.terms.units import Units, share
from nettop.views.stages import bars

WIDE = 400  # columns: nothing is cut
LONG = 6.5  # seconds of a window from which its first sample, which may be slow, matters little
_SHARE = re.compile(r"(?:full|flight|sent in) (\S+) of the time")
FULL = 0.95  # utilisation of a stage that stands full


def broken(facts: Facts) -> Iterator[str]:
    """A sentence for each statement that does not hold."""
    yield from _rates(facts, over(facts))
    flows = {(one.target, one.namespace): one for one in facts.limits if one.over == "flow"}
    for one in facts.limits:
        about = f"{one.over} {one.target} {one.direction} {one.stage.stage}"
        yield from (f"{about}: {fault}" for fault in _of_limit(one))
        yield from (f"{about}: {fault}" for fault in _drawn(facts, one))
        if one.flow is not None and (one.flow, one.namespace) in flows:
            followed = flows[one.flow, one.namespace]
            if _called(followed) != _called(one):
                yield f"{about}: its flow is {words.limited(followed)}"
    for flow in facts.flows:
        known = flows.get((name(flow), flow.namespace))
        if known is not None and (flow.limit, flow.limit_why) != (
            known.stage.stage, known.stage.because,
        ):  # fmt: skip
            yield f"flow {name(flow)}: its row says {flow.limit}, its limit {known.stage.stage}"


def carried(facts: Facts) -> Iterator[str]:
    """The interfaces beside which flows are drawn that carry more payload than their wire."""
    if facts.means.seconds >= LONG:
        yield from above(over(facts), SKEWED)


def _rates(facts: Facts, mean: Facts) -> Iterator[str]:
    """Rates of the window of the verdicts: each thing has one."""
    nics = {one.name: one for one in mean.nics}
    flows = {(name(one), one.namespace): one for one in mean.flows}
    for one in facts.limits:
        about = f"{one.over} {one.target} {one.direction}"
        if one.over == "nic" and one.namespace is None:
            moved = getattr(nics[one.target].per_s, f"{one.direction}_bytes")
            if moved is not None and not isclose(8 * moved, one.rate or 0.0, rel_tol=1e-6):
                yield f"{about} at {8 * moved:g}: its verdict at {one.rate:g}"
        flow = flows.get((one.target, one.namespace)) if one.over == "flow" else None
        if flow is not None:  # a young flow has a verdict on its own time
            moved = 8 * ((flow.tx_per_s if one.direction == "tx" else flow.rx_per_s) or 0.0)
            if moved > (one.rate or 0.0) * (1 + 1e-6):
                yield f"{about} at {moved:g}: its verdict at {one.rate:g}"


def _called(one: Limit) -> tuple[str, str, tuple[str, ...]]:
    return one.stage.stage, one.stage.end, one.joint


def _of_limit(one: Limit) -> Iterator[str]:
    rate, own = one.rate or 0.0, one.stage.capacity
    for step in (one.stage, *one.ladder, *((one.next,) if one.next else ())):
        if step.capacity is not None and step.capacity[1] < rate:
            yield f"{step.stage} carries at most {step.capacity[1]:g}, and {rate:g} passes"
    if own and one.next and one.next.capacity and sum(own) > sum(one.next.capacity):
        yield f"carries more than the next one, {one.next.stage}"
    hidden = one.stage.stage == "unknown" and not words.early(one)
    for step in one.ladder if hidden else ():
        used = 0.0 if step.stage == "core" else step.utilisation or 0.0  # programs use it too
        if step.stage != "unknown" and max(step.held, used) >= FULL:
            yield f"nothing is visible, and {step.stage} stands full"
    if one.over == "flow" and one.stage.held <= 0.0 and one.stage.kind != "inferred":
        yield "nothing waits there"
    if one.ladder and one.ladder[0] != one.stage:
        yield "the ladder does not begin with it"


def _drawn(facts: Facts, one: Limit) -> Iterator[str]:
    """The flow page, and the band of the overview."""
    for row in flowpage.checklist(one, WIDE, Units()):
        mark, _, rest = text_of(row).strip().partition(" ")
        if mark == "✓" and rest[:12].strip() == short(one.stage.stage):
            yield "✓ stands beside the limit"
    for step in one.ladder:
        known = _SHARE.search(step.because) if step.stage in ("application", "sndbuf") else None
        if known and step.utilisation is not None and known[1] != share(step.utilisation):
            yield f"{step.stage} has a bar of {share(step.utilisation)}: {step.because}"
    told = text_of(limit.verdict(one, WIDE)[0]).strip()
    said = words.limited(one)
    if told[2 : 2 + len(said)].lower() != said.lower():
        yield f"the headline says {told}"
    limiting = [bar.stage for bar in bars(facts, one) if bar.limits]
    if len(limiting) != (not words.unjudged(one)):
        yield f"{len(limiting)} bars limit: {limiting}"
