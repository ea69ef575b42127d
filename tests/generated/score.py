"""Generated hosts judged: which planted faults are found, what is false, which fixes are broken."""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

from generated.archive import archive
from generated.draw import settle
from generated.invariants import broken, rules
from generated.model import Host
from generated.plant_host import FAULTS
from generated.plant_nic import DRIVERS
from generated.sound import host

from nettop.advice.judge.judge import Judge
from nettop.advice.rules.rule import Finding
from nettop.facts import Facts
from nettop.facts.joined import Joiner, needs
from nettop.host.recording import Replay
from nettop.sampling.sampler import Sampler

HERE: Final = Path(__file__).parent
LOUD: Final = ("critical", "warning")
WINDOW: Final = 4.0  # seconds that a rule must hold at most: the command line's own way to ask
# surfaces that any host may lack; those on which a planted fault shows stay
# the first kernel that tells it: ETHTOOL_A_FEC_STATS, and link/l1_aspm in sysfs
SINCE: Final = {"fec": (5, 13), "aspm": (5, 5)}
SPARE: Final = ("cpufreq", "cpuidle", "pci", "cache", "fec", "pause", "coalesce", "linkinfo",
                "eee")  # fmt: skip


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
    broken: tuple[tuple[str, str], ...] = ()  # invariant, and the finding or setting


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
    for name in (fault, other):
        made.main.driver = DRIVERS.get(name, made.main.driver)
    plant(made, draw)
    if other:
        FAULTS[other][1](made, draw)
    if any(made.kernel < SINCE.get(name, (0, 0)) for name in made.needs):
        made.kernel, made.release = (5, 15), "5.15.0-28-amd64"
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


def observed(made: Host) -> tuple[Facts, Sequence[Finding]]:
    """The facts of its last moment and what nettop finds, by its bytes alone."""
    source = Replay(archive(made))
    sampler, joiner, judge = Sampler(source), Joiner(), Judge(rules(), window=WINDOW)
    while True:
        facts = joiner.build(sampler.take({*needs()}), profile=made.profile)
        judgement = judge.judge(facts)
        if not source.wait(1):
            return facts, judgement.findings


def judge(made: Host, faults: Sequence[str] = ()) -> Outcome:
    """Compare what is found with what the table says of these faults."""
    facts, found = observed(made)
    names = frozenset(one.rule for one in found)
    wanted = [expected()[name] for name in faults]
    allowed = frozenset[str]().union(*(one.right | one.besides for one in wanted))
    return Outcome(
        made.seed,
        tuple(faults),
        made.kind,
        tuple(one.name for one in wanted if not one.right & names),
        tuple(one.id for one in found if one.severity in LOUD and one.rule not in allowed),
        names,
        tuple(broken(facts, found)),
    )


def pairs() -> Iterator[tuple[str, str]]:
    """Every two faults that one kind of host can have together and that are of the same purpose."""
    names = [name for name in FAULTS if expected()[name].covered]
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            same = expected()[one].profile == expected()[other].profile
            if same and set(FAULTS[one][0]) & set(FAULTS[other][0]):
                yield one, other


def drawn_pairs(seed: int, count: int) -> list[tuple[str, str]]:
    """`count` pairs at random."""
    return Random(seed).sample([*pairs()], count)
