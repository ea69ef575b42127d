"""What the fixes of a rule set on a target, in settings and words, and what that brings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from ...facts import Facts
from ...facts.counters import passed_by
from ...facts.flow_words import name
from ...facts.kinds import kinds
from ...facts.kinds.card import Card
from ...facts.kinds.core import Core
from ...facts.kinds.flow import Flow
from ...facts.kinds.nic import Nic
from ...facts.kinds.path import Path
from ...facts.kinds.process import Process
from ...facts.kinds.queue import Queue
from ...facts.kinds.quota import Quota
from ...facts.kinds.thread import Thread
from ...facts.limits import Limit, words
from ...facts.limits.following import Prediction, lifted, predict
from ...facts.limits.stages import having
from ...terms.dataclass import dataclass
from ..language.functions.cpus import cpu_list
from ..language.moment import Scope
from ..language.native import value_of
from ..language.tunable import CPUS, canonical, known, type_of
from ..language.values import KEEP, Value, setting
from ..rules.rule import Finding, Fix, Rule, Wanted
from .yielding import nics_of


@dataclass(frozen=True, slots=True)
class Remedy:
    """What the fixes that apply set and say, and the stages that they relieve."""

    wanted: tuple[Wanted, ...]
    advice: tuple[str, ...]
    relieves: tuple[str, ...]


def remedy(rule: Rule, scope: Scope) -> Remedy:
    """The remedy of all fixes that apply; of a setting the first fix wins."""
    wanted: dict[str, Wanted | None] = {}
    advice: list[str] = []
    relieves: set[str] = set()
    for fix in rule.words.fixes:
        for inner in _spread(fix, scope):
            if fix.when is not None and value_of(fix.when, inner) is not True:
                continue
            if fix.advice is not None:
                advice.append(fix.advice.prose(inner))
                relieves.update(fix.relieves)
            if fix.setting is not None:
                address = fix.setting.name(inner)
                if address is not None and address not in wanted:
                    wanted[address] = _want(fix, address, inner)
                    relieves.update(fix.relieves if wanted[address] else ())
    return Remedy(
        tuple(one for one in wanted.values() if one), tuple(dict.fromkeys(advice)),
        tuple(stage for stage in rule.relieves if stage in relieves),
    )  # fmt: skip


def _spread(fix: Fix, scope: Scope) -> Iterator[Scope]:
    if fix.each is None:
        yield scope
        return
    each, nic = kinds()[fix.each], scope.facts.get("nic")
    for one in scope.moment.facts.of(each):
        if fix.each == "queue" and isinstance(nic, Nic) and each.parents["nic"](one) != nic.name:
            continue
        yield Scope({**scope.facts, fix.each: one}, scope.moment, scope.limits, scope.target)


def _want(fix: Fix, address: str, scope: Scope) -> Wanted | None:
    """The wanted setting; None if unknown, already set, fixed, or above the driver's maximum."""
    expression = fix.to.get(scope.moment.profile) or fix.to.get("default")
    value = value_of(expression, scope) if expression else None
    state = known(address, scope.moment)
    if type_of(address) == CPUS:
        value = cpu_list(value) if value else None
    elif isinstance(value, tuple):
        value = _kept(value, setting(state.now or ""))
    text = None if value is None else canonical(value)
    if text is None or text == state.now or state.fixed:
        return None
    if state.most is not None and isinstance(value, int | float) and value > state.most:
        return None
    return Wanted(address, text, fix.experiment)


def _kept(value: tuple[Value, ...], now: Value) -> tuple[Value, ...] | None:
    """The value with each `keep` replaced by the current element; None if that is unknown."""
    if KEEP not in value:
        return value
    if not isinstance(now, tuple) or len(now) != len(value):
        return None
    return tuple(old if new is KEEP else new for old, new in zip(now, value, strict=True))


def prediction(rule: Rule, finding: Finding, fact: object, facts: Facts) -> Prediction | None:
    """The prediction for the busiest flow or interface of the target that its fix relieves.

    An interface comes before its flows, since its rate includes theirs. None if the fix relieves no
    stage that limits the target, or if no stage after it has a known capacity. Who is to look for
    losses beyond this host is promised nothing: what the path carries without them is not known.
    """
    relieves = finding.relieves
    if not relieves:
        return None
    larger = _larger(finding.wanted, facts.sysctls)
    kinds = {nic.name: nic.kind for nic in facts.nics}
    unseen = {nic.name for nic in facts.nics if passed_by(nic.per_s)}  # the rate is the kernel's
    known = (
        predict(limit, _on_its_way(relieves, limit), larger)
        for limit in facts.limits
        if (limit.over != "nic" or limit.nic not in unseen)
        and limit.namespace is None  # the settings of others are not those of the finding
        and (finding.wanted or (limit.stage.stage, limit.stage.end) != ("path", "there"))
        and _about(rule, relieves, fact, limit)
        and _judged(rule, kinds.get(limit.nic or ""))
    )
    sure = (one for one in known if one is not None and not _passed(one, facts))
    return max(sure, key=lambda one: one.rate[0], default=None)


def _passed(one: Prediction, facts: Facts) -> bool:
    """Whether more passes in this interval than the fix would bring at most.

    The prediction is of the mean of the window, which may have begun before the data.
    """
    limit = one.limit
    if limit.over == "nic":
        now = next((nic.per_s for nic in facts.nics if nic.name == limit.nic), None)
        moved = getattr(now, f"{limit.direction}_bytes", None)
    else:
        flow = next((flow for flow in facts.here().flows if name(flow) == limit.target), None)
        moved = getattr(flow, f"{limit.direction}_per_s", None)
    return 8 * (moved or 0.0) > one.rate[1]


def _larger(wanted: Iterable[Wanted], sysctls: Mapping[str, str]) -> dict[str, float]:
    """How many times its last number each sysctl that is enlarged becomes."""
    names = {one.setting.removeprefix("sysctl."): _last(one.value) for one in wanted}
    both = {name: (_last(sysctls.get(name, "")), new) for name, new in names.items()}
    return {name: new / old for name, (old, new) in both.items() if new > old > 0}


def _last(numbers: str) -> int:
    last = numbers.split()[-1:]
    return int(last[0]) if last and last[0].isdecimal() else 0


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
