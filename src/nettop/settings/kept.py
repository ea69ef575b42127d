"""What survives a reboot, in files of nettop's own.

`kept.sysctl@KEY`, `kept.link@NIC/KEY`, `kept.unit@SETTING`: the text kept, or `absent`.

There are three files: /etc/sysctl.d/90-nettop.conf, /etc/systemd/network/10-nettop-NIC.link, and
the oneshot unit /etc/systemd/system/nettop-keep.service for settings without a key. Each is written
anew from its entries, and removed with its last entry.
"""

import os
import re

from ..files.draft import write as write_whole
from ..host.source import Source
from ..terms import irqname
from . import Address, Command, Host, Limits, link, parse, portable
from .sysctl import foreign

RISK = "none"
RUNTIME = False
NAMES = ("sysctl", "link", "unit")
ABSENT = "absent"
_MARK = "# Written by nettop; `nettop undo` takes lines away again."
_SERVICE = "/etc/systemd/system/nettop-keep.service"
_WANTED = "/etc/systemd/system/multi-user.target.wants/nettop-keep.service"
# systemd uses only the first .link file that matches. Ours therefore repeats the entries of the
# file that it hides: that of udev's database, else the default file of systemd.
_DEFAULT_LINK = "/usr/lib/systemd/network/99-default.link"
_OURS = "# nettop's:"


def path(address: Address) -> str:
    """The file of the entry."""
    if address.name == "sysctl":
        return "/etc/sysctl.d/90-nettop.conf"
    if address.name == "link":
        if not irqname.valid(address.nic) or not address.part.isalnum():
            raise LookupError(f"{address} needs an interface and a key, such as eth0/MTUBytes")
        return f"/etc/systemd/network/10-nettop-{address.nic}.link"
    return _SERVICE


def entries(source: Source, address: Address) -> dict[str, str]:
    """The entries of the file by key; empty where there is no file."""
    try:
        text = source.text(path(address))
    except FileNotFoundError:
        return {}
    lead = "#= " if address.name == "unit" else ""
    entries = {}
    ours = address.name != "link"
    for row in text.split("\n"):  # a name may contain line separators of Unicode
        if row == _OURS:
            ours = True
        elif ours and row.startswith(lead) and " = " in row and (lead or row[:1] not in "#["):
            key, _, value = row.removeprefix(lead).partition(" = ")
            entries[key] = value
    return entries


def _key(address: Address) -> str:
    return address.part if address.name == "link" else address.target


def read(source: Source, address: Address) -> str:
    """The text in the file, or `absent`."""
    return entries(source, address).get(_key(address), ABSENT)


def write(host: Host, address: Address, value: str) -> None:
    """Rewrite the file with or without the entry; without any entry the file is removed."""
    known = entries(host.source, address)
    known.pop(_key(address), None)
    if value != ABSENT:
        known[_key(address)] = value
    full = host.root.rstrip("/") + path(address)
    if not known:
        for gone in (full, *([host.root.rstrip("/") + _WANTED] if address.name == "unit" else [])):
            if os.path.lexists(gone):
                os.unlink(gone)
        return
    os.makedirs(os.path.dirname(full), mode=0o755, exist_ok=True)
    if address.name == "unit":  # first: a unit file without this link would never start
        link = host.root.rstrip("/") + _WANTED
        os.makedirs(os.path.dirname(link), mode=0o755, exist_ok=True)
        if not os.path.lexists(link):
            os.symlink(_SERVICE, link)
    write_whole(full, render(host.source, address, known), 0o644)


def render(source: Source, address: Address, known: dict[str, str]) -> str:
    """The file with these entries."""
    if address.name == "sysctl":
        return "\n".join([_MARK, *(f"{k} = {v}" for k, v in sorted(known.items()))]) + "\n"
    if address.name == "link":
        hidden = _hidden(source, address)
        rows = [_MARK, "[Match]", match(source, address.nic), *([""] if hidden else []), *hidden]
        rows += ["", "[Link]", _OURS, *(f"{k} = {v}" for k, v in sorted(known.items()))]
        return "\n".join(rows) + "\n"
    rows = [
        _MARK, "[Unit]", "Description=Network settings kept by nettop",
        "After=systemd-udev-settle.service network.target irqbalance.service", "", "[Service]",
        "Type=oneshot", "RemainAfterExit=yes",
    ]  # fmt: skip
    for setting, value in sorted(known.items()):
        rows.append(f"#= {setting} = {value}")
        rows += [f"ExecStart=-{exec_start(d)}" for d in portable(source, parse(setting), value)]
    return "\n".join([*rows, "", "[Install]", "WantedBy=multi-user.target"]) + "\n"


