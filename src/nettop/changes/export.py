"""Settings as a text that other tools apply: a shell script, sysctl.d, systemd files, a playbook.

Nothing is applied. Words that came from the host are quoted for the reader of each format.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from .. import settings
from ..settings import Deed, kept
from ..source import Source
from . import Change, persist, playbook

FORMATS = ("shell", "sysctl", "systemd", "ansible")


def export(changes: Sequence[Change], source: Source, how: str) -> tuple[str, tuple[str, ...]]:
    """The text, and the settings that it could not express."""
    could = [change for change in changes if _fit(change, source)]
    left = tuple(change.setting for change in changes if change not in could)
    if how == "shell":
        return _shell(could, source), left
    write = {"sysctl": _sysctl, "systemd": _systemd, "ansible": playbook.write}[how]
    text, more = write(could, source)
    return text, (*left, *more)


def _fit(change: Change, source: Source) -> bool:
    """Whether words can say it at all: an interface's name need not be UTF-8."""
    try:
        change.setting.encode()
        return all(_deeds(source, change.setting, to) for to in (change.before, change.after))
    except (OSError, ValueError, LookupError):
        return False


def _deeds(source: Source, setting: str, value: str) -> tuple[Deed, ...]:
    return settings.portable(source, settings.parse(setting), value)


def _shell(changes: Sequence[Change], source: Source) -> str:
    rows = [
        "#!/bin/sh",
        "# Written by nettop. Run it as root, as often as you like; `sh THIS undo` puts back what",
        f"# {_plain(source.host)} showed when it was written.",
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
    return "\n".join(rows) + "\n"


def _body(changes: Iterable[Change], source: Source, *, back: bool) -> list[str]:
    rows = []
    for change in changes:
        to = change.before if back else change.after
        rows.append(f"  # {_plain(change.setting)}: {_plain(to)}")
        for deed in _deeds(source, change.setting, to):
            words = ("put", deed.text, deed.path) if deed.path else ("do_it", *deed.argv)
            rows.append(f"  {shlex.join(words)}")
    return rows or ["  :"]


def _plain(text: str) -> str:
    """Text for a comment: one line, nothing that ends it."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _sysctl(changes: Sequence[Change], _source: Source) -> tuple[str, tuple[str, ...]]:
    rows = ["# Written by nettop: for /etc/sysctl.d, then sysctl --system"]
    left = []
    for change in changes:
        address = settings.parse(change.setting)
        keep = settings.keep(address, change.after)
        if keep is not None and keep.where == "sysctl":
            rows.append(f"{address.name} = {change.after}")
        else:
            left.append(change.setting)
    return "\n".join(rows) + "\n", tuple(left)


def _systemd(changes: Sequence[Change], source: Source) -> tuple[str, tuple[str, ...]]:
    left = []
    for change in changes:
        try:
            kept_at = settings.parse(persist.wanted(change.setting, change.after)[0])
        except ValueError:
            left.append(change.setting)
            continue
        if kept_at.name == "link" and not kept.match(source, kept_at.nic):
            left.append(change.setting)
    pairs = [(c.setting, c.after) for c in changes if c.setting not in left]
    files = persist.preview(pairs, source)
    parts = [f"# ---- {_plain(path)}\n{text}" for path, text in files.items()]
    return "\n".join(parts), tuple(left)
