"""Judging: which rules hold on which targets, since when, on what evidence; and why others do not.

Each frame, all rules on the same targets run as one compiled loop over these (`native`); evidence,
remedies and reasons for silence are worked out only for what is found, or asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...facts import Facts
from ...facts.kinds import kinds
from ..language.evaluate import Scope, evaluate
from ..language.moment import Moment, Past
from ..language.native import compiled
from ..language.result import Read
from ..language.syntax import path_of
from ..language.vocabulary import PARENTS
from ..rules.rule import SEVERITIES, Finding, Rule, Silent
from .condition import Judged, whole
from .loop import Loop, Row, code_of, true_on
from .loss import seen
from .reason import because, elsewhere
from .remedy import remedy
from .yielding import Spoken, Yields


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one moment's facts amount to: the findings, the most valuable first."""

    findings: tuple[Finding, ...] = ()
    muted: tuple[Finding, ...] = ()  # they hold, and are not to be shown
    _silent: Callable[[], tuple[Silent, ...]] = field(default=tuple, compare=False, repr=False)

    def silent(self) -> tuple[Silent, ...]:
        """Every rule that does not speak, on every target, and why; worked out when asked.

        Those that look at their target come first.
        """
        return self._silent()


class Judge:
    """Judges frame after frame; remembers since when rules hold, and what `worst` asks for."""

    def __init__(
        self,
        rules: Iterable[Rule],
        muted: Collection[str] = (),
        window: float | None = None,
    ) -> None:
        """`muted`: rule, rule@target, or rule@process name. `window`: no rule holds longer (s)."""
        self.rules = tuple(rules)
        self.muted = frozenset(muted)
        self.window = window
        self._judged = [Judged.of(rule) for rule in self.rules]
        self._alike = _alike(self._judged)
        self._before = frozenset(name for rule in self.rules for name in rule.yields)
        self._since: dict[tuple[str, str], float] = {}
        self._at: float | None = None
        self._past = Past()

    def judge(self, facts: Facts) -> Judgement:
        """The findings of this moment."""
        moment = Moment(facts, self._past)
        self._remember(moment)
        slack = 0.0 if self._at is None else (facts.at - self._at) / 2
        began = facts.at if self._at is None else self._at  # rates cover the time since then
        rows = _Rows(moment)
        since: dict[tuple[str, str], float] = {}
        held: list[tuple[Judged, Any, str, bool]] = []
        yields = Yields(self._before)
        for alike in self._alike:
            for judged, row in alike.true_on(rows.of(alike), moment):
                rule = judged.rule
                target = alike.label(row[0])
                since[rule.id, target] = self._since.get((rule.id, target), began)
                wait = rule.hold if self.window is None else min(rule.hold, self.window)
                if facts.at - since[rule.id, target] + slack < wait:
                    continue
                mutes = self._mutes(rule, target, row[0])
                if not mutes:
                    yields.add(rule, target, row[0])
                held.append((judged, row[0], target, mutes))
        self._since, self._at = since, facts.at
        findings: list[Finding] = []
        muted: list[Finding] = []
        instead: dict[tuple[str, str], str] = {}
        for judged, fact, target, mutes in held:
            rule = judged.rule
            seconds = facts.at - since[rule.id, target]
            other = yields.to(rule, target, fact)
            if other is None:
                into = muted if mutes else findings
                into.append(_finding(judged, moment, fact, target, seconds))
            else:
                instead[rule.id, target] = other
        findings.sort(key=_rank)
        return Judgement(
            tuple(findings),
            tuple(sorted(muted, key=_rank)),
            lambda: self._why_silent(moment, findings, since, instead),
        )

    def _remember(self, moment: Moment) -> None:
        """Keep what some rule's `worst` asks for."""
        for judged in self._judged:
            for call in judged.worst:
                over, path = judged.rule.over, path_of(call.field) or ()
                now: dict[str, float | None] = {}
                for fact in moment.facts.of(kinds()[over]):
                    value: Any = moment.scope(over, fact).get(path[0])
                    for name in path[1:]:
                        value = None if value is None else getattr(value, name)
                    now[kinds()[over].target(fact)] = value
                self._past.add(call.text, moment.facts.at, call.seconds, now)

    def _mutes(self, rule: Rule, target: str, fact: Any) -> bool:
        if not self.muted:
            return False
        named = kinds()[rule.over].owner
        names = {rule.id, f"{rule.id}@{target}", f"{rule.id}@{named(fact) if named else target}"}
        return not names.isdisjoint(self.muted)

    def _why_silent(
        self,
        moment: Moment,
        findings: Sequence[Finding],
        waiting: Collection[tuple[str, str]],
        instead: Spoken,
    ) -> tuple[Silent, ...]:
        spoken = {(found.rule, found.target) for found in findings}
        out = []
        for judged in self._judged:
            rule, label = judged.rule, kinds()[judged.rule.over].target
            for fact in moment.facts.of(kinds()[rule.over]):
                key = (rule.id, label(fact))
                if key in spoken:
                    continue
                aside = elsewhere(judged, moment, fact)
                if self._mutes(rule, key[1], fact):
                    reason = "muted"
                elif aside is not None:
                    reason = aside
                elif key in instead:
                    reason = f"{instead[key]} reports the same problem"
                elif key in waiting:
                    reason = f"condition has held for less than {rule.hold:g} s"
                else:
                    reason = because(judged, moment, fact, key[1])
                out.append(Silent(*key, reason, applies=aside is None))
        return tuple(sorted(out, key=lambda one: not one.applies))


