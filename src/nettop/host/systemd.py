"""Services of systemd: their unit files, and what a service tells it.

The service of the black box has a user of its own, and no more rights than reading needs:
CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH read which process has which socket, CAP_NET_ADMIN the
parameters of drivers (capabilities(7)). `systemd-analyze security` rates it 2.2.

A service tells its state (sd_notify(3)) and lines with fields for the journal by datagrams on a
Unix socket. Without systemd nothing is sent.
"""

import os
import socket
import stat
import struct
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..files import own

FOLDER: Final = "/etc/systemd/system"


def quoted(word: str, dollar: str = "$$") -> str:
    """The word for a unit file (systemd.service(5)): quoted, `%` doubled, and `$` in commands.

    ValueError for a control character, which would begin another line.
    """
    if not word.isprintable():
        raise ValueError(f"{word!r} cannot be written in a unit file")
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    escaped = escaped.replace("$", dollar)
    return f'"{escaped}"' if escaped != word or " " in word or "'" in word else escaped


_HOMES: Final = ("/home", "/root", "/run/user", "/tmp", "/var/tmp")  # noqa: S108 - compared only
_CAPABILITIES: Final = "CAP_DAC_READ_SEARCH CAP_NET_ADMIN CAP_SYS_PTRACE"


def _unit(name: str) -> str:
    """The text of a unit beside this module, with names in braces."""
    return Path(__file__).with_name(name).read_text("utf-8")


def hidden(program: Sequence[str]) -> str:
    """The part of nettop in a folder that a service with DynamicUser= cannot use; empty if none."""
    python = os.path.realpath(sys.executable)  # a venv may have it elsewhere
    parts = (*program,) if own.file() else (*program, python)
    folders = tuple(f"{one}/" for one in _HOMES)
    return next((part for part in parts if part.startswith(folders)), "")


def box_unit(program: Sequence[str], options: Sequence[str]) -> str:
    """The file, after a comment with its path.

    `program` is the command line of nettop, `options` are those of `watch` beside --box. ValueError
    for a word that a unit file cannot hold.
    """
    words = [*program, "watch", "--fail-on", "never", *options]
    return _unit("nettop-box.service").format(
        folder=FOLDER, command=" ".join(map(quoted, words)) + " --box ${STATE_DIRECTORY}",
        capabilities=_CAPABILITIES, home="read-only" if hidden(program) else "yes",
    )  # fmt: skip


def metrics_units(program: Sequence[str], path: str) -> str:
    """Both files, each after a comment with its path.

    `program` is the command line of nettop, `path` the file that it writes. ValueError for a path
    that a unit file cannot hold.
    """
    path = os.path.abspath(path)
    words = [quoted(word) for word in (*program, "metrics", "--textfile", path)]
    service = _unit("nettop-metrics.service").format(
        command=" ".join(words), folder=quoted(os.path.dirname(path), dollar="$")
    )
    timer = _unit("nettop-metrics.timer")
    return (
        f"# {FOLDER}/nettop-metrics.service\n{service}\n# {FOLDER}/nettop-metrics.timer\n{timer}"
        "\n# Then: systemctl daemon-reload && systemctl enable --now nettop-metrics.timer\n"
    )


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
