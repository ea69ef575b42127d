"""The prediction of a finding: what its fix brings to the flow or interface that it is about."""

from __future__ import annotations

from collections.abc import Collection

from ...facts import Facts
from ...facts.counters import passed_by
from ...facts.flow_words import name
from ...facts.kinds.card import Card
from ...facts.kinds.core import Core
from ...facts.kinds.flow import Flow
from ...facts.kinds.path import Path
from ...facts.kinds.process import Process
from ...facts.kinds.queue import Queue
from ...facts.kinds.quota import Quota
from ...facts.kinds.thread import Thread
from ...facts.limits import Limit, words
from ...facts.limits.prediction import Prediction, lifted, predict
from ...facts.limits.stages import having
from ..rules.rule import Rule
from .yielding import nics_of


def prediction(
    rule: Rule, relieves: Collection[str], fact: object, facts: Facts
) -> Prediction | None:
    """The prediction for the busiest flow or interface of the target that its fix relieves.

    `relieves`: stages, of the finding. An interface comes before its flows, since its rate includes
    theirs. None if the fix relieves no stage that limits the target, or if no stage after it has a
    known capacity.
    """
    if not relieves:
        return None
    kinds = {nic.name: nic.kind for nic in facts.nics}
    unseen = {nic.name for nic in facts.nics if passed_by(nic.per_s)}  # the rate is the kernel's
    known = (
        predict(limit, _on_its_way(relieves, limit))
        for limit in facts.limits
        if (limit.over != "nic" or limit.nic not in unseen)
        and limit.namespace is None  # the settings of others are not those of the finding
        and _about(rule, relieves, fact, limit)
        and _judged(rule, kinds.get(limit.nic or ""))
    )
    return max(filter(None, known), key=lambda one: one.rate[0], default=None)


def lifts(rule: Rule, relieves: Collection[str], fact: object, facts: Facts) -> bool:
    """Whether the fix lifts what is seen to limit the flow that moves most now.

    A CPU that limits is no such case: whether a setting saves CPU time, only a test shows.
    """
    if not relieves:
        return False
    busiest = words.busiest(one for one in facts.limits if one.namespace is None)
    if busiest is None or busiest.stage.kind == "inferred":
        return False
    first = busiest.stage.stage
    if first not in relieves or first in having("cpu"):
        return False
    return _about(rule, relieves, fact, busiest)


def _about(rule: Rule, relieves: Collection[str], fact: object, limit: Limit) -> bool:
    """Whether a limit is one of the target: of its flow, process, thread, core or interface."""
    if isinstance(fact, Flow):
        return limit.over == "flow" and limit.target == name(fact)
    if isinstance(fact, Process):
        return limit.pid == fact.pid
    if isinstance(fact, Thread):
        names = [one.name for one in lifted(limit, relieves) if one.stage == "thread"]
        return limit.pid == fact.pid and f"{fact.name}[{fact.tid}]" in names
    if isinstance(fact, Quota):
        return any(process.endswith(f"[{limit.pid}]") for process in fact.processes)
    if isinstance(fact, Card):
        return limit.nic in fact.ports
    if isinstance(fact, Core):
        cores = [one for one in lifted(limit, relieves) if one.stage == "core"]
        return not cores or any(words.stage(one) == f"core {fact.cpu}" for one in cores)
    if isinstance(fact, Queue | Path) and limit.direction != fact.direction:
        return False
    return rule.over == "host" or (limit.nic or "") in nics_of(rule.over, fact)


def _on_its_way(relieves: Collection[str], limit: Limit) -> Collection[str]:
    """The stages; a program that a rule names beside its receive buffer limits as a reader only."""
    reader = "rcvbuf" in relieves and limit.direction == "tx"
    return [name for name in relieves if name != "application"] if reader else relieves


def _judged(rule: Rule, kind: str | None) -> bool:
    """Whether the rule is about traffic on this kind of interface; loopback passes no device."""
    return kind is None or (kind in rule.links if rule.links else kind != "loopback")
