"""The command line that starts this nettop again: the one file of `make binary`, or Python.

The launcher of the one file tells its path with `-X file=PATH`, which no environment can set.
"""

from __future__ import annotations

import os
import sys


def file() -> str:
    """The path of the one file that this process came from; empty if it came from none."""
    return str(sys._xoptions.get("file", ""))  # noqa: SLF001 - documented, in spite of its name


def again(isolation: str = "-P") -> list[str]:
    """The command line without arguments; `isolation` is an option of Python: -P or -I."""
    return [file()] if file() else [sys.executable, isolation, "-m", "nettop"]


def command() -> list[str]:
    """The same, by the installed program if there is one."""
    own = os.path.abspath(sys.argv[0])
    installed = os.path.basename(own) == "nettop" and os.access(own, os.X_OK)
    return [own] if installed and not file() else again()
