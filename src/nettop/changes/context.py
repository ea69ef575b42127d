"""The context of a change: boot, network namespace and user; an undo compares the first two."""

import os
from functools import cache

from ..host.netlink.elsewhere import cookie
from ..terms.dataclass import dataclass

NAMESPACES = "/run/netns"


@cache
def boot() -> str:
    """The boot ID of the kernel; OSError if it cannot be read."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def maybe_this_boot(known: str) -> bool:
    """Whether a journaled boot may be this one; so may one that is empty, or cannot be compared."""
    try:
        return known in ("", boot())
    except OSError:  # /proc without /proc/sys: proc(5), subset=pid
        return True


@dataclass(frozen=True, slots=True)
class Netns:
    """A network namespace. The kernel reuses inodes, but never a cookie.

    `name` is empty for the first namespace and for one without a name, `cookie` before Linux 5.14.
    """

    inode: str
    cookie: str
    name: str


def netns() -> Netns:
    """The network namespace of this process; OSError if it cannot be read."""
    inode = os.stat("/proc/self/ns/net").st_ino
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
    """Whether this is the initial namespace: only there sysctl netdev_max_backlog exists."""
    return os.path.exists("/proc/sys/net/core/netdev_max_backlog")


def user() -> str:
    """The effective user, with the user who called sudo in parentheses."""
    import pwd

    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        name = str(os.geteuid())
    caller = os.environ.get("SUDO_USER", "")
    return f"{name} ({caller})" if caller and caller != name else name
