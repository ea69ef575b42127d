"""Configuration: the folders of nettop and of its user, and the configuration files.

Gives plain values. It depends on no pane and no command; they read it and validate their own part.
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
