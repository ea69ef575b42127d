"""What a service tells systemd: sd_notify(3), and lines with fields for the journal.

Both are datagrams on a Unix socket. Without systemd nothing is sent.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

JOURNAL: Final = "/run/systemd/journal/socket"


def notify(state: str) -> None:
    """Send `READY=1`, `WATCHDOG=1` or `STOPPING=1` to the service manager."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if path[:1] in ("/", "@"):
        address = "\0" + path[1:] if path[0] == "@" else path
        _send(state.encode(), address)


def to_journal(descriptor: int) -> bool:
    """Whether the journal reads this descriptor: systemd.exec(5), JOURNAL_STREAM."""
    with suppress(OSError):
        status = os.fstat(descriptor)
        named = os.environ.get("JOURNAL_STREAM", "")
        return stat.S_ISSOCK(status.st_mode) and named == f"{status.st_dev}:{status.st_ino}"
    return False


def journal(fields: Mapping[str, str], path: str = JOURNAL) -> bool:
    """Write an entry: systemd.io/JOURNAL_NATIVE_PROTOCOL. False if it could not be sent.

    Every value is sent with its length, so that a line feed in it begins no other field.
    """
    parts = []
    for name, value in fields.items():
        data = value.encode("utf-8", "replace")
        parts.append(name.encode() + b"\n" + struct.pack("<Q", len(data)) + data + b"\n")
    return _send(b"".join(parts), path)


def _send(data: bytes, address: str) -> bool:
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        out.setblocking(False)
        out.sendto(data, address)
        return True
    return False
