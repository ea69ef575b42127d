"""Configuration: the folders of nettop and of its user, and the configuration files.

Returns plain values. Panes and commands validate their own part of them.

    /etc/nettop/config.toml, then ~/.config/nettop/config.toml (or XDG_CONFIG_HOME)

    theme = "dark"            units = "bits"        interval = 1.0        mouse = true
    drop_reasons = true                             # count them in the kernel (needs root)
    budget = 1.0                                    # percent of a core that sampling may take
    bell = true                                     # signal a new critical finding
    deep = false                                    # `advise` loads no programs into the kernel
    [limits.rx-ring-overrun]  drops = 10            # a rule's own threshold
    [columns]                 flows = ["process", "peer", "limit", "rtt"]

`columns` lists the columns of the panes flows, cores and nic, by lower-case heading, in display
order. Columns that do not fit the width are dropped from the right.

The user's rules are in `rules/` next to each configuration file. Muted findings are in `muted` in
the user's folder, one `rule@target` per line. All files are data; nothing in them is executed.

Keys of the user's config.toml can be changed, and nothing else in it: comments, order and layout
of the file stay. The file is replaced atomically, or it stays as it is; a symbolic link keeps
pointing to it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files import bounds
from ..files.draft import write
from ..files.trust import UNTRUSTED, folder, trusted
from ..terms.dataclass import dataclass
from ..terms.errors import nearest

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

__all__ = [
    "KNOWN", "SYSTEM", "Config", "ConfigError", "load", "mute", "muted", "rule_folders",
    "rules_folder", "save", "state_folder", "user_folder",
]  # fmt: skip


KNOWN = {
    "theme": str, "units": str, "prefix": str, "interval": (int, float), "mouse": bool,
    "interface": str, "profile": str, "limits": dict, "ascii": bool, "columns": dict,
    "drop_reasons": bool, "budget": (int, float), "bell": bool, "deep": bool,
}  # fmt: skip
CHOICES = {"units": ("bits", "bytes"), "prefix": ("si", "iec")}


@dataclass(frozen=True, slots=True)
class Config:
    """The merged configuration; a key of a later file overrides an earlier one."""

    values: bounds.Table = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    muted: frozenset[str] = frozenset()
    faults: tuple[str, ...] = ()  # one sentence, with file and key, for each ignored entry

    def get(self, key: str, default: Any) -> Any:
        """A value, or the default."""
        return self.values.get(key, default)


def load() -> Config:
    """Read the configuration. Invalid entries are ignored and listed in `faults`."""
    values: bounds.Table = {}
    limits: dict[str, dict[str, float]] = {}
    hidden: list[str] = []
    faults: list[str] = []
    for path in (SYSTEM / "config.toml", user_folder() / "config.toml"):
        try:
            table = _read(path)
        except ConfigError as error:
            faults.append(str(error))
            continue
        for key, value in table.items():
            try:
                _check(path, key, value)
                if key == "limits":
                    for rule, thresholds in _thresholds(path, value, faults):
                        limits.setdefault(rule, {}).update(thresholds)
                else:
                    values[key] = value
            except ConfigError as error:
                faults.append(str(error))
    try:
        hidden = muted()
    except ConfigError as error:
        faults.append(str(error))
    return Config(values, limits, frozenset(hidden), tuple(faults))


def _read(path: Path) -> bounds.Table:
    try:
        return bounds.tables(_text(path))
    except ValueError as error:
        message = str(error) if isinstance(error, ConfigError) else f"{path}: {error}"
        raise ConfigError(message) from None


def _check(path: Path, key: str, value: Any) -> None:
    if key not in KNOWN:
        raise ConfigError(f"{path}: unknown key {key!r}{nearest(key, KNOWN)}")
    true = isinstance(value, bool) and KNOWN[key] is not bool  # Python takes it for a number
    if true or not isinstance(value, KNOWN[key]):  # type: ignore[arg-type]
        raise ConfigError(f"{path}: {key} has an invalid value: {_shown(value)}")
    if value not in CHOICES.get(key, (value,)):
        raise ConfigError(f"{path}: {key} must be {' or '.join(CHOICES[key])}, not {_shown(value)}")
    if key == "interval" and not 0.1 <= value <= 3600:
        raise ConfigError(f"{path}: interval must be 0.1 to 3600 seconds, not {_shown(value)}")
    if key == "budget" and not 0.1 <= value <= 100:
        raise ConfigError(f"{path}: budget must be 0.1 to 100 percent, not {_shown(value)}")


def _thresholds(
    path: Path, tables: bounds.Table, faults: list[str]
) -> Iterator[tuple[str, bounds.Table]]:
    """The thresholds of each rule; invalid entries are added to `faults`."""
    for rule, given in tables.items():
        if not isinstance(given, dict):
            faults.append(f"{path}: limits.{rule} must be a table of numbers")
            continue
        good = {k: v for k, v in given.items() if bounds.number(v) or isinstance(v, list)}
        faults += [
            f"{path}: limits.{rule}.{k} has an invalid value: {_shown(v)}"
            for k, v in given.items()
            if k not in good
        ]
        yield rule, good


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def muted() -> list[str]:
    """The muted findings, each `rule@target`."""
    text = _text(user_folder() / "muted")
    return [line.strip() for line in text.splitlines() if line.strip() and line[0] != "#"]


def mute(names: Sequence[str]) -> None:
    """Replace the list of muted findings; OSError if it cannot be written."""
    place = user_folder()
    place.mkdir(parents=True, exist_ok=True)
    write(place / "muted", "".join(f"{name}\n" for name in names))


def _text(path: Path) -> str:
    """The text of the file; empty if it does not exist or is in an unreadable folder."""
    if not os.path.lexists(path):
        return ""
    must_be_ours(path)
    try:
        return bounds.read(path, "config").decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, PermissionError) and not os.access(path.parent, os.X_OK):
            return ""  # `sudo -u nobody` with the caller's HOME
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{path}: {why}") from None


SYSTEM = Path("/etc/nettop")


class ConfigError(ValueError):
    """A configuration file cannot be used; one sentence names file and key."""


def rules_folder() -> Path:
    """The packaged rules: in the wheel, or next to `src/` in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "rules"
    return installed if installed.is_dir() else package.parents[1] / "rules"


def user_folder() -> Path:
    """The user's configuration folder."""
    return Path(folder("XDG_CONFIG_HOME", ".config"), "nettop")


def state_folder() -> Path:
    """The folder of the user's results and saved view."""
    return Path(folder("XDG_STATE_HOME", ".local/state"), "nettop")


def rule_folders() -> list[Path]:
    """The rule folders; a rule of a later folder replaces one with the same id."""
    own = [place / "rules" for place in (SYSTEM, user_folder())]
    return [rules_folder(), *(place for place in own if os.path.isdir(place))]


def must_be_ours(path: Path) -> None:
    """ConfigError if root would read a file that another user can change."""
    if not trusted(path):
        raise ConfigError(f"{path}: {UNTRUSTED}")


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
        before = _written(path, target)
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


def _written(path: Path, target: Path) -> str:
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
