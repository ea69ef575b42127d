"""What pages of studies share: conditions and sentences that README says once.

A page keeps the rest, so that no figure is lost.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from nettop.trials import report

MANY = 3  # pages that say the same
NEARLY = 0.9  # of the pages
DIRECTION = "the direction of the paper: "  # each page says it itself
_Key = TypeVar("_Key")
Found = Mapping[str, Mapping[str, Any]]  # by study its result


class Shared(NamedTuple):
    """`here` is that of all pages; by pair or sentence, the pages that have it."""

    here: Mapping[str, Any]
    published: Mapping[tuple[str, str], tuple[str, ...]]
    sentences: Mapping[str, tuple[str, ...]]


def shared(found: Found) -> Shared:
    """What at least three pages share; of the conditions here, what nearly all do."""
    pairs: dict[tuple[str, str], list[str]] = defaultdict(list)
    said: dict[str, list[str]] = defaultdict(list)
    for name in sorted(found, key=_order):
        one = found[name]
        for key, value in one["conditions"]["published"].items():
            pairs[key, report.condition(value)].append(name)
        for sentence in _sentences(one):
            if DIRECTION not in sentence:
                said[sentence].append(name)
    return Shared(
        _common(one["conditions"]["here"] for one in found.values()), _often(pairs), _often(said)
    )


def _often(some: Mapping[_Key, Sequence[str]]) -> dict[_Key, tuple[str, ...]]:
    return {key: tuple(names) for key, names in some.items() if len(names) >= MANY}


def _sentences(one: Mapping[str, Any]) -> tuple[str, ...]:
    return report.sentences(one["requires"], one["notes"])


def _common(every: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    first, *others = every
    return {key: value for key, value in first.items()
            if sum(one.get(key) == value for one in others) >= NEARLY * len(others)}  # fmt: skip


def short(one: Mapping[str, Any], common: Shared) -> dict[str, Any]:
    """The result without what README says of it."""
    kept = [text for text in _sentences(one) if text not in common.sentences]
    published, here = one["conditions"]["published"], one["conditions"]["here"]
    conditions = {
        "published": {key: value for key, value in published.items()
                      if (key, report.condition(value)) not in common.published},
        "here": {key: value for key, value in here.items()
                 if key not in common.here or value != common.here[key]},
    }  # fmt: skip
    return {**one, "requires": [], "notes": kept,
            "conditions": {name: some for name, some in conditions.items() if some}}  # fmt: skip


def page(one: Mapping[str, Any], common: Shared) -> str:
    """The page of a study, without its figures."""
    head, rest = report.markdown(short(one, common)).split("\n\n", 1)
    return f"{head}\n\n[What pages share](README.md#what-pages-share)\n\n{rest}"


def words(common: Shared) -> str:
    """The part of README with all of it."""
    here = (_pair(key, report.condition(value)) for key, value in common.here.items())
    lines = [f"- All pages that do not say otherwise, here: {', '.join(here)}"]
    for names, pairs in _by_pages(common.published):
        lines.append(f"- {names}, published: {', '.join(_pair(*pair) for pair in pairs)}")
    for names, sentences in _by_pages(common.sentences):
        lines += [f"- {names}:", *(f"  - {text}" for text in sentences)]
    return "\n".join(lines)


def _pair(key: str, value: str) -> str:
    return f"{report.named(key)} {value}"


def _by_pages(some: Mapping[_Key, tuple[str, ...]]) -> Iterator[tuple[str, list[_Key]]]:
    """What the same pages share, together."""
    every: dict[tuple[str, ...], list[_Key]] = defaultdict(list)
    for key, names in some.items():
        every[names].append(key)
    for names in sorted(every, key=lambda names: [*map(_order, names)]):
        yield ", ".join(_ranges(names)), every[names]


def _ranges(names: Iterable[str]) -> Iterator[str]:
    """`cern-1 to 6` of names that follow one another."""
    runs: list[list[str]] = []
    for name in sorted(names, key=_order):
        if runs and _follows(runs[-1][-1], name):
            runs[-1].append(name)
        else:
            runs.append([name])
    for run in runs:
        yield run[0] if len(run) == 1 else f"{run[0]} to {run[-1].rpartition('-')[2]}"


def _order(name: str) -> tuple[str, int, str]:
    first, _, rest = name.partition("-")
    return first, int(rest) if rest.isdecimal() else -1, rest


def _follows(last: str, name: str) -> bool:
    (paper, before, _), (other, number, _) = _order(last), _order(name)
    return paper == other and before > 0 and number == before + 1
