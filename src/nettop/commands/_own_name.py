"""Alternative names of interfaces (`ip link property add`) in what a user typed.

They are replaced by the interfaces' own names before a command uses them.
"""

from __future__ import annotations

import argparse
import re
from typing import Final

from ..host.source import Source

_ALONE: Final = re.compile(r"()([^@/]+)(?=/|$)")  # an interface, or a part of it
_BEHIND: Final = re.compile(r"([^@]*@)([^/=]+)")  # RULE@INTERFACE, SETTING@INTERFACE=VALUE
_FORMS: Final = dict.fromkeys(("interface", "target"), _ALONE) | dict.fromkeys(
    ("setting", "second", "more", "finding", "rule", "what"), _BEHIND
)


def resolve(args: argparse.Namespace, source: Source) -> None:
    """Replace the alternative names in the arguments that may have one."""
    typed = {key: value for key in _FORMS if (value := getattr(args, key, None))}
    words = {key: [value] if isinstance(value, str) else value for key, value in typed.items()}
    names = {m[2] for key, each in words.items() for one in each if (m := _FORMS[key].match(one))}
    names = {name for name in names if not name.isdecimal()}  # a process or an interrupt
    if not names:
        return
    from ..host.netlink import route  # most commands name no interface

    try:
        own = route.alternatives(source)
    except (OSError, ValueError):  # not in this recording: the command says what is unknown
        return
    for key, each in words.items():
        new = [_FORMS[key].sub(lambda m: m[1] + own.get(m[2], m[2]), one, count=1) for one in each]
        setattr(args, key, new[0] if isinstance(typed[key], str) else new)
