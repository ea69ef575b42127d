"""Settings as a text that other tools apply: a shell script, sysctl.d, systemd files, a playbook.

Nothing is applied. Words that came from the host are quoted for the reader of each format.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from .. import settings
from ..settings import Deed
from ..source import Source
from . import Change, persist

FORMATS = ("shell", "sysctl", "systemd", "ansible")
_WRITE = '[ "$(cat "$2")" = "$1" ] || { echo "$1" > "$2"; echo changed; }'


def export(changes: Sequence[Change], source: Source, how: str) -> tuple[str, tuple[str, ...]]:
    """The text, and what it could not express."""
    if how == "shell":
        return _shell(changes, source), ()
    if how == "sysctl":
        return _sysctl(changes)
    if how == "systemd":
        return _systemd(changes, source)
    return _ansible(changes, source), ()


def _deeds(source: Source, setting: str, value: str) -> tuple[Deed, ...]:
    return settings.portable(source, settings.parse(setting), value)


def _shell(changes: Sequence[Change], source: Source) -> str:
    rows = [
        "#!/bin/sh",
        "# Written by nettop. Run it as root, as often as you like; `sh THIS undo` puts back what",
        f"# {_plain(source.host)} showed when it was written.",
        "set -eu",
        "# ethtool ends with 80 when a value is set already",
        'do_it() { "$@" || { code=$?; [ "$code" -eq 80 ] || return "$code"; }; }',
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
            line = deed.shell()
            rows.append(f"  {line}" if deed.path else f"  do_it {line}")
    return rows or ["  :"]


def _plain(text: str) -> str:
    """Text for a comment: one line, nothing that ends it."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _sysctl(changes: Sequence[Change]) -> tuple[str, tuple[str, ...]]:
    rows = ["# Written by nettop: for /etc/sysctl.d, then sysctl --system"]
    left = []
    for change in changes:
        address = settings.parse(change.setting)
        if address.kind == "sysctl":
            rows.append(f"{address.name} = {change.after}")
        else:
            left.append(change.setting)
    return "\n".join(rows) + "\n", tuple(left)


def _systemd(changes: Sequence[Change], source: Source) -> tuple[str, tuple[str, ...]]:
    left = []
    for change in changes:
        try:
            persist.wanted(change.setting, change.after)
        except ValueError:
            left.append(change.setting)
    files = persist.preview([(c.setting, c.after) for c in changes], source)
    parts = [f"# ---- {_plain(path)}\n{text}" for path, text in files.items()]
    return "\n".join(parts), tuple(left)


def _ansible(changes: Sequence[Change], source: Source) -> str:
    rows = [
        "---",
        "- name: Network settings advised by nettop",
        "  hosts: all",
        "  become: true",
        "  gather_facts: false",
        "  tasks:",
    ]
    for change in changes:
        address = settings.parse(change.setting)
        if address.kind == "sysctl":
            rows += [
                f"    - name: {_yaml('Set ' + change.setting)}",
                "      ansible.posix.sysctl:",
                f"        name: {_yaml(address.name)}",
                f"        value: {_yaml(change.after)}",
                "        sysctl_file: /etc/sysctl.d/90-nettop.conf",
                "        sysctl_set: true",
                "        state: present",
            ]
            continue
        for number, deed in enumerate(_deeds(source, change.setting, change.after)):
            part = f" ({number + 1})" if number else ""
            rows += [f"    - name: {_yaml(f'Set {change.setting}{part}')}", *_task(deed, number)]
    return "\n".join(rows) + "\n"


def _task(deed: Deed, number: int) -> list[str]:
    argv = deed.argv or ("sh", "-c", _WRITE, "sh", deed.text, deed.path)
    register = f"nettop_done_{number}"
    changed = f"'changed' in {register}.stdout" if deed.path else f"{register}.rc == 0"
    return [
        "      ansible.builtin.command:",
        "        argv:",
        *(f"          - {_yaml(word)}" for word in argv),
        f"      register: {register}",
        f"      changed_when: {json.dumps(changed)}",
        f"      failed_when: {register}.rc not in [0, 80]",
    ]


def _yaml(text: str) -> str:
    """A quoted scalar (JSON's are YAML's); braces of a template are marked as plain text."""
    quoted = json.dumps(text)
    return f"!unsafe {quoted}" if "{{" in text or "{%" in text or "{#" in text else quoted
