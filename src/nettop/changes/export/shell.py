"""A POSIX shell script: `sh SCRIPT` applies the changes, `sh SCRIPT undo` reverts them."""

import shlex
from collections.abc import Iterable, Sequence
from typing import Final

from ... import settings
from ...host.source import Source
from .. import Change
from . import comment

ENDING: Final = "sh"
ORDER: Final = 1


def write(changes: Sequence[Change], source: Source) -> tuple[str, tuple[str, ...]]:
    """The script; it can express every change."""
    rows = [
        "#!/bin/sh",
        "# Written by nettop. Run it as root, as often as you like; `sh THIS undo` puts back what",
        f"# {comment(source.host)} showed when it was written.",
        "set -eu",
        "# ethtool may end with 80 (pause: 78) when a value is set already",
        'do_it() { "$@" || case $? in 78) ;; 80) ;; *) return 1 ;; esac; }',
        'put() { [ "$(cat "$2")" = "$1" ] || echo "$1" > "$2"; }',
        "",
        "apply() {",
        *_body(changes, source, back=False),
        "}",
        "",
        "undo() {",
        *_body(list(reversed(changes)), source, back=True),
        "}",
        "",
        'case "${1-apply}" in',
        "apply) apply ;;",
        "undo) undo ;;",
        '*) echo "usage: $0 [apply|undo]" >&2; exit 2 ;;',
        "esac",
    ]
    return "\n".join(rows) + "\n", ()


def _body(changes: Iterable[Change], source: Source, *, back: bool) -> list[str]:
    rows = []
    for change in changes:
        to = change.before if back else change.after
        rows.append(f"  # {comment(change.setting)}: {comment(to)}")
        for command in settings.portable(source, change.address, to):
            words = (
                ("put", command.text, command.path) if command.path else ("do_it", *command.argv)
            )
            rows.append(f"  {shlex.join(words)}")
    return rows or ["  :"]
