"""A netlink request to a source."""

from __future__ import annotations

from ..terms.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Space:
    """Another network namespace: the file that opens it (/proc/PID/ns/net), and its inode."""

    path: str
    inode: int


@dataclass(frozen=True, slots=True)
class Request:
    """One netlink question.

    `family` is `route`, `sock_diag`, `netfilter` or a generic-netlink family such as `ethtool`;
    `kind` the message type (or the generic command); `body` everything after the netlink header
    (for a generic family: after the generic header); `name` what a recording calls the answer, e.g.
    `ethtool/rings/eth0`. With `space` the question is asked in that namespace. The kernel announces
    changes of the answer if `announced`: see `netlink.announced`.
    """

    family: str
    kind: int
    body: bytes
    name: str
    dump: bool = False
    space: Space | None = None
    announced: bool = False
