"""The folders of nettop and of its user."""

from __future__ import annotations

import os
from pathlib import Path

from ..files.trust import UNTRUSTED, folder, trusted

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
