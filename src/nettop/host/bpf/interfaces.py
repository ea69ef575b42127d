"""Calls that set up interfaces or ask for one, and that open the devices of TUN, TAP and vhost.

netdevice(7); include/uapi/linux/sockios.h; drivers/net/tun.c, __tun_chr_ioctl(). Other commands of
ioctl(2) and other files are left out before anything of them is stored. What a program asks by
netlink fails in the answer, not in a call.
"""

import sys
from collections.abc import Mapping
from typing import Final

from . import assembler as a
from .arguments import Jumps
from .counting import copied, read

CALLS: Final = {"ioctl": (16, 29), "open": (2, -1), "openat": (257, 56)}  # as `names.SYSTEM_CALLS`
COMMANDS: Final = {
    0x400454CA: "TUNSETIFF", 0x890B: "SIOCADDRT", 0x8914: "SIOCSIFFLAGS", 0x8916: "SIOCSIFADDR",
    0x891C: "SIOCSIFNETMASK", 0x8922: "SIOCSIFMTU", 0x8924: "SIOCSIFHWADDR", 0x89A2: "SIOCBRADDIF",
    0x8913: "SIOCGIFFLAGS", 0x8921: "SIOCGIFMTU", 0x8933: "SIOCGIFINDEX",
}  # fmt: skip
_UNNAMED: Final = "SIOCADDRT"  # of struct rtentry, which begins with an address
_PATHS: Final = {"open": 0, "openat": 1}  # the place of the path among the arguments
_DEVICES: Final = ("/dev/net/tun", "/dev/vhost-net")
_BEGINS: Final = (b"/dev", (b"/net", b"/vho"))
_NAME: Final = 16  # bytes: IFNAMSIZ; of a path what tells these


def wanted(places: Mapping[int, int], scratch: int) -> Mapping[str, a.Parts]:
    """By call what goes to `key` if it is one of these, else to `out`; R6 has the registers.

    `scratch` is a stack offset of eight bytes.
    """
    first, then = _BEGINS
    commands = (
        *read(a.R7, a.R6, places[1], 4),
        *(part for one in COMMANDS for part in a.when(a.R7, "==", one, "key")), *a.go("out"),
    )  # fmt: skip
    paths = {
        call: (
            *read(a.R7, a.R6, places[at]), *copied(scratch, a.R7, 0, 8, a.READ_USER),
            *a.load(a.R7, a.R10, scratch, 4), *a.when(a.R7, "!=", _number(first), "out"),
            *a.load(a.R7, a.R10, scratch + 4, 4),
            *(part for one in then for part in a.when(a.R7, "==", _number(one), "key")),
            *a.go("out"),
        )
        for call, at in _PATHS.items()
    }  # fmt: skip
    return {"ioctl": commands, **paths}


def given(places: Mapping[int, int], argument: int, name: int, jumps: Jumps) -> a.Parts:
    """Store the command, and at `name` the interface or path; `jumps` as in `arguments.size`."""
    return (
        *jumps("command", ("ioctl",)), *jumps("second path", ("openat",)),
        *read(a.R7, a.R6, places[0]), *a.go("named so"),
        "second path", *read(a.R7, a.R6, places[1]), *a.go("named so"),
        "command", *read(a.R7, a.R6, places[1]), *a.store(a.R10, argument, a.R7, 4),
        *read(a.R7, a.R6, places[2]),
        "named so", *copied(name, a.R7, 0, _NAME, a.READ_USER),
    )  # fmt: skip


def _number(text: bytes) -> int:
    return int.from_bytes(text, sys.byteorder)


def words(argument: int, name: bytes) -> str | None:
    """`COMMAND=INTERFACE`, or the path of a device; None for another one."""
    told = name.split(b"\0", 1)[0].decode("ascii", "replace")
    shown = "".join(one if one.isprintable() and one != " " else "?" for one in told)
    command = COMMANDS.get(argument & 0xFFFFFFFF, "")
    if not command:
        return shown if shown in _DEVICES else None
    return f"{command}={shown}" if shown and command != _UNNAMED else command
