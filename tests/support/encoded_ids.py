"""Whether the rules cover every id of the knowledge base (`ids.txt`), and no unknown one.

An id is encoded by a rule (tests/advice/encodes.txt), by a study (`studies/*.toml`), by a formula
or check of the program (`formulas.toml`), or listed in `not-encoded.toml` with the reason.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nettop.advice.rules.written import Table

MOST: Final = 25  # ids that may stay out
BY_RULES: Final = Path(__file__).parents[1] / "advice/encodes.txt"


@dataclass(frozen=True, slots=True)
class Coverage:
    """The encodings of each id; ids without one; unknown names; ids left out with a reason."""

    where: Mapping[str, tuple[str, ...]]
    nowhere: tuple[str, ...]
    invented: tuple[str, ...]
    left_out: Mapping[str, str]  # id → reason


def ids(pack: Path) -> list[str]:
    """All ids of the knowledge base, in the order of the file."""
    lines = (pack / "ids.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def by_rules(path: Path = BY_RULES) -> dict[str, list[str]]:
    """Id → the rules that encode it; of another list, what stands before its names."""
    entries = re.findall(r"^([^#\s].*?):((?:.|\n )*)", path.read_text("utf-8"), re.MULTILINE)
    return {one: names.split() for one, names in entries}


def coverage(pack: Path, ruled: Mapping[str, Sequence[str]]) -> Coverage:
    """The coverage of the ids by rules, and by the studies and formulas in the folder `pack`."""
    where = {one: list(names) for one, names in ruled.items()}
    for name, encodes in _of_files(pack):
        for one in encodes:
            where.setdefault(one, []).append(name)
    left_out = {entry["id"]: entry["because"] for entry in entries(pack / "not-encoded.toml", "id")}
    known = ids(pack)
    nowhere = [one for one in known if one not in where and one not in left_out]
    invented = [one for one in (*where, *left_out) if one not in known]
    places = {one: tuple(names) for one, names in where.items()}
    return Coverage(places, tuple(nowhere), tuple(invented), left_out)


def _of_files(pack: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    for path in sorted((pack / "studies").glob("*.toml")):
        yield f"studies/{path.stem}", tuple(_toml(path).get("encodes", ()))
    for entry in entries(pack / "formulas.toml", "formula"):
        yield f"formulas/{entry['name']}", tuple(entry["encodes"])


def entries(path: Path, table: str) -> list[Table]:
    """The entries of one table of a TOML file; none without the file."""
    return list(_toml(path).get(table, ())) if path.exists() else []


def _toml(path: Path) -> Table:
    return tomllib.loads(path.read_text(encoding="utf-8"))
