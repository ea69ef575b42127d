"""Counts over generated hosts, by fault, by kind of sound host and by rule."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

from generated.invariants import INVARIANTS
from generated.score import Outcome, expected


@dataclass
class Tally:
    """Counts of outcomes. A host has one fault, two (`pairs`), or none.

    asked, named, other, lost: by rule, over the faults for which the rule is a right answer: how
    often, named by this rule, named by another right rule alone, and by none.
    """

    hosts: Counter[str] = field(default_factory=Counter)  # by fault or `sound KIND`
    missed: Counter[str] = field(default_factory=Counter)
    noisy: Counter[str] = field(default_factory=Counter)  # hosts with a false finding
    asked: Counter[str] = field(default_factory=Counter)
    named: Counter[str] = field(default_factory=Counter)
    other: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)
    pairs: Counter[str] = field(default_factory=Counter)  # hosts, both, false
    broken: Counter[str] = field(default_factory=Counter)  # by invariant
    seeds: Counter[str] = field(default_factory=Counter)  # played, by seed

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Count these."""
        for one in outcomes:
            self.broken.update({name for name, _ in one.broken})
            if len(one.faults) == 2:
                self.pairs.update(hosts=1, both=not one.missed, false=bool(one.false))
                continue
            names = one.faults or (f"sound {one.kind}",)
            self.hosts.update(names)
            self.missed.update(one.missed)
            self.noisy.update(names if one.false else ())
            self.false.update({name.partition("@")[0] for name in one.false})
            for name in one.faults:
                right = expected()[name].right
                self.asked.update(right)
                self.named.update(right & one.rules)
                self.other.update(right - one.rules if right & one.rules else ())

    def merge(self, counts: Mapping[str, Mapping[str, int]]) -> None:
        """Add the counts that another run left."""
        for name, values in counts.items():
            getattr(self, name).update(values)

    def counts(self) -> dict[str, dict[str, int]]:
        """All counts as plain data."""
        return {one.name: dict(getattr(self, one.name)) for one in fields(self)}

    @property
    def precision(self) -> float:
        """Right findings among the right and the false ones."""
        right, false = self.named.total(), self.false.total()
        return right / (right + false) if right + false else 1.0

    def recall(self, *, covered: bool = True) -> float:
        """Faults found among those planted; `covered`: of those that some rule means."""
        names = [
            name for name in self.hosts
            if name in expected() and (expected()[name].covered or not covered)
        ]  # fmt: skip
        planted = sum(self.hosts[name] for name in names)
        return 1 - sum(self.missed[name] for name in names) / planted if planted else 1.0

    def faults(self) -> list[tuple[object, ...]]:
        """A line a fault or kind of sound host: hosts, found, hosts with a false finding."""
        rows: list[tuple[object, ...]] = [("fault, or sound host", "hosts", "found", "false")]
        for name in sorted(self.hosts, key=lambda name: (name not in expected(), name)):
            hosts = self.hosts[name]
            found = hosts - self.missed[name] if name in expected() else "–"
            rows.append((name, hosts, found, self.noisy[name]))
        return rows

    def rules(self) -> list[tuple[object, ...]]:
        """A line a rule: asked, named, another right rule, silent, false, precision, recall."""
        rows: list[tuple[object, ...]] = [
            ("rule", "asked", "named", "another right", "silent", "false", "precision", "recall")
        ]
        for name in sorted({*self.asked, *self.false}):
            asked, named, other, false = (
                counts[name] for counts in (self.asked, self.named, self.other, self.false)
            )
            rows.append((name, asked, named, other, asked - named - other, false,
                         _share(named, named + false), _share(named + other, asked)))  # fmt: skip
        return rows

    def sums(self) -> list[str]:
        """The sums, a sentence each."""
        if not self.hosts:
            return ["No generated host was played."]
        hosts, both = self.pairs["hosts"], self.pairs["both"]
        recall = f"recall {self.recall():.1%} of the faults that a rule means"
        return [
            f"{self.hosts.total()} hosts with one fault or none, {len(self.seeds)} seeds.",
            f"Precision {self.precision:.1%}, {recall}, {self.recall(covered=False):.1%} of all.",
            f"{hosts} hosts with two faults: both named on {both} ({_share(both, hosts)}).",
            f"Of these hosts, {self.pairs['false']} with something false.",
            *(f"Hosts with {name}: {self.broken[name]}." for name in INVARIANTS),
        ]


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "–"