def exec_start(command: Command) -> str:
    """A command as the words of ExecStart=, quoted as systemd.service(5) wants them."""
    argv = command.argv or ("/bin/sh", "-c", 'echo "$1" > "$2"', "sh", command.text, command.path)
    return " ".join(_quoted(word) for word in argv)


def _quoted(word: str) -> str:
    for old, new in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$"), ("\n", "\\n")):
        word = word.replace(old, new)
    word = "".join(one if one >= " " else f"\\x{ord(one):02x}" for one in word)
    return f'"{word}"'


def match(source: Source, nic: str) -> str:
    """Match by permanent address, else by bus path: udev assigns names after the match.

    Empty if no line can express it.
    """
    try:
        own = link.attributes(source, nic).get("permanent", b"")
    except OSError:
        own = b""
    if any(own):
        return f"PermanentMACAddress={own.hex(':')}"
    try:
        if source.text(f"/sys/class/net/{nic}/addr_assign_type").strip() == "0":
            address = source.text(f"/sys/class/net/{nic}/address").strip()
            return f"PermanentMACAddress={address}"
    except OSError:
        pass
    where = _udev(source, nic, "ID_PATH")
    if where:
        return f"Path={where}"
    # quotes, patterns and a leading ! would match other interfaces
    return f"OriginalName={nic}" if re.fullmatch(r"[\w.:@=+-]+", nic) else ""


def _hidden(source: Source, address: Address) -> list[str]:
    """The entries of the file that ours hides, without its matches; ours come later and win."""
    rows: list[str] = []
    in_force = _udev(source, address.nic, "ID_NET_LINK_FILE")
    for name in (path(address), in_force, _DEFAULT_LINK):
        try:
            rows = source.text(name).splitlines() if name else []
        except OSError:
            continue
        if rows:
            break
    section, own = "", []
    for row in rows:
        if row == _OURS:
            break
        section = row.strip() if row[:1] == "[" else section
        if row.strip() and row[:1] not in "#;" and section not in ("", "[Match]"):
            own.append(row)
    while own and own[-1][:1] == "[":  # a section without entries
        own.pop()
    return own


def _udev(source: Source, nic: str, key: str) -> str:
    """A property of the interface in udev's database; empty if it has none."""
    try:
        index = source.text(f"/sys/class/net/{nic}/ifindex").strip()
        rows = source.text(f"/run/udev/data/n{index}").splitlines()
    except OSError:
        return ""
    lead = f"E:{key}="
    return next((row.removeprefix(lead) for row in rows if row.startswith(lead)), "")


_APPEND = 'echo "$1" >> "$2"'
_REMOVE = 'grep -vF -- "$1" "$2" > "$2.new"; mv "$2.new" "$2"'


def commands(source: Source, address: Address, value: str) -> tuple[Command, ...]:  # noqa: ARG001
    """A command that adds the line to the file, or removes it."""
    key = _key(address)
    if value == ABSENT:
        return (Command(("sh", "-c", _REMOVE, "sh", f"{key} = ", path(address))),)
    return (Command(("sh", "-c", _APPEND, "sh", f"{key} = {value}", path(address))),)


def normal(address: Address, value: str) -> str:  # noqa: ARG001
    """One line."""
    return " ".join(value.split())


def limits(source: Source, address: Address) -> Limits:
    """Not settable inside a network namespace; without systemd only sysctl.d is settable."""
    if foreign(source):
        why = "these files are read for the host, not for a network namespace: use nettop export"
        return Limits(settable=False, because=why)
    if address.name == "link" and not match(source, address.nic):
        why = "its name cannot be written in a .link file: use nettop export"
        return Limits(settable=False, because=why)
    recording = getattr(source, "root", None) is None  # it has no /run/systemd/system
    if address.name != "sysctl" and not recording:
        try:
            source.listing("/run/systemd/system")
        except OSError:
            why = "systemd does not run here, so nothing would read it: use nettop export"
            return Limits(settable=False, because=why)
    return Limits(default=ABSENT)
