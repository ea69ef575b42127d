"""Judging: which rules hold on which targets, since when, on what evidence; and why others do not.

Each frame, all rules on the same targets run as one compiled loop (`loop`). Evidence and remedies
are computed for findings only, reasons for silence on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias, cast

from ...facts import Facts
from ...facts.kind import about
from ...facts.kinds import kinds
from ...facts.kinds.nic import Nic
from ...facts.limits.following import Calibration
from ...terms.dataclass import dataclass
from ..language.evaluate import evaluate
from ..language.moment import Moment, Past, Scope
from ..language.values import Read, Value, field_value
from ..language.vocabulary import PARENTS
from ..rules.rule import Evidence, Finding, Rule, Silent
from ..rules.severity import ADVICE, CRITICAL, SERIOUS, WARNING
from .causes import Found, ordered
from .condition import Earlier, Judged, Row, because, not_applicable, whole
from .loop import Fresh, Loop, Rested, loop_of, true_on
from .remedy import lifts, prediction, remedy
from .yielding import Yields

On: TypeAlias = tuple[str, str]  # a rule and a target


@dataclass(frozen=True, slots=True)
class Judgement:
    """The findings of one moment, the most valuable first."""

    findings: tuple[Finding, ...] = ()
    muted: tuple[Finding, ...] = ()  # they hold; the user hides them
    _silent: Callable[[], tuple[Silent, ...]] = field(default=tuple, compare=False, repr=False)

    def problems(self) -> frozenset[str]:
        """The ids of the findings that cost now."""
        return frozenset(one.id for one in self.findings if one.severity in SERIOUS)

    def silent(self) -> tuple[Silent, ...]:
        """Every rule without a finding, on every target, and why; computed at each call.

        Rules that apply to their target come first.
        """
        return self._silent()


class _Kept(NamedTuple):
    """When a rule with `keep` held at last, and its finding of that moment."""

    at: float
    keep: float
    found: Found | None = None


class Judge:
    """Judges frame after frame; keeps since when rules hold, and values of earlier moments."""

    def __init__(
        self,
        rules: Iterable[Rule],
        muted: Collection[str] = (),
        window: float | None = None,
        earlier: Callable[[str], Calibration | None] | None = None,
    ) -> None:
        """`muted`: rule, rule@target, or rule@process name. `window`: the longest `hold` (s).

        `earlier`: how right the predictions of a rule were on this host.
        """
        self.rules = tuple(rules)
        self.muted = frozenset(muted)
        self.window = window
        self.earlier = earlier
        self._judged = [Judged.of(rule) for rule in self.rules]
        self._alike = _alike(self._judged)
        self._earlier = _earlier(self._judged)
        self._before = frozenset(name for rule in self.rules for name in rule.yields)
        self._since: dict[On, float] = {}
        self._kept: dict[On, _Kept] = {}
        self._at: float | None = None
        self._past = Past()
        self._rested = Rested()
        self.quiet = False  # no data moves on the host: what is unchanged is judged less often

    def anew(self) -> None:
        """Judge all facts in the next frame: the host was changed."""
        self._rested.at = float("-inf")

    def judge(self, facts: Facts) -> Judgement:
        """The findings of this moment; targets of other network namespaces have none."""
        facts = facts.here()
        moment = Moment(facts, self._past)
        fresh = self._rested.fresh(facts, self._since, quiet=self.quiet)
        self._remember(moment, fresh)
        slack = 0.0 if self._at is None else (facts.at - self._at) / 2
        began = facts.at if self._at is None else self._at  # rates cover the time since then
        rows = _Rows(moment, fresh)
        since: dict[On, float] = {}
        true: list[tuple[Judged, str]] = []
        held: list[tuple[Judged, object, str, bool]] = []
        yields = Yields(self._before)
        for alike in self._alike:
            for judged, row in alike.true_on(rows.of(alike), moment):
                rule = judged.rule
                target = alike.label(row[0])
                since[rule.id, target] = self._since.get((rule.id, target), began)
                true.append((judged, target))
                wait = rule.hold if self.window is None else min(rule.hold, self.window)
                if facts.at - since[rule.id, target] + slack < wait:
                    continue
                mutes = self._mutes(rule, target, row[0])
                if not mutes:
                    yields.add(rule, target, row[0])
                held.append((judged, row[0], target, mutes))
        kept = {key: one for key, one in self._kept.items()
                if key not in since and facts.at - one.at <= one.keep}  # fmt: skip
        since |= {key: self._since[key] for key in kept}
        found = [one.found for one in kept.values() if one.found is not None]
        self._kept = kept | {(one.rule.id, target): _Kept(facts.at, one.rule.keep)
                             for one, target in true if one.rule.keep}  # fmt: skip
        self._since, self._at = since, facts.at
        muted: list[Found] = []
        instead: dict[On, str] = {}
        for judged, fact, target, mutes in held:
            rule = judged.rule
            seconds = facts.at - since[rule.id, target]
            other = yields.to(rule, target, fact)
            if other is None:
                group = muted if mutes else found
                finding = _finding(judged, moment, fact, target, seconds)
                finding = self._weighed(finding, rule, fact, facts)
                group.append(Found(rule, fact, finding))
                if rule.keep and not mutes:
                    self._kept[rule.id, target] = _Kept(facts.at, rule.keep, group[-1])
            else:
                instead[rule.id, target] = other
        below = _below(facts.nics)
        findings = ordered(found, below)
        instead |= {(one.rule, target): one.id for one in findings for target in one.also}
        return Judgement(
            findings,
            ordered(muted, below),
            lambda: self._why_silent(moment, findings, since, instead),
        )

    def _weighed(self, finding: Finding, rule: Rule, fact: object, facts: Facts) -> Finding:
        """The finding with the rate that its fix may bring; a setting that limits now costs now."""
        sets = any(not one.experiment for one in finding.wanted)
        if finding.severity == ADVICE and sets and lifts(rule, finding.relieves, fact, facts):
            finding = replace(finding, severity=WARNING)
        known = prediction(rule, finding, fact, facts)
        if known is None:
            return finding
        earlier = self.earlier(rule.id) if self.earlier is not None else None
        return replace(finding, predicted=replace(known, earlier=earlier))

    def _remember(self, moment: Moment, fresh: Fresh) -> None:
        """Keep the values that conditions need later; resting facts have those that they had."""
        at = moment.facts.at
        for over, (kept, counted) in self._earlier.items():
            label, rest = kinds()[over].target, over in fresh
            targets = (
                [(label(fact), fact) for fact in fresh[over]] if rest else moment.targets(over)
            )
            for call in kept:
                now = {name: _number(moment, over, fact, call) for name, fact in targets}
                self._past.add(call.text, at, call.seconds, now, rest=rest)
            if counted:
                rates = {
                    name: tuple([_number(moment, over, fact, call) for call in counted.values()])
                    for name, fact in targets
                }
                self._past.count(tuple(counted), at, rates, rest=rest)

    def _mutes(self, rule: Rule, target: str, fact: object) -> bool:
        if not self.muted:
            return False
        owner = kinds()[rule.over].owner
        names = {rule.id, f"{rule.id}@{target}", f"{rule.id}@{owner(fact) if owner else target}"}
        return not names.isdisjoint(self.muted)

    def _why_silent(
        self,
        moment: Moment,
        findings: Sequence[Finding],
        waiting: Collection[On],
        instead: Mapping[On, str],
    ) -> tuple[Silent, ...]:
        reported = {(finding.rule, finding.target) for finding in findings}
        out = []
        for judged in self._judged:
            rule, label = judged.rule, kinds()[judged.rule.over].target
            for fact in moment.facts.of(kinds()[rule.over]):
                key = (rule.id, label(fact))
                if key in reported:
                    continue
                outside = not_applicable(judged, moment, fact)
                if self._mutes(rule, key[1], fact):
                    reason = "muted"
                elif outside is not None:
                    reason = outside
                elif key in instead:
                    reason = f"{instead[key]} reports the same problem"
                elif key in waiting:
                    reason = f"condition has held for less than {rule.hold:g} s"
                else:
                    reason = because(judged, moment, fact, key[1])
                out.append(Silent(*key, reason, applies=outside is None))
        return tuple(sorted(out, key=lambda one: not one.applies))


def _below(nics: Sequence[Nic]) -> Mapping[str, set[str]]:
    """The ports below each interface; those of a bridge may be of any kind."""
    below = {nic.name: {*nic.lower} for nic in nics if nic.lower}
    for nic in nics:
        if nic.master is not None:
            below.setdefault(nic.master, set()).add(nic.name)
    return below


class _Alike:
    """Rules over one kind of fact on the same kinds of interface: they share loop and rows."""

    def __init__(self, judged: Sequence[Judged]) -> None:
        self.judged = judged
        self.over, self.links = judged[0].rule.over, judged[0].rule.links
        self.label = kinds()[self.over].target

    @cached_property
    def loop(self) -> Loop:
        """Compiled when there is a target for the first time."""
        return loop_of(self.over, self.judged)

    def true_on(self, rows: Sequence[Row], moment: Moment) -> list[tuple[Judged, Row]]:
        """The rules that hold, each with the row that it holds on."""
        if not rows:
            return []

        def walk(place: int, row: Row) -> bool:
            return self.judged[place].holds(row, moment, self.label)

        hits = true_on(self.loop, len(self.judged), rows, moment, self.label, walk)
        return [(self.judged[place], row) for place, row in hits]


def _number(moment: Moment, over: str, fact: object, call: Earlier) -> float | None:
    """The value of a call on a target now, with its sign; None: not known."""
    value = field_value(moment.named(call.path[0], over, fact), call.path[1:])
    return (call.sign or 1.0) * value if isinstance(value, int | float) else None


def _earlier(
    judged: Sequence[Judged],
) -> Mapping[str, tuple[Collection[Earlier], Mapping[str, Earlier]]]:
    """What any rule asks for of earlier moments, by the kind that the rules are over; each once.

    The calls of which the largest value is kept, and the rates that are summed by their names.
    """
    found: dict[str, tuple[dict[Earlier, None], dict[str, Earlier]]] = {}
    for one in judged:
        for call in one.earlier:
            kept, counted = found.setdefault(one.rule.over, ({}, {}))
            if call.sign:
                kept[call] = None
            else:
                counted[call.text] = call
    return found


def _alike(judged: Sequence[Judged]) -> tuple[_Alike, ...]:
    groups: dict[tuple[str, frozenset[str] | None], list[Judged]] = {}
    for one in judged:
        groups.setdefault((one.rule.over, one.rule.links), []).append(one)
    return tuple(map(_Alike, groups.values()))


class _Rows:
    """The targets of each kind with their parents, as rows for the loops; built once a frame."""

    def __init__(self, moment: Moment, fresh: Fresh) -> None:
        self.moment = moment
        self.fresh = fresh
        self.known: dict[str, list[tuple[Nic | None, Row]]] = {}

    def of(self, alike: _Alike) -> list[Row]:
        """The rows whose interface is of a kind that these rules judge."""
        over, links = alike.over, alike.links
        if over not in self.known:
            self.known[over] = self._every(over)
        every = self.known[over]
        if links is None:
            return [row for _, row in every]
        return [row for nic, row in every if nic is None or nic.kind in links]

    def _every(self, over: str) -> list[tuple[Nic | None, Row]]:
        """Each row with its interface; None where it has none."""
        facts = self.fresh[over] if over in self.fresh else self.moment.facts.of(kinds()[over])
        if not facts:  # of most kinds a host has none
            return []
        if over == "nic":
            return [(cast("Nic", fact), (fact,)) for fact in facts]
        if not PARENTS[over]:
            return [(None, (fact,)) for fact in facts]
        known = [(fact, self.moment.scope(over, fact)) for fact in facts]
        return [
            (cast("Nic | None", scope.get("nic")), (fact, *[scope[name] for name in PARENTS[over]]))
            for fact, scope in known
            if scope.get("nic") is not None or not kinds()[over].needs_nic
        ]


def _finding(judged: Judged, moment: Moment, fact: object, target: str, held: float) -> Finding:
    rule = judged.rule
    scope = Scope(moment.scope(rule.over, fact), moment, rule.limits, target)
    result = evaluate(whole(rule), scope)
    extra = (
        judged.averaged(read, moment, target)
        for shown in rule.words.show
        for read in evaluate(shown, scope).reads
    )
    reads = [read for read in dict.fromkeys((*result.reads, *extra)) if read.value is not None]
    cure = remedy(rule, scope)
    return Finding(
        id=f"{rule.id}@{target}",
        rule=rule.id,
        target=target,
        severity=_severity(rule, scope),
        title=rule.words.title.prose(scope),
        why=rule.words.why.prose(scope),
        held=held,
        evidence=tuple(_evidence(reads)),
        sources=tuple(
            cite
            for cite, holds in zip(rule.words.sources, rule.words.applies, strict=True)
            if holds is None or evaluate(holds, scope).value is True
        ),
        competing=rule.words.competing,
        wanted=cure.wanted,
        advice=cure.advice,
        expected=rule.words.expected.prose(scope),
        seen=any(measured(read.field, read.value) for read in reads),
        relieves=cure.relieves,
        gain=rule.gain,
        safety=rule.safety,
        about=tuple(about(fact)),
    )


def _severity(rule: Rule, scope: Scope) -> str:
    """Critical where nothing gets through, advice where nothing is lost: as the rule says."""
    for severity, also in ((CRITICAL, rule.critical), (ADVICE, rule.harmless)):
        if also is not None and evaluate(also, scope).value is True:
            return severity
    return rule.severity


def _evidence(reads: Iterable[Read]) -> Iterable[Evidence]:
    lines: dict[str, Evidence] = {}
    for read in reads:
        if f"mean({read.field})" not in lines:  # one rate of a thing is enough
            lines.setdefault(
                read.field, Evidence(field=read.field, value=read.value, unit=read.measure)
            )
    return lines.values()


_LOSSES: Final = (
    "drops", "dropped", "missed", "errors", "fails", "discards", "timeouts", "overflows", "lost",
    "retransmits", "retrans", "allowance", "drops_per_s", "pruned", "prune_called", "limited",
    "pause_rx", "pause_tx",  # the buffers of a receiver were full
)  # fmt: skip
_BUSY: Final = {"softirq": 80.0, "core_si": 80.0, "core_load": 90.0, "ksoftirqd": 30.0}
_IDLE: Final = 5.0


def measured(field: str, value: Value | None) -> bool:
    """Whether a field is a loss above zero, a core at its limit (%), or a limit that was hit."""
    name = field.rpartition(".")[2]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if name == "idle":
        return value < _IDLE
    if name in _BUSY:
        return value > _BUSY[name]
    return value > 0 and any(word in name for word in _LOSSES) and ".total." not in field
