"""The systemd service and timer that write the text file for node_exporter every minute."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

FOLDER: Final = "/etc/systemd/system"
_SERVICE: Final = """\
[Unit]
Description=Metrics of nettop for the textfile collector of node_exporter

[Service]
Type=oneshot
ExecStart={command}
UMask=0022
Nice=10
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=read-only
ProtectKernelTunables=yes
ReadWritePaths={folder}
"""
_TIMER: Final = """\
[Unit]
Description=Metrics of nettop every minute

[Timer]
OnBootSec=1min
OnUnitActiveSec=1min
AccuracySec=1s

[Install]
WantedBy=timers.target
"""


def text(program: Sequence[str], path: str) -> str:
    """Both files, each after a comment with its path.

    `program` is the command line of nettop, `path` the file that it writes. ValueError for a path
    that a unit file cannot hold.
    """
    path = os.path.abspath(path)
    words = [_quoted(word) for word in (*program, "metrics", "--textfile", path)]
    service = _SERVICE.format(
        command=" ".join(words), folder=_quoted(os.path.dirname(path), dollar="$")
    )
    return (
        f"# {FOLDER}/nettop-metrics.service\n{service}\n# {FOLDER}/nettop-metrics.timer\n{_TIMER}"
        "\n# Then: systemctl daemon-reload && systemctl enable --now nettop-metrics.timer\n"
    )


def _quoted(word: str, dollar: str = "$$") -> str:
    """The word for a unit file (systemd.service(5)): quoted, `%` doubled, and `$` in commands.

    ValueError for a control character, which would begin another line.
    """
    if not word.isprintable():
        raise ValueError(f"{word!r} cannot be written in a unit file")
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    escaped = escaped.replace("$", dollar)
    return f'"{escaped}"' if escaped != word or " " in word or "'" in word else escaped
