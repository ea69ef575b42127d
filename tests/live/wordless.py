"""Drop reasons of the running kernel that rules/drop-reasons.toml does not explain."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from nettop.config import rules_folder
from nettop.host.bpf import drops

BTF: Final = Path("/sys/kernel/btf/vmlinux")


def wordless(reasons: Iterable[str]) -> list[str]:
    """Those without words, in their order."""
    table = tomllib.loads((rules_folder() / "drop-reasons.toml").read_text("utf-8"))
    described = {entry["name"] for entry in table["reason"]}
    return [one for one in reasons if one not in described]


def told() -> str:
    """A line: how many reasons of the running kernel have no words, and which."""
    try:
        found = wordless(drops.names(BTF.read_bytes()).values())
    except OSError as error:
        return f"the drop reasons of the running kernel are not known: {error}"
    names = f": {' '.join(found)}" if found else ""
    return f"{len(found)} drop reasons of the running kernel have no words{names}"
