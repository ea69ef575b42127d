"""Counting in the kernel with BPF, and sampling.

`assembler` writes programs, `btf` knows types and places of the running kernel, `call` creates
tables and loads programs, and `counting` has what the programs share. A module that counts
something has a class `Counter`: `drops` counts dropped packets, `calls` failed calls, and `profile`
samples what cores do, without a program. Programs, tables and events belong to this process: the
kernel frees them when it ends. They are made on request only.
"""

import errno
from importlib import import_module
from typing import Final, Protocol

PEER: Final = "peer="  # begins the argument of a call on a Unix socket: the inode of the other end
FILE: Final = "file="  # that of a call on a file: where it is mounted, and its path
SIZE: Final = "bytes="  # that of a message which is too large
DEVICE: Final = (
    "ifindex="  # that of a call on a socket which is bound to a device that is not there
)
RANGE: Final = "IP_LOCAL_PORT_RANGE="  # that of a connection for which the socket has no free port
ABROAD: Final = "abroad="  # why nothing listens: who does in another namespace, as name[pid]
MONITORED: Final = "drops"  # what the kernel also tells without a program: `host.drop_monitor`


class Counter(Protocol):
    """Loaded programs and what they have counted."""

    def text(self) -> str:
        """The counts, as the module describes them; OSError if they cannot be read."""

    def close(self) -> None:
        """Remove the programs from the kernel."""


def counter(name: str) -> Counter:
    """The counter of that module, which begins now; OSError if this kernel cannot count it.

    Of drops there is a second way, which tells less.
    """
    try:
        return _loaded(name)
    except OSError as error:
        if name != MONITORED:
            raise
        from ..drop_monitor import instead

        return instead(error)


def _loaded(name: str) -> Counter:
    try:
        made: Counter = import_module(f".{name}", __name__).Counter()
    except KeyError as error:
        what = f"this kernel does not describe {error.args[0]} in its types"
        raise OSError(errno.EOPNOTSUPP, what) from None
    return made
