"""What most open files of a program are, where it has no more: connections that it does not close.

After the other end has closed, a connection stays in CLOSE_WAIT until the program closes it too
(RFC 9293, section 3.6); no timer ends it.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from ..frame.rates import Frame
from .flow_words import end

SHARE: Final = 0.25  # of the open files, or of the sockets where their number is not known
CURE: Final = (
    "A larger limit only defers it: correct the program, which must close a connection once a read "
    "of it returns 0 bytes, also on its error paths. `ss -tnp state close-wait` lists them"
)


def leak(frame: Frame, pid: int | None) -> str:
    """`110 of its 160 are …`: the connections to one end that only this program holds open.

    Empty where they are few.
    """
    held = {row.inode for row in frame.rows("socket_owners") if row.pid == pid}
    rows = [row for row in frame.rows("sockets_tcp") if row.inode in held]
    doors = {row.local_port for row in rows if row.state == "listen"}
    closed = Counter(
        f"clients of port {row.local_port} have" if row.local_port in doors
        else f"{end(row.remote.removeprefix('::ffff:'), row.remote_port)} has"
        for row in rows if row.state == "close-wait" and not row.send_q
    )  # fmt: skip
    files = next((row.files for row in frame.rows("tcp_files") if row.pid == pid), len(held))
    for who, many in closed.most_common(1):
        if many >= SHARE * files:
            return f"{many} are connections that {who} closed, and the program has not (CLOSE_WAIT)"
    return ""
