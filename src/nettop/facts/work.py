"""What cores and threads do, from the samples of the collector `profiles`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from ..collect import profiles
from ..frame.rates import Entry

LEAST: Final = 20  # samples: of fewer, shares are chance
SHOWN: Final = 4  # classes that a sentence names
SMALL: Final = 5.0  # percent: smaller shares are not named
FOREMOST: Final = 25.0  # percent of one class, from which its advice is given

Samples: TypeAlias = Sequence[Entry[profiles.Row]]  # the table `profiles`


class Doing(NamedTuple):
    """The classes of work of one core or thread; shares are of the time that it was busy."""

    text: str | None = None  # 61 % netfilter (nft_do_chain), 20 % copy
    work: str | None = None  # the class of most of it
    share: float | None = None  # of that class, percent
    relief: str | None = None  # what relieves it


NOTHING: Final = Doing()


class Share(NamedTuple):
    """One class of work, or one function of it."""

    name: str
    samples: int
    percent: float


class Group(NamedTuple):
    """The samples of one core or one thread."""

    name: str
    number: int
    samples: int  # with idle time
    busy: int
    classes: Counter[str]
    functions: Counter[tuple[str, str]]  # class and function
    threads: Counter[str]  # of a core


def groups(rows: Sequence[profiles.Row], target: int | None) -> list[Group]:
    """Each core, or each thread of the process `target`; the busiest thread first."""
    by_core = target is None or all(one.core == target for one in rows)
    sums: dict[int, Group] = {}
    for one in rows:
        key = one.core if by_core else one.thread
        name = f"core {key}" if by_core else f"thread {one.name}[{key}]"
        known = sums.get(key) or Group(name, key, 0, 0, Counter(), Counter(), Counter())
        busy = one.samples * (one.work != profiles.IDLE)
        sums[key] = known._replace(samples=known.samples + one.samples, busy=known.busy + busy)
        if busy:
            known.classes[one.work] += busy
            known.functions[one.work, one.function] += busy
            known.threads[f"{one.name}[{one.thread}]" if one.thread else "interrupts"] += busy
    return sorted(sums.values(), key=lambda one: one.number if by_core else -one.busy)


def shares(counts: Mapping[str, int]) -> list[Share]:
    """The share of each class or function, the largest first, without idle time."""
    busy = sum(count for name, count in counts.items() if name != profiles.IDLE)
    found = [
        Share(name, count, 100 * count / busy)
        for name, count in counts.items()
        if name != profiles.IDLE and count
    ]
    return sorted(found, key=lambda one: (-one.samples, one.name))


def sentence(found: Iterable[Share], function: str) -> str:
    """`61 % netfilter (nft_do_chain), 20 % copy`; `function` is the foremost of the first class."""
    first, *others = found
    parts = [f"{first.percent:.0f} % {first.name} ({function})"]
    parts += [
        f"{one.percent:.0f} % {one.name}" for one in others[: SHOWN - 1] if one.percent >= SMALL
    ]
    return ", ".join(parts)


def cores(samples: Samples) -> dict[int, Doing]:
    """What each core does that is busy enough to say it."""
    return _doing((one.now.core, one.now) for one in samples)


def threads(samples: Samples) -> dict[int, Doing]:
    """What each thread does that ran enough to say it."""
    return _doing((one.now.thread, one.now) for one in samples)


def _doing(rows: Iterable[tuple[int, profiles.Row]]) -> dict[int, Doing]:
    works: dict[int, Counter[str]] = {}
    functions: dict[tuple[int, str], Counter[str]] = {}
    for key, row in rows:
        works.setdefault(key, Counter())[row.work] += row.samples
        functions.setdefault((key, row.work), Counter())[row.function] += row.samples
    found = {}
    for key, counts in works.items():
        if counts.total() - counts[profiles.IDLE] >= LEAST:
            classes = shares(counts)
            first = classes[0]
            ((function, _),) = functions[key, first.name].most_common(1)
            advice = profiles.words(first.name).advice if first.percent >= FOREMOST else ""
            text = sentence(classes, function)
            found[key] = Doing(text, first.name, first.percent, advice or None)
    return found
