"""The mutants that were played, one JSON line each, and their page: docs/records/mutants.md.

`tests/mutants.py --record` adds what it plays; `--again` plays the survivors once more. The reason
of a survivor is written into its line by hand: `why`, and `"same": true` where the changed program
does the same, so that no test can notice it.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
RECORD: Final = Path(__file__).with_name("mutants.jsonl")
PAGE: Final = ROOT / "docs/records/mutants.md"
_HEAD: Final = """\
# Small changes of the code that tests notice

`tests/mutants.py` changes one expression or statement of `src/nettop` at a time and runs the tests
that execute the changed lines (`tests/line_map.py`). The changes are chosen by chance from a seed;
a run that was cut off contributes its first changes. The program writes this page from
`tests/mutants.jsonl`: `--record` adds what it plays, `--again` plays the survivors once more.

*First* is the first play of each change, *now* the last one, with the tests that were written
since. *Same* are changes after which the program does the same, so that no test can notice them;
*share* is *now* without these. Tests in namespaces and in the virtual machine do not run here.

For rules, `tests/rule_mutation.py` drops and negates conditions; `tests/rule_boundaries.py`
doubles and halves limits and drops `hold`, `profiles` and the `if` of fixes. Both print what no
test notices: of 219 rules, none of 2,077 changes of the first kind and none of 1,132 of the
second. Of 452 changes of `>` to `>=`, or back, 17 go unnoticed: a measured rate is never exactly
its limit.

"""


@dataclass(frozen=True, slots=True)
class Played:
    """One mutant: `where` is the file below src/nettop, `first` and `now` whether a test failed."""

    seed: int
    where: str
    line: int
    change: str
    first: bool
    now: bool
    same: bool = False
    why: str = ""

    @property
    def folder(self) -> str:
        """The folder of src/nettop."""
        return self.where.partition("/")[0]


def load() -> list[Played]:
    """All mutants of the record."""
    lines = RECORD.read_text(encoding="utf-8").splitlines() if RECORD.exists() else []
    return [Played(**json.loads(line)) for line in lines]


def save(played: Iterable[Played]) -> None:
    """Write the record and the page."""
    every = sorted(played, key=lambda one: (one.seed, one.where, one.line, one.change))
    lines = [json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in every]
    RECORD.write_text("".join(lines), encoding="utf-8")
    PAGE.write_text(page(every), encoding="utf-8")


def page(played: Sequence[Played]) -> str:
    """The page: sums by folder, then the survivors with their reasons."""
    seeds = ", ".join(str(seed) for seed in sorted({one.seed for one in played}))
    out = [_HEAD, f"{len(played)} changes, seeds {seeds}.\n\n"]
    out += ["| folder | changes | first | now | same | share |\n|---|---|---|---|---|---|\n"]
    for folder in sorted({one.folder for one in played}):
        out.append(_sums(folder, [one for one in played if one.folder == folder]))
    out += [_sums("all", played), "\nThe changes that no test notices:\n\n"]
    out += ["| change | why |\n|---|---|\n"]
    for one in sorted(played, key=lambda one: (one.same, one.where, one.line)):
        if not one.now:
            change = one.change.replace("|", "\\|").replace("`", "'")
            why = f"the same: {one.why}" if one.same else one.why or "no test"
            out.append(f"| `{one.where}` `{change}` | {why} |\n")
    return "".join(out)


def _sums(name: str, played: Sequence[Played]) -> str:
    first, now = sum(one.first for one in played), sum(one.now for one in played)
    same = sum(one.same for one in played if not one.now)
    share = f"{100 * now / max(1, len(played) - same):.0f} %"
    return f"| {name} | {len(played)} | {first} | {now} | {same} | {share} |\n"
