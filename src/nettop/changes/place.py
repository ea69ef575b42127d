"""Where and who: boot, network namespace, user; what an entry must match to be taken back."""

from __future__ import annotations

import os
from functools import cache

NAMESPACES = "/run/netns"


@cache
def boot() -> str:
    """The kernel's name for this boot; empty when it is not told."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


def netns() -> tuple[str, str]:
    """Inode and name of our network namespace; no name for the first one or an unnamed one."""
    try:
        status = os.stat("/proc/self/ns/net")
    except OSError:
        return "", ""
    return str(status.st_ino), _name(status.st_ino)


def _name(inode: int) -> str:
    try:
        for name in sorted(os.listdir(NAMESPACES)):
            if os.stat(os.path.join(NAMESPACES, name)).st_ino == inode:
                return name
    except OSError:
        pass
    return ""


def first_netns() -> bool:
    """Whether ours is the host's own namespace: only there is the backlog a parameter."""
    return os.path.exists("/proc/sys/net/core/netdev_max_backlog")


def gone(inode: str, name: str) -> bool:
    """Whether a namespace that had a name is no more."""
    if not name:
        return False
    try:
        return str(os.stat(os.path.join(NAMESPACES, name)).st_ino) != inode
    except FileNotFoundError:
        return True


def who() -> str:
    """The user, and whom sudo made it from."""
    import pwd

    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        name = str(os.geteuid())
    before = os.environ.get("SUDO_USER", "")
    return f"{name} ({before})" if before and before != name else name
