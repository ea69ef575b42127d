"""Configuration: the folders of nettop and its user, and what the configuration files say.

Gives plain values. Knows no pane and no command: they ask it, and check what concerns them.
"""

from .file import KNOWN, Config, load, mute, muted
from .folders import (
    SYSTEM,
    ConfigError,
    rule_folders,
    rules_folder,
    state_folder,
    user_folder,
)

__all__ = [
    "KNOWN", "SYSTEM", "Config", "ConfigError", "load", "mute", "muted", "rule_folders",
    "rules_folder", "state_folder", "user_folder",
]  # fmt: skip
