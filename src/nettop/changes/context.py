"""Where and who: boot, network namespace, user; what an entry must match to be taken back."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache

from ..host.netlink.netns import cookie

NAMESPACES = "/run/netns"


@cache
def boot() -> str:
    """The kernel's name for this boot; empty when it is not told."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class Netns:
    """A network namespace. The kernel never gives a cookie twice; an inode it does.

    `name` is empty for the first namespace and for one without a name, `cookie` before Linux 5.14.
    """

    inode: str
    cookie: str
    name: str


def netns() -> Netns:
    """The network namespace that we are in; all is empty when the kernel does not tell."""
    try:
        inode = os.stat("/proc/self/ns/net").st_ino
    except OSError:
        return Netns("", "", "")
    number = cookie()
    return Netns(str(inode), "" if number is None else str(number), _name(inode))


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


def who() -> str:
    """The user, and whom sudo made it from."""
    import pwd

    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        name = str(os.geteuid())
    before = os.environ.get("SUDO_USER", "")
    return f"{name} ({before})" if before and before != name else name
