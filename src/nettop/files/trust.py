"""The files and programs that root may use: those that no other user can change or replace.

`sudo -E`, `su` and a root shell can keep HOME, XDG folders and PATH of another user. Root neither
reads nor writes files in those folders.
"""

import os
import pwd
import stat
from collections.abc import Iterator
from typing import Final

# program folders of root; /usr/local only if no other user can write there
SYSTEM: Final = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")
LOCAL: Final = ("/usr/local/sbin", "/usr/local/bin")
UNTRUSTED: Final = "refused, because users other than root can change it"
_LINKS: Final = 40  # the limit of the kernel (path_resolution(7))


def trusted(path: str | os.PathLike[str]) -> bool:
    """Whether the process may use the file or folder, which need not exist yet.

    For root: whether no other user can change it, a parent folder, or a symbolic link in the path.
    For other users it is always true.
    """
    return os.geteuid() != 0 or all(map(_roots_alone, _way(os.fspath(path))))


def _way(path: str) -> Iterator[str]:
    """Every folder, symbolic link and file that the resolution of `path` passes."""
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
    """Whether only root can change the file at `path`; true if it does not exist."""
    try:
        found = os.lstat(path)
    except OSError as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError)
    if found.st_uid != 0:
        return False
    if stat.S_ISLNK(found.st_mode):  # the mode of a symbolic link has no effect
        return True
    others = found.st_mode & (stat.S_IWOTH | (stat.S_IWGRP if found.st_gid else 0))
    # in a sticky folder such as /tmp, other users cannot replace files of root
    return not others or (stat.S_ISDIR(found.st_mode) and bool(found.st_mode & stat.S_ISVTX))


def home() -> str:
    """The home folder; that of root if HOME belongs to another user; /nonexistent if unknown."""
    value = os.path.expanduser("~")
    if value.startswith("/") and trusted(value):
        return value
    try:
        own = pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:  # a user without passwd entry, common in containers
        return "/nonexistent"
    return own if trusted(own) else "/nonexistent"


def folder(variable: str, below: str) -> str:
    """The folder of an XDG variable, or `below` in the home folder."""
    value = os.environ.get(variable, "")
    if value.startswith("/") and trusted(value):
        return value
    return os.path.join(home(), below)


def path() -> str:
    """The search path of programs; for root, only folders that no other user can change."""
    if os.geteuid() != 0:
        return os.environ.get("PATH", os.defpath)
    return os.pathsep.join((*(one for one in LOCAL if trusted(one)), *SYSTEM))


def program(name: str) -> str:
    """The absolute path of a program; a name with a slash is used as is. FileNotFoundError."""
    import shutil

    if "/" in name:
        return name
    found = shutil.which(name, path=path())
    if found is None:
        raise FileNotFoundError(2, f"{name} is not installed")
    return os.path.abspath(found)


def sudo() -> str:
    """The absolute path of sudo; the user's PATH is never searched. FileNotFoundError.

    /run/wrappers/bin is its folder on NixOS.
    """
    for one in (*SYSTEM, "/run/wrappers/bin"):
        if os.access(f"{one}/sudo", os.X_OK):
            return f"{one}/sudo"
    raise FileNotFoundError(2, "sudo is not installed")


def environment() -> dict[str, str]:
    """The environment of programs that root starts, without variables that make them load code.

    tc(8), for example, loads code from TC_LIB_DIR. Other users pass their environment unchanged.
    """
    if os.geteuid() != 0:
        return dict(os.environ)
    kept = {key: os.environ[key] for key in ("LANG", "LC_ALL", "TERM") if key in os.environ}
    return {**kept, "PATH": path(), "HOME": home()}
