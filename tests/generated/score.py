"""Generated hosts judged: right, missed and false findings, by fault and by rule."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

from generated.archive import archive
from generated.draw import settle
from generated.model import Host
from generated.plant_host import FAULTS
from generated.sound import host

from nettop.advice.rules.rule import Finding
from nettop.host.recording import Replay
from nettop.views.observer import Observer

HERE: Final = Path(__file__).parent
LOUD: Final = ("critical", "warning")
WINDOW: Final = 4.0  # seconds that a rule must hold at most: the command line's own way to ask
# surfaces that any host may lack; those on which a planted fault shows stay
# what nettop reads by ethtool netlink only, which came with Linux 5.7
NETLINK: Final = {"features", "fec", "linkmodes"}
SPARE: Final = ("cpufreq", "cpuidle", "pci", "cache", "fec", "pause", "coalesce", "linkinfo")


@dataclass(frozen=True)
class Expected:
    """The rules that are right for a fault, and those that may speak besides."""

    name: str
    right: frozenset[str]
    besides: frozenset[str]
    profile: str

    @property
    def covered(self) -> bool:
        """Whether any rule says what is right."""
        return bool(self.right)


@dataclass(frozen=True)
class Outcome:
    """One host: what was planted, and what was found of it."""

    seed: str
    faults: tuple[str, ...]
    kind: str
    missed: tuple[str, ...]
    false: tuple[str, ...]
    rules: frozenset[str] = field(default_factory=frozenset)


@cache
def expected() -> dict[str, Expected]:
    """Every fault of the table, with the rules that its words mean."""
    means = tomllib.loads((HERE / "meanings.toml").read_text())
    table = tomllib.loads((HERE / "faults.toml").read_text())
    return {
        one["name"]: Expected(
            one["name"],
            frozenset(rule for word in one["right"] for rule in means[word]),
            frozenset(rule for word in one["besides"] for rule in means[word]),
            one.get("profile", ""),
        )
        for one in table["fault"]
    }


def sick(fault: str, seed: int, other: str = "") -> Host:
    """A host with this fault and, where named, another one that its kind can have."""
    kinds, plant = FAULTS[fault]
    if other:
        kinds = tuple(kind for kind in kinds if kind in FAULTS[other][0])
    draw = Random(f"{fault} {other} {seed}")
    wanted = expected()[fault].profile or (expected()[other].profile if other else "")
    made = host(draw.choice(kinds), f"{fault}:{other}:{seed}", wanted)
    plant(made, draw)
    if other:
        FAULTS[other][1](made, draw)
    if made.kernel < (5, 7) and made.needs & NETLINK:
        made.kernel, made.release = (5, 10), "5.10.0-28-amd64"
    _lack(made, draw)
    settle(made)
    return made


def sound(kind: str, seed: int) -> Host:
    """A host of this kind without a fault."""
    made = host(kind, str(seed))
    _lack(made, Random(f"{kind} {seed}"))
    settle(made)
    return made


def _lack(made: Host, draw: Random) -> None:
    """Take up to two surfaces away that the fault does not show on."""
    for name in draw.sample(SPARE, draw.choice((0, 0, 1, 2))):
        if name not in made.needs:
            made.absent.add(name)


def findings(made: Host) -> Sequence[Finding]:
    """What nettop finds on it, by its bytes alone."""
    source = Replay(archive(made))
    observer = Observer(source, profile=made.profile, window=WINDOW)
    seen = observer.step()
    while source.wait(1):
        seen = observer.step()
    return seen.judgement.findings


def judge(made: Host, faults: Sequence[str] = ()) -> Outcome:
    """Compare what is found with what the table says of these faults."""
    found = findings(made)
    rules = frozenset(one.rule for one in found)
    wanted = [expected()[name] for name in faults]
    allowed = frozenset[str]().union(*(one.right | one.besides for one in wanted))
    return Outcome(
        made.seed,
        tuple(faults),
        made.kind,
        tuple(one.name for one in wanted if not one.right & rules),
        tuple(one.id for one in found if one.severity in LOUD and one.rule not in allowed),
        rules,
    )


def pairs() -> Iterator[tuple[str, str]]:
    """Every two faults that one kind of host can have together and that are of the same purpose."""
    names = [name for name in FAULTS if expected()[name].covered]
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            same = expected()[one].profile == expected()[other].profile
            if same and set(FAULTS[one][0]) & set(FAULTS[other][0]):
                yield one, other


def both(count: int) -> str:
    """How often both of two planted faults are found, on `count` pairs drawn at random."""
    chosen = Random(count).sample([*pairs()], count)
    outcomes = [judge(sick(one, seed, other), (one, other)) for seed, (one, other) in
                enumerate(chosen)]  # fmt: skip
    found = sum(not one.missed for one in outcomes)
    return f"both faults found on {found} of {count} hosts with two"


@dataclass
class Tally:
    """Counts by fault and by rule."""

    hosts: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Count these."""
        for one in outcomes:
            self.hosts.update(one.faults or (f"sound {one.kind}",))
            self.missed.update(one.missed)
            self.false.update(name.partition("@")[0] for name in set(one.false))
            for name in one.faults:
                self.right.update(expected()[name].right & one.rules)

    @property
    def precision(self) -> float:
        """Right findings among the right and the false ones."""
        right, false = self.right.total(), self.false.total()
        return right / (right + false) if right + false else 1.0

    def recall(self, *, covered: bool = True) -> float:
        """Faults found among those planted; `covered`: of those that some rule means."""
        names = [
            name for name in self.hosts
            if name in expected() and (expected()[name].covered or not covered)
        ]  # fmt: skip
        planted = sum(self.hosts[name] for name in names)
        return 1 - sum(self.missed[name] for name in names) / planted if planted else 1.0

    def text(self) -> str:
        """The table by fault, then by rule, then the sums."""
        out = [f"{'fault':34} hosts found"]
        for name in sorted(self.hosts):
            if name in expected():
                rest = "" if expected()[name].covered else "  no rule"
                found = self.hosts[name] - self.missed[name]
                out.append(f"{name:34} {self.hosts[name]:5} {found:5}{rest}")
        out.append(f"\n{'rule':34} right false")
        out += [
            f"{name:34} {self.right[name]:5} {self.false[name]:5}"
            for name in sorted({*self.right, *self.false})
        ]
        out.append(
            f"\nprecision {self.precision:.1%}, recall {self.recall():.1%} of the faults that a "
            f"rule means, {self.recall(covered=False):.1%} of all"
        )
        return "\n".join(out)
