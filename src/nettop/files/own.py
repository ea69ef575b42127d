"""The command line that starts this nettop again: the one file of `make binary`, or Python.

The launcher of the one file tells its path with `-X file=PATH`, which no environment can set.
"""

import os
import shlex
import sys
from contextlib import suppress
from typing import Final

from .trust import SYSTEM

_SEARCHED: Final = os.environ.get("PATH", os.defpath)  # by the user's shell; `cli` replaces it


def file() -> str:
    """The path of the one file that this process came from; empty if it came from none."""
    return str(sys._xoptions.get("file", ""))  # noqa: SLF001 - documented, in spite of its name


def again(isolation: str = "-P") -> list[str]:
    """The command line without arguments; `isolation` is an option of Python: -P or -I."""
    return [file()] if file() else [sys.executable, isolation, "-m", "nettop"]


def command() -> list[str]:
    """The same, by the installed program if there is one."""
    program = "" if file() else _program()
    return [program] if program else again()


def called(searched: str = _SEARCHED) -> str:
    """It in a command that is printed: `nettop` where the search path leads to it, else its path.

    Started as a module of Python it has no program of its own, and is called `nettop` too.
    """
    import shutil

    this, found = file() or _program(), shutil.which("nettop", path=searched)
    with suppress(OSError):
        if not this or (found is not None and os.path.samefile(found, this)):
            return "nettop"
    return shlex.quote(os.path.abspath(this))


def called_as_root() -> str:
    """The same behind `sudo`, which searches only the folders of the system (sudoers(5))."""
    return f"sudo {called(os.pathsep.join(SYSTEM))}"


def _program() -> str:
    """The installed program that was started; empty if it was none."""
    this = os.path.abspath(sys.argv[0])
    return this if os.path.basename(this) == "nettop" and os.access(this, os.X_OK) else ""
