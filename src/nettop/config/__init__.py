"""Configuration: the folders of nettop and of its user, and the configuration files.

Returns plain values. Panes and commands validate their own part of them.
"""

from .edit import save
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
    "rules_folder", "save", "state_folder", "user_folder",
]  # fmt: skip
