"""A host before and after the fix: nettop applies it, and the load begins anew.

Running sockets keep most of what a fix changes, so the programs of the load start again; but a
setting of a process ends with it, so they go on after such a fix. The fix is applied by `nettop
apply`, and confirmed where it must be.
"""

import contextlib
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from live import ask, work
from live.place import Place
from live.scenario import LOUD, Outcome, Scenario, score
from live.work import Work

ASKED = 3  # times: where load comes and goes a finding may not hold at this moment


@dataclass(frozen=True)
class Treated:
    """The findings whose fixes were applied, what is found afterwards, and what the load did."""

    fixed: tuple[str, ...]
    remains: tuple[str, ...]  # of them: found again
    begins: tuple[str, ...]  # critical or warning, and not found before
    twice: tuple[str, ...]  # settings to which two findings gave different values
    before: Work
    after: Work

    @property
    def cures(self) -> bool:
        """All of them are gone."""
        return not self.remains

    def row(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self) | {
            "worse": work.worse(self.before, self.after),
            "told": [self.before.told(), self.after.told()],
        }


def play(scenario: Scenario) -> tuple[Outcome, Treated | None]:
    """What nettop says of this host, and what its fixes did; None: it offers none.

    A fix counts where a finding that the case demands has one, and nettop applies it without
    an experiment.
    """
    if scenario.file.startswith("recorded"):
        return ask.run(scenario), None
    with ask.host(scenario) as place, tempfile.TemporaryDirectory() as state:
        with _load(place, scenario):
            found, before = _looked(place, scenario)
            outcome = score(scenario, [(one["severity"], one["id"]) for one in found])
            fixed = _applied(place, scenario, found, state)
            if not fixed:
                return outcome, None
            if lives := _of_processes(found, fixed):
                left, after = _looked(place, scenario)
        if not lives:
            with _load(place, scenario):
                left, after = _looked(place, scenario)
    rules = {name.partition("@")[0] for name in fixed}
    known = {one["rule"] for one in found}
    return outcome, Treated(
        fixed,
        tuple(one["id"] for one in left if one["rule"] in rules),
        tuple(one["id"] for one in left if one["severity"] in LOUD and one["rule"] not in known),
        _twice(found), before, after,
    )  # fmt: skip


@contextlib.contextmanager
def _load(place: Place, scenario: Scenario) -> Iterator[None]:
    with place.running(scenario.words("load"), float(scenario.told.get("settle", 1.5))):
        yield


def _looked(place: Place, scenario: Scenario) -> tuple[list[dict[str, Any]], Work]:
    """The findings, and what the load did meanwhile."""
    before, began = work.counters(place), time.monotonic()
    found = ask.ask(place, scenario)["findings"]
    return found, work.between(before, work.counters(place), time.monotonic() - began)


def _applied(
    place: Place, scenario: Scenario, found: Sequence[dict[str, Any]], state: str
) -> tuple[str, ...]:
    """Let nettop apply the fix of each demanded finding; the findings whose fix was applied."""
    demanded = {name.partition("@")[0] for name in scenario.words("first")}
    demanded |= {name.partition("@")[0] for name in scenario.words("expect")}
    done = []
    for one in found:
        if one["rule"] in demanded and one["changes"]:
            words = ["apply", one["id"], "--json", *ask.looks(scenario)]
            for _ in range(ASKED):
                try:
                    results = ask.nettop(place, words, state)["changes"]
                except RuntimeError as error:
                    if "needs a test first" in str(error):
                        break
                    continue
                if any(result["state"] == "pending" for result in results):
                    ask.nettop(place, ["confirm", "--json"], state)
                done.append(str(one["id"]))
                break
    return tuple(done)


def _of_processes(found: Sequence[dict[str, Any]], fixed: tuple[str, ...]) -> bool:
    """Whether these fixes set only what belongs to a running process."""
    changes = [change for one in found if one["id"] in fixed for change in one["changes"]]
    return all(change["setting"].startswith("process.") for change in changes)


def _twice(found: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Settings that these findings would set to different values."""
    values: dict[str, set[str]] = {}
    for one in found:
        for change in one["changes"]:
            values.setdefault(change["setting"], set()).add(str(change["after"]))
    return tuple(sorted(name for name, ways in values.items() if len(ways) > 1))
