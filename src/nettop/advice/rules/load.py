"""Read rule files from folders; a rule of the user replaces the packaged one of the same id.

Of a file only what stands before the tests is read; `tests` reads the rest.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Final

from ...files.bounds import BOUNDS, exceeded, numbers
from ...files.bounds import read as bounds_read
from ...files.trust import UNTRUSTED, trusted
from ...terms.errors import nearest
from ..language.syntax import Limit, Limits
from .file import build, threshold
from .rule import Rule
from .written import RuleError, Table, Written, without_tests, written

PACK: Final = "ids.txt"  # this file marks the folder that came with nettop
OTHERS: Final = ("studies",)  # folders of the pack that hold no rules


def load(
    folders: Iterable[Path],
    limits: Mapping[str, Limits] | None = None,
    tell: Callable[[str], None] | None = None,
) -> tuple[Rule, ...]:
    """The rules of the folders; a later folder replaces rules of the same id.

    `limits` are the user's thresholds, by rule and name. Wrong files and thresholds of the user are
    left out, and `tell` gets one sentence for each; without `tell` they raise RuleError. A wrong
    packaged file always raises RuleError.
    """
    errors: list[RuleError] = []
    rules: dict[str, Rule] = {}
    for folder in folders:
        rules.update(_of_folder(folder, errors))
    for rule in tuple(rules.values()):
        named = [("yields", name) for name in rule.yields] + [
            ("after", name) for name in rule.after
        ]
        for key, name in named:
            if name not in rules:
                wrong = f"{rule.path}: {key}: no such rule {name}{nearest(name, rules)}"
                errors.append(RuleError(wrong))
                rules.pop(rule.id, None)
    for name, values in (limits or {}).items():
        try:
            rules[name] = _override(rules, name, values)
        except RuleError as error:
            errors.append(error)
    for fault in errors:
        if tell is None:
            raise fault
        tell(str(fault))
    return tuple(rules.values())


def _of_folder(folder: Path, errors: list[RuleError]) -> dict[str, Rule]:
    """The rules of one folder by id; the errors of a user's folder are added to `errors`."""
    rules: dict[str, Rule] = {}
    shipped = (folder / PACK).exists()  # came with nettop; the project's tests check all of it
    try:
        paths = files(folder)
    except RuleError as error:
        errors.append(error)
        return rules
    for path in paths:
        try:
            if not shipped and not trusted(path):
                raise RuleError(f"{path}: {UNTRUSTED}")
            found = read(path)
            for rule in found:
                if not shipped:
                    _check_whole(rule)
                if rule.id in rules:
                    raise RuleError(f"{path}: the id {rule.id} is taken by {rules[rule.id].path}")
            rules.update({rule.id: rule for rule in found})
        except RuleError as error:
            if shipped:
                raise
            errors.append(error)
    by_place = sorted(rules.values(), key=lambda rule: (os.path.dirname(rule.path), rule.id))
    return {rule.id: rule for rule in by_place}


def _check_whole(rule: Rule) -> None:
    """RuleError if the texts of a user's rule are wrong or it names what nettop does not know."""
    from . import settings as address  # asks the kinds of settings, which judging does not need

    address.check(rule)


def files(folder: Path) -> list[Path]:
    """The rule files of the sub-folders, and of the folder itself if it is the user's.

    RuleError if there are more files or folders than the bound.
    """
    most = BOUNDS["rules"].most
    own = [] if (folder / PACK).exists() else sorted(folder.glob("*.toml"))
    inner = sorted(entry.path for entry in os.scandir(folder) if os.path.isdir(entry.path))
    tops = [top for top in inner if os.path.basename(top) not in OTHERS]
    walked = list(islice(chain.from_iterable(map(os.walk, tops)), most + 1))
    below = [
        Path(root, name)
        for root, _folders, names in sorted(walked)
        for name in sorted(names)
        if name.endswith(".toml")
    ]
    if max(len(walked), len(own) + len(below)) > most:
        raise RuleError(f"{folder}: {exceeded('rules').strerror}")
    return [*own, *below]


def read(path: Path) -> tuple[Rule, ...]:
    """The rules of a file without their tests; RuleError if it is wrong or cannot be read."""
    return build(path, without_tests(path, _text(path)))


def tests(rule: Rule) -> list[Table]:
    """The rule's own tests, as written; RuleError as `read`."""
    path = Path(rule.path)
    data = next(one.data for one in _whole(path, _text(path)) if one.id == rule.id)
    found = data.get("test", [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise RuleError(f"{path}: test must be tables: write [[test]]")
    if not numbers(found):
        raise RuleError(f"{path}: [[test]] has a number above {BOUNDS['number']} or not finite")
    return found


@lru_cache(maxsize=1024)
def _whole(path: Path, text: str) -> tuple[Written, ...]:
    return tuple(written(path, text))


def _text(path: Path) -> str:
    try:
        return bounds_read(path, "rule").decode("utf-8")
    except OSError as error:
        raise RuleError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise RuleError(f"{path}: {error}") from None


def _override(rules: Mapping[str, Rule], name: str, values: object) -> Rule:
    """The rule with the user's thresholds; RuleError if one of them is wrong."""
    rule = rules.get(name)
    if rule is None:
        raise RuleError(f"configuration: limits.{name}: no such rule{nearest(name, rules)}")
    if not isinstance(values, Mapping):
        raise RuleError(f"configuration: limits.{name} must be a table of numbers")
    own: dict[str, Limit] = {}
    for key, value in values.items():
        if key not in rule.limits:
            raise RuleError(
                f"configuration: limits.{name}.{key}: the rule has no such limit"
                f"{nearest(key, rule.limits)}"
            )
        limit = threshold(value)
        if limit is None or isinstance(limit, tuple) != isinstance(rule.limits[key], tuple):
            raise RuleError(f"configuration: limits.{name}.{key} cannot be {value!r}")
        own[key] = limit
    return replace(rule, limits={**rule.limits, **own})


__all__ = ["RuleError", "files", "load", "read", "tests"]
