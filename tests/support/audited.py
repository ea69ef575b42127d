"""nettop with a trace of all that it could change a host with, as Python's audit events tell it.

`main(TRACE, WORDS)` runs `nettop WORDS`, and writes the events into the file TRACE when it ends:
files opened for writing, files changed otherwise, sockets, requests of devices, programs and C
functions. The last one is of a file that it opens itself, so that a trace that sees nothing is told
from a host that is left alone.
"""

import json
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = (  # beginnings of the names of events
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "os.chown", "os.utime", "os.setxattr", "os.removexattr", "os.mount", "os.kill",
    "socket.", "fcntl.", "subprocess.", "os.exec", "os.posix_spawn", "os.system", "os.fork",
    "ctypes.dlsym", "ctypes.call", "shutil.",
)  # fmt: skip


def main(trace: str, words: Sequence[str]) -> int:
    """The exit code of nettop."""
    from nettop import cli
    from nettop.host.played import Played

    # ten times as fast
    Played.pace = property(lambda _: 10.0, lambda *_: None)  # type: ignore[assignment]
    seen: list[str] = []

    def audit(event: str, values: tuple[object, ...]) -> None:
        if event == "open":
            path, _, flags = values
            if isinstance(flags, int) and flags & WRITES:
                seen.append(f"open {path}")
        elif event == "socket.__new__" and values[1] == socket.AF_UNIX:
            pass  # of the loop of the screen; one that is connected is another event
        elif event.startswith(CHANGES):
            seen.append(f"{event} {values}")

    sys.addaudithook(audit)
    sys.argv = ["nettop", *words]
    code = cli.main()
    with open(os.devnull, "w", encoding="ascii"):
        told = json.dumps(seen)
    Path(trace).write_text(told, encoding="utf-8")
    return code
