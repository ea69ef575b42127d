"""Where the files of nettop and of its user are."""

from __future__ import annotations

import os
from pathlib import Path

from ..files.trust import UNTRUSTED, folder, trusted

SYSTEM = Path("/etc/nettop")


class ConfigError(ValueError):
    """A configuration file that cannot be used: one sentence naming file and key."""


def rules_folder() -> Path:
    """The rules that came with nettop: in the wheel, or beside `src/` in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "rules"
    return installed if installed.is_dir() else package.parents[1] / "rules"


def user_folder() -> Path:
    """The user's configuration folder."""
    return Path(folder("XDG_CONFIG_HOME", ".config"), "nettop")


def state_folder() -> Path:
    """The user's results and view state."""
    return Path(folder("XDG_STATE_HOME", ".local/state"), "nettop")


def rule_folders() -> list[Path]:
    """Where rules come from; a later folder overrides an earlier one by id."""
    own = [place / "rules" for place in (SYSTEM, user_folder())]
    return [rules_folder(), *(place for place in own if os.path.isdir(place))]


def must_be_ours(path: Path) -> None:
    """ConfigError when root would obey a file that another user can change."""
    if not trusted(path):
        raise ConfigError(f"{path}: {UNTRUSTED}")
