"""Finding and reading rule files, the user's over those that came with nettop.

For judging, only what stands before the first `[[test]]` is read; `check` reads it all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from ...files.bounds import BOUNDS, exceeded
from ...files.bounds import read as bounds_read
from ...files.trust import UNTRUSTED, trusted
from ...terms.errors import nearest
from ..language.syntax import Limits
from .file import RuleError, build, parsed, threshold
from .rule import Rule

PACK: Final = "ids.txt"  # this file marks the folder that came with nettop
OTHERS: Final = ("studies",)  # folders of the pack that hold no rules
_TESTS: Final = re.compile(r"\n\[\[test\]\]")
_OTHER: Final = re.compile(r"\n\[(?!\[?test[].])")


def load(
    folders: Iterable[Path],
    limits: Mapping[str, Limits] | None = None,
    tell: Callable[[str], None] | None = None,
) -> tuple[Rule, ...]:
    """The rules of the folders; a later folder replaces rules of the same id.

    `limits` are the user's thresholds, by rule and name. A file or a threshold of the user's that
    is wrong is left out, and `tell` gets a sentence; without `tell`, and where a file that came
    with nettop is wrong, RuleError.
    """
    told: list[RuleError] = []
    found: dict[str, Rule] = {}
    for folder in folders:
        found.update(_of_folder(folder, told))
    for rule in tuple(found.values()):
        for name in rule.yields:
            if name not in found:
                wrong = f"{rule.path}: yields: no such rule {name}{nearest(name, found)}"
                told.append(RuleError(wrong))
                found.pop(rule.id, None)
    for name, values in (limits or {}).items():
        try:
            found[name] = _override(found, name, values)
        except RuleError as error:
            told.append(error)
    for fault in told:
        if tell is None:
            raise fault
        tell(str(fault))
    return tuple(found.values())


def _of_folder(folder: Path, told: list[RuleError]) -> dict[str, Rule]:
    """The rules of one folder by id; what is wrong in a user's folder goes to `told`."""
    here: dict[str, Rule] = {}
    tested = (folder / PACK).exists()  # what came with nettop, whose tests read all of it
    try:
        paths = files(folder)
    except RuleError as error:
        told.append(error)
        return here
    for path in paths:
        try:
            if not tested and not trusted(path):
                raise RuleError(f"{path}: {UNTRUSTED}")
            rule = read(path, shipped=tested)
            if not tested:
                _whole(rule)
            if rule.id in here:
                raise RuleError(f"{path}: the id {rule.id} is taken by {here[rule.id].path}")
            here[rule.id] = rule
        except RuleError as error:
            if tested:
                raise
            told.append(error)
    return here


def _whole(rule: Rule) -> None:
    """RuleError when a user's rule is wrong in its words or names a setting that does not exist."""
    from . import settings as address  # asks the kinds of settings, which judging does not need

    address.check(rule)


def files(folder: Path) -> list[Path]:
    """The rule files of a folder: of its sub-folders, and its own where the folder is a user's.

    RuleError when there are more files or folders than the bound.
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


def read(path: Path, *, shipped: bool = False) -> Rule:
    """One rule without its tests; `shipped` as in `file.build`."""
    text = _text(path)
    start = _TESTS.search(text)
    head = text if start is None else text[: start.start()]
    stray = None if start is None else _OTHER.search(text, start.start())
    if stray is not None:
        line = text.count("\n", 0, stray.start()) + 2
        raise RuleError(f"{path}:{line}: all [[test]] stand last in the file")
    return build(path, head, shipped=shipped)


def tests(path: Path) -> list[dict[str, Any]]:
    """The rule's own tests, as written."""
    found: list[dict[str, Any]] = parsed(path, _text(path)).get("test", [])
    return found


def _text(path: Path) -> str:
    try:
        return bounds_read(path, "rule").decode("utf-8")
    except OSError as error:
        raise RuleError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise RuleError(f"{path}: {error}") from None


def _override(found: Mapping[str, Rule], name: str, values: Any) -> Rule:
    rule = found.get(name)
    if rule is None:
        raise RuleError(f"configuration: limits.{name}: no such rule{nearest(name, found)}")
    if not isinstance(values, Mapping):
        raise RuleError(f"configuration: limits.{name} is a table of numbers")
    for key, value in values.items():
        if key not in rule.limits:
            raise RuleError(
                f"configuration: limits.{name}.{key}: the rule has no such limit"
                f"{nearest(key, rule.limits)}"
            )
        if threshold(value) is None or isinstance(value, list) != isinstance(
            rule.limits[key], tuple
        ):
            raise RuleError(f"configuration: limits.{name}.{key} cannot be {value!r}")
    own = {key: threshold(value) for key, value in values.items()}
    return replace(rule, limits={**rule.limits, **own})


__all__ = ["RuleError", "files", "load", "read", "tests"]
