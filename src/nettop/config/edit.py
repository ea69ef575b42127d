"""Change keys of the user's config.toml, and nothing else in it.

Comments, order and layout of the file stay. The file is replaced atomically, or it stays as it is;
a symbolic link keeps pointing to it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..files import bounds
from ..files.draft import write
from .folders import ConfigError, must_be_ours, user_folder

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

Value = str | bool | float | tuple[str, ...]
NEW = "# nettop: written by the pane of options; nettop reads it at its start\n"


def save(values: Mapping[str, Value]) -> Path:
    """Set keys (`theme`, `columns.flows`) in the user's config.toml; returns the file.

    ConfigError, one sentence, if the file belongs to another user, is no valid TOML or cannot be
    written. The file is then as before.
    """
    path = user_folder() / "config.toml"
    must_be_ours(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        target = Path(os.path.realpath(path))
        before = _text(path, target)
        after = edited(before, values, path)
        if after != before:
            write(target, after)
    except OSError as error:
        raise ConfigError(f"{path}: not written: {error.strerror or error}") from None
    return path


def edited(text: str, values: Mapping[str, Value], path: Path) -> str:
    """The text of a configuration with these keys set; ConfigError if it is no valid TOML."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        expected = bounds.tables(text)
        document = tomlkit.parse(text or NEW)
        for key, value in values.items():
            _expect(expected, key, value)
            _put(document, key, value)
        after = tomlkit.dumps(document)
        same = bounds.tables(after) == expected
    except (ValueError, TOMLKitError) as error:
        raise ConfigError(f"{path}: not written: {error}") from None
    if not same:
        raise ConfigError(f"{path}: not written: its layout cannot be kept; change it by hand")
    return after


def _put(document: TOMLDocument, key: str, value: Value) -> None:
    """Set one key of a document, in its table; the table is added at the end if there is none."""
    import tomlkit

    table, _, name = key.rpartition(".")
    item = tomlkit.item(list(value) if isinstance(value, tuple) else value)
    if not table:
        document[name] = item
    elif table in document:
        document[table][name] = item
    else:
        added = tomlkit.table()
        added.add(name, item)
        document.add(table, added)


def _expect(tables: bounds.Table, key: str, value: Value) -> None:
    """The same change in the parsed tables; ValueError where a table should be and is none."""
    table, _, name = key.rpartition(".")
    place = tables.setdefault(table, {}) if table else tables
    if not isinstance(place, dict):
        raise ValueError(f"{table} must be a table")  # noqa: TRY004
    place[name] = list(value) if isinstance(value, tuple) else value


def _text(path: Path, target: Path) -> str:
    """The text of the file, or "" if there is none; ConfigError if it is another user's."""
    try:
        owner = os.stat(target).st_uid
    except FileNotFoundError:
        return ""
    if owner != os.geteuid():
        raise ConfigError(f"{path}: not written, because it belongs to another user")
    try:
        return bounds.read(target, "config").decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not written: {error}") from None
