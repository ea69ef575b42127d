"""Names of network namespaces, as people know them.

A mount below /run/netns has the name that somebody gave (ip-netns(8)); those of container engines
are identifiers. A container has its own /etc/hostname, which Kubernetes makes the name of the pod.
A cgroup has the identifier of its container, or the name of its service (cgroups(7)).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ..host.source import Source
from . import _sysfs

_MADE: Final = re.compile(r"cni-[0-9a-f-]+|[0-9a-f]{8,}|netns-[0-9a-f-]+|default")
_CONTAINER: Final = re.compile(r"(?:^|[/:-])([0-9a-f]{12})[0-9a-f]{20,}(?:\.scope)?$")
_LXC: Final = re.compile(r"/lxc(?:\.payload\.|/)([^/]+)")
_UNIT: Final = re.compile(r"([^/]+)\.(?:service|scope)$")


def mounts(mountinfo: str | None) -> Mapping[int, str]:
    """Names by inode of /proc/self/mountinfo (proc(5)): the root of such a mount is `net:[N]`."""
    names = {}
    for line in (mountinfo or "").splitlines():
        words = line.split(" ")
        if len(words) > 4 and words[3].startswith("net:[") and words[3][5:-1].isdecimal():
            name = words[4].rpartition("/")[2]
            if not _MADE.fullmatch(name):
                names[int(words[3][5:-1])] = name
    return names


def name(source: Source, pid: int, mount: str | None) -> str | None:
    """The name of the namespace of this process; None if it has no name."""
    if mount is not None:
        return mount
    own = _sysfs.word(source, "/proc/self/cgroup") or ""  # nettop may be in a container itself
    text = _sysfs.word(source, f"/proc/{pid}/cgroup") or ""
    paths = [line.split(":", 2)[2] for line in text.splitlines() if line.count(":") >= 2]
    found = [match for path in paths for match in (_LXC.search(path),) if match]
    if found:
        return found[0][1]
    for path in paths:
        container = _CONTAINER.search(path)
        if container is not None and container[1] not in own:
            return _sysfs.word(source, f"/proc/{pid}/root/etc/hostname") or container[1]
    for path in paths:
        unit = _UNIT.search(path)
        if unit is not None and not unit[1].startswith(("session-", "init")):
            return unit[1]
    return None
