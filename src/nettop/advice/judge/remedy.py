"""The remedies of a rule on a target: settings with their values, and advice in words."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.kinds import kinds
from ...facts.kinds.nic import Nic
from ...terms.dataclass import dataclass
from ..language.functions.cpus import cpu_list
from ..language.moment import Scope
from ..language.native import value_of
from ..language.tunable import CPUS, canonical, known, type_of
from ..language.vocabulary import KEEP, Value, setting
from ..rules.rule import Fix, Rule, Wanted


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
