"""The systemd service and timer that write the text file for node_exporter every minute."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from ..files.unit import FOLDER, quoted

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
    words = [quoted(word) for word in (*program, "metrics", "--textfile", path)]
    service = _SERVICE.format(
        command=" ".join(words), folder=quoted(os.path.dirname(path), dollar="$")
    )
    return (
        f"# {FOLDER}/nettop-metrics.service\n{service}\n# {FOLDER}/nettop-metrics.timer\n{_TIMER}"
        "\n# Then: systemctl daemon-reload && systemctl enable --now nettop-metrics.timer\n"
    )
