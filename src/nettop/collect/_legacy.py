"""Obsolete advice in sysctl files that is harmful today: `rules/legacy-sysctls.toml`."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from .. import config
from ..terms.dataclass import dataclass

_COMPARISON: Final = re.compile(r"(?:\[(\d)\] *)?(==|!=|>=|<=|>|<) *(\d+)")
_OPERATORS: Final = {
    "==": operator.eq, "!=": operator.ne, ">=": operator.ge, "<=": operator.le,
    ">": operator.gt, "<": operator.lt,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class HarmfulSetting:
    """A harmful value of a parameter: the condition, the id of its source, and the reason."""

    key: str
    bad: str
    entry: str
    why: str

    def holds(self, value: str) -> bool:
        """Whether this value is harmful; False for text that is not a number."""
        words = value.split()
        if self.bad == "always":
            return True
        if self.bad == "equal":
            return len(words) == 3 and len(set(words)) == 1
        found = _COMPARISON.fullmatch(self.bad)
        if found is None:
            raise ValueError(f"legacy-sysctls.toml: {self.key}: no comparison: {self.bad!r}")
        place, sign, limit = int(found[1] or 0), found[2], int(found[3])
        if place >= len(words) or not re.fullmatch(r"-?\d{1,18}", words[place], re.ASCII):
            return False
        return bool(_OPERATORS[sign](int(words[place]), limit))


@cache
def lines() -> Mapping[str, Sequence[HarmfulSetting]]:
    """The harmful values by key; ValueError with the name of the file for a wrong table."""
    import tomllib

    path = config.rules_folder() / "legacy-sysctls.toml"
    out: dict[str, list[HarmfulSetting]] = {}
    try:
        for entry in tomllib.loads(path.read_text())["line"]:
            line = HarmfulSetting(**entry)
            line.holds("0")
            out.setdefault(line.key, []).append(line)
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None
    return out


def harmful(key: str, value: str) -> HarmfulSetting | None:
    """The first entry by which this setting is harmful; None if there is none."""
    for line in lines().get(key.replace("/", "."), ()):
        if line.holds(value):
            return line
    return None
