"""Lines in sysctl files that were advice once and do harm today: `rules/legacy-sysctls.toml`."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from .. import config

_COMPARISON: Final = re.compile(r"(?:\[(\d)\] *)?(==|!=|>=|<=|>|<) *(\d+)")
_OPERATORS: Final = {
    "==": operator.eq, "!=": operator.ne, ">=": operator.ge, "<=": operator.le,
    ">": operator.gt, "<": operator.lt,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class HarmfulSetting:
    """One harmful setting: when it is, the entry that measured it, and why."""

    key: str
    bad: str
    entry: str
    why: str

    def holds(self, value: str) -> bool:
        """Whether this value is the harmful one; text that is no number is not judged."""
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
    """The harmful lines by key; ValueError names the file when it cannot be understood."""
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
    """The first entry that says this setting harms; None when none does."""
    for line in lines().get(key.replace("/", "."), ()):
        if line.holds(value):
            return line
    return None
