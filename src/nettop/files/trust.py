"""Which files and programs root may rely on: those that no other user can change or replace.

`sudo -E`, `su` and a root shell may keep the HOME, the XDG folders and the PATH of another user.
What stands there is that user's: root neither reads nor obeys it, and writes nothing through it.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterator
from typing import Final

# where root's programs are; /usr/local only where nobody else can write
SYSTEM: Final = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")
LOCAL: Final = ("/usr/local/sbin", "/usr/local/bin")
UNTRUSTED: Final = "root obeys only what root alone can change: see its owner"
_LINKS: Final = 40  # as many as the kernel follows (path_resolution(7))


def trusted(path: str | os.PathLike[str]) -> bool:
    """Whether we may rely on the file or folder, there or still to be made.

    As root: whether nobody else can change it, any folder on the way to it, or a symbolic link on
    the way. Another user relies on what that user may read.
    """
    return os.geteuid() != 0 or all(map(_roots_alone, _way(os.fspath(path))))


def _way(path: str) -> Iterator[str]:
    """Every folder, symbolic link and file on the way to `path`, each as it is reached."""
    todo = os.path.abspath(path).split("/")[:0:-1]
    reached, links = "/", 0
    yield reached
    while todo:
        word = todo.pop()
        if word in ("", "."):
            continue
        if word == "..":
            reached = os.path.dirname(reached)
            continue
        here = os.path.join(reached, word)
        yield here
        if not os.path.islink(here):
            reached = here
            continue
        links += 1
        if links > _LINKS:
            return
        target = os.readlink(here)
        reached = "/" if target.startswith("/") else reached
        todo += target.split("/")[::-1]


def _roots_alone(path: str) -> bool:
    """Whether only root can change what is at `path`; what is not there cannot be changed."""
    try:
        found = os.lstat(path)
    except OSError as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError)
    if found.st_uid != 0:
        return False
    if stat.S_ISLNK(found.st_mode):  # the mode of a link means nothing
        return True
    others = found.st_mode & (stat.S_IWOTH | (stat.S_IWGRP if found.st_gid else 0))
    # in a sticky folder, as /tmp, others can add files and not replace root's
    return not others or (stat.S_ISDIR(found.st_mode) and bool(found.st_mode & stat.S_ISVTX))


def home() -> str:
    """Our home folder; root's own where HOME is another user's; /nonexistent without any."""
    told = os.path.expanduser("~")
    if told.startswith("/") and trusted(told):
        return told
    try:
        own = pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:  # a user that no passwd knows: any container's
        return "/nonexistent"
    return own if trusted(own) else "/nonexistent"


def folder(variable: str, below: str) -> str:
    """The folder that an XDG variable names, or `below` in our home."""
    told = os.environ.get(variable, "")
    if told.startswith("/") and trusted(told):
        return told
    return os.path.join(home(), below)


def path() -> str:
    """The folders where programs are looked for: as root, only those that root alone can change."""
    if os.geteuid() != 0:
        return os.environ.get("PATH", os.defpath)
    return os.pathsep.join((*(one for one in LOCAL if trusted(one)), *SYSTEM))


def program(name: str) -> str:
    """The absolute path of a program; a name with a slash is its own. FileNotFoundError."""
    import shutil

    if "/" in name:
        return name
    found = shutil.which(name, path=path())
    if found is None:
        raise FileNotFoundError(2, f"{name} is not installed")
    return os.path.abspath(found)


def sudo() -> str:
    """The absolute path of sudo, which is never looked for in the user's PATH. FileNotFoundError.

    /run/wrappers/bin is where NixOS has it.
    """
    for one in (*SYSTEM, "/run/wrappers/bin"):
        if os.access(f"{one}/sudo", os.X_OK):
            return f"{one}/sudo"
    raise FileNotFoundError(2, "sudo is not installed")


def environment() -> dict[str, str]:
    """The environment of the programs that root starts: nothing in it makes them load or run more.

    tc(8), for one, loads code from TC_LIB_DIR. Another user's environment is given on as it is.
    """
    if os.geteuid() != 0:
        return dict(os.environ)
    kept = {key: os.environ[key] for key in ("LANG", "LC_ALL", "TERM") if key in os.environ}
    return {**kept, "PATH": path(), "HOME": home()}
