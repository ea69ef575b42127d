"""IPsec policies by NETLINK_XFRM: include/uapi/linux/xfrm.h."""

import struct
from socket import AF_INET
from typing import Final

from ..source import Source
from .codec import Field, Request, Table

NEWPOLICY, GETPOLICY, GETSADINFO = 0x13, 0x15, 0x23
BLOCK: Final = 1  # XFRM_POLICY_BLOCK
# xfrm_selector: addresses, destination port and its mask (network byte order), family, prefix
# lengths, protocol
SELECTOR: Final = struct.Struct("=16s16s2s2s4xHBBB")
RULE_AT: Final = 152  # in xfrm_userpolicy_info: behind the selector and two sets of limits
RULE: Final = struct.Struct("=IIBB")  # priority, index, direction, action
POLICY_SIZE: Final = 168  # of xfrm_userpolicy_info
TEMPLATE_SIZE: Final = 64  # of xfrm_user_tmpl, whose destination comes first
SOURCE_AT: Final = 28  # saddr
FAMILY_AT: Final = 24
POLICY: Final[Table] = {5: Field("template", "raw")}  # XFRMA_TMPL
SADINFO: Final[Table] = {1: Field("count")}  # XFRMA_SAD_CNT


def end(template: bytes, *, comes: bool) -> bytes:
    """The address of the other end in the first xfrm_user_tmpl; empty without one.

    `comes`: of a policy for what arrives, whose other end is the source.
    """
    if len(template) < TEMPLATE_SIZE:
        return b""
    size = 4 if struct.unpack_from("=H", template, FAMILY_AT)[0] == AF_INET else 16
    return template[SOURCE_AT:][:size] if comes else template[:size]


def policies(source: Source) -> bytes:
    """Every policy. OSError."""
    return source.netlink(Request("xfrm", GETPOLICY, b"", "xfrm/policies", dump=True))


def states(source: Source) -> bytes:
    """How many states there are. OSError."""
    return source.netlink(Request("xfrm", GETSADINFO, struct.pack("=I", 0), "xfrm/states"))