class _Alike:
    """Rules on the same targets: what is true of one's rows need not be asked for each."""

    def __init__(self, judged: Sequence[Judged]) -> None:
        self.judged = judged
        self.over, self.links = judged[0].rule.over, judged[0].rule.links
        self.label = kinds()[self.over].target

    @cached_property
    def loop(self) -> Loop:
        """Compiled when there is a target for the first time."""
        return compiled(code_of(self.over, self.judged))

    def true_on(self, rows: Sequence[Row], moment: Moment) -> list[tuple[Judged, Row]]:
        """The rules that hold, each with the row that it holds on."""
        if not rows:
            return []

        def careful(place: int, row: Row) -> bool:
            return self.judged[place].holds(row, moment, self.label)

        found = true_on(self.loop, len(self.judged), rows, moment, self.label, careful)
        return [(self.judged[place], row) for place, row in found]


def _alike(judged: Sequence[Judged]) -> tuple[_Alike, ...]:
    groups: dict[Any, list[Judged]] = {}
    for one in judged:
        groups.setdefault((one.rule.over, one.rule.links), []).append(one)
    return tuple(map(_Alike, groups.values()))


class _Rows:
    """The targets of each kind with their parents, as the loops take them; made once a frame."""

    def __init__(self, moment: Moment) -> None:
        self.moment = moment
        self.known: dict[str, list[tuple[Any, tuple[Any, ...]]]] = {}

    def of(self, alike: _Alike) -> list[Row]:
        """Those whose interface is of a kind that these rules judge."""
        over, links = alike.over, alike.links
        if over not in self.known:
            self.known[over] = self._every(over)
        every = self.known[over]
        if links is None:
            return [row for _, row in every]
        return [row for nic, row in every if nic is None or nic.kind in links]

    def _every(self, over: str) -> list[tuple[Any, tuple[Any, ...]]]:
        """Each with its interface, where it has one."""
        facts = self.moment.facts.of(kinds()[over])
        if over == "nic":
            return [(fact, (fact,)) for fact in facts]
        if not PARENTS[over]:
            return [(None, (fact,)) for fact in facts]
        known = [(fact, self.moment.scope(over, fact)) for fact in facts]
        return [
            (scope.get("nic"), (fact, *[scope[name] for name in PARENTS[over]]))
            for fact, scope in known
            if scope.get("nic") is not None or not kinds()[over].needs_nic
        ]


def _finding(judged: Judged, moment: Moment, fact: Any, target: str, held: float) -> Finding:
    rule = judged.rule
    scope = Scope(moment.scope(rule.over, fact), moment, rule.limits, target)
    result = evaluate(whole(rule), scope)
    extra = (read for shown in rule.words.show for read in evaluate(shown, scope).reads)
    reads = [read for read in dict.fromkeys((*result.reads, *extra)) if read.value is not None]
    wanted, advice = remedy(rule, scope)
    return Finding(
        id=f"{rule.id}@{target}",
        rule=rule.id,
        target=target,
        severity=rule.severity,
        title=rule.words.title.prose(scope),
        why=rule.words.why.prose(scope),
        held=held,
        evidence=tuple(_evidence(reads)),
        sources=rule.words.sources,
        competing=rule.words.competing,
        encodes=rule.encodes,
        wanted=wanted,
        advice=advice,
        expected=rule.words.expected.prose(scope),
        seen=any(seen(read.field, read.value) for read in reads),
        gain=rule.gain,
        safety=rule.safety,
    )


def _evidence(reads: Iterable[Read]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for read in reads:
        found.setdefault(
            read.field, {"field": read.field, "value": read.value, "unit": read.measure}
        )
    return list(found.values())


def _rank(found: Finding) -> tuple[int, bool, float, str]:
    return (SEVERITIES.index(found.severity), not found.seen, -found.gain, found.id)
