"""BPF programs of control groups, told as `NAME@GROUP`."""

from __future__ import annotations

from typing import Final

_UNITS: Final = {"sd_fw_": "IPAddressDeny", "sd_bind": "SocketBindDeny"}  # programs of systemd


def program(one: str) -> str:
    """The program in words."""
    name, _, group = one.partition("@")
    known = setting(name)
    if known:
        return f"{known}= of {group.rpartition('/')[2]} ({name})"
    return f"BPF program {name} of control group {group}"


def setting(name: str) -> str:
    """The setting of systemd that loads a program of that name; empty for others."""
    return next((words for begin, words in _UNITS.items() if name.startswith(begin)), "")
