"""Changes as an Ansible playbook: `ansible-playbook FILE`, and `--tags undo` to revert.

Uses modules of Ansible where they exist (sysctl, service), otherwise the equivalent commands, which
report a change only if the value differs afterwards, or always if nothing shows the value. The
playbook passes ansible-lint.
"""

import re
import shlex
from collections.abc import Sequence
from typing import Final

from ... import settings
from ...host.source import Source
from ...settings import Address, Command
from .. import Change

ENDING: Final = "yml"
ORDER: Final = 4
ESCAPES: Final = True

_FILE = "/etc/sysctl.d/91-nettop-ansible.conf"  # nettop's own is for nettop alone to rewrite
_WIDE, _FOLD = 150, 100  # ansible-lint takes 160 columns
_PLAIN = re.compile(r"[a-z0-9_./-]+")
_HEAD = """\
---
# Written by nettop. `ansible-playbook THIS` applies the settings and may be repeated; with `--tags
# undo` it restores the values that the host had when this was written. The collection ansible.posix
# comes with the package ansible; beside ansible-core alone: ansible-galaxy collection install
# ansible.posix
"""


def write(changes: Sequence[Change], source: Source) -> tuple[str, tuple[str, ...]]:
    """The playbook, and the settings that have no meaning on another host."""
    fit = [change for change in changes if _portable(change, source)]
    left = tuple(change.setting for change in changes if change not in fit)
    rows = _play("Network settings advised by nettop", ())
    for change in fit:
        rows += _task(change.address, change.after, source, back=False)
    back = _play("The settings as they were before", ("never", "undo"))
    for change in reversed(fit):
        back += _task(change.address, change.before, source, back=True)
    return _HEAD + "\n".join([*rows, "", *back] if fit else ["[]"]) + "\n", left


def _portable(change: Change, source: Source) -> bool:
    """Whether it has a meaning on another host: no process, no table that only nettop writes."""
    address = change.address
    if address.kind == "service":
        return True
    values = (change.before, change.after)
    commands = [
        command for value in values for command in settings.portable(source, address, value)
    ]
    own = any(command.argv[:1] == ("nettop",) for command in commands)
    return settings.keep(address, change.after) is not None and not own


def _play(name: str, tags: tuple[str, ...]) -> list[str]:
    rows = [f"- name: {name}", "  hosts: all", "  become: true", "  gather_facts: false"]
    if tags:
        rows += ["  tags:", *(f"    - {tag}" for tag in tags)]
    return [*rows, "  tasks:"]


def _task(address: Address, value: str, source: Source, *, back: bool) -> list[str]:
    title = f"{'Put back' if back else 'Set'} {address}".replace("{", "(").replace("}", ")")
    head = [f"    - name: {_scalar(title)}"]
    if address.kind == "service":
        state = "started" if value == "on" else "stopped"
        name = _scalar(address.target)
        return [*head, *_module("ansible.builtin.service", {"name": name, "state": state})]
    if address.kind == "sysctl" and not settings.portable(source, address, value)[0].path:
        common = {"name": address.name, "sysctl_file": _FILE}
        if not back:
            more = {"value": _quoted(value), "sysctl_set": "true", "state": "present"}
            return [*head, *_module("ansible.posix.sysctl", common | more)]
        absent = {"state": "absent", "reload": "false"}
        lead = [f"    - name: {_scalar(f'Keep {address} no longer')}"]
        head = [*lead, *_module("ansible.posix.sysctl", common | absent), *head]
    return [*head, *_command(address, value, source)]


def _module(name: str, arguments: dict[str, str]) -> list[str]:
    return [f"      {name}:", *(f"        {key}: {value}" for key, value in arguments.items())]


def _command(address: Address, value: str, source: Source) -> list[str]:
    commands = settings.portable(source, address, value)
    files = [command.path for command in commands if command.path]
    show = settings.shows(source, address) or (("cat", *files) if files else ())
    lines = ["set -eu", *map(_line, commands)]
    if not show:  # no command and no file shows the value: it is written at every play
        return [*_shell(lines), "      changed_when: true"]
    lines[1:1] = [f"show() {{ {shlex.join(show)}; }}", "was=$(show)"]
    lines.append('[ "$was" = "$(show)" ] || echo changed')
    return [
        *_shell(lines),
        "      register: nettop_done",
        "      changed_when: \"'changed' in nettop_done.stdout_lines\"",
    ]


def _shell(lines: Sequence[str]) -> list[str]:
    text = _without_templates("\n".join(lines))
    return ["      ansible.builtin.shell:", *_block("        cmd", text)]


def _line(command: Command) -> str:
    """The command; exit code 80 of ethtool (pause: 78) may mean that the value is set already."""
    if command.path:
        path, text = shlex.quote(command.path), shlex.quote(command.text)
        return f'[ "$(cat {path})" = {text} ] || {command.shell()}'
    if command.argv[0] == "ethtool":
        return f"{command.shell()} || case $? in 78) ;; 80) ;; *) exit 1 ;; esac"
    return command.shell()


def _without_templates(text: str) -> str:
    """The text without Jinja templates; for a shell it is the same, because braces are quoted."""
    return re.sub(r"\{(?=[{%#])", "{''", text)


def _block(key: str, text: str) -> list[str]:
    """A literal block, or a quoted scalar if a line is too long or not printable."""
    rows = text.split("\n")
    if all(row.isprintable() and len(row) < _WIDE for row in rows):
        return [f"{key}: |", *(f"          {row}" for row in rows)]
    return [f"{key}: {_quoted(text)}"]


def _scalar(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    """A scalar in double quotes, folded if it is long."""
    rows, row = [], ""
    for word in map(_escaped, text):
        if len(row) >= _FOLD:
            rows.append(row)
            row = ""
            word = "\\ " if word == " " else word  # noqa: PLW2901 - leading blanks are dropped
        row += word
    return '"' + "\\\n          ".join([*rows, row]) + '"'


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    if letter == "\n":
        return "\\n"
    return letter if letter.isprintable() else f"\\U{ord(letter):08x}"
