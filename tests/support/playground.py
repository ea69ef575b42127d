"""A network namespace that serves as a host: a veth pair, its own folders, nettop inside it."""

import json
import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from changes_netns import Nettop, run
from warm import shared

FOLDERS = ("/etc/sysctl.d", "/etc/systemd/network", "/etc/systemd/system")
# The folders are empty, and systemd seems to run.
LAY_OUT = " && ".join(
    [
        *(f"mount -t tmpfs none {folder}" for folder in (*FOLDERS, "/run")),
        "mkdir -p /run/systemd/system",
        "echo ready",
        "exec cat",  # until its input ends
    ]
)
PAIR = "ip link add va numrxqueues 4 numtxqueues 4 type veth peer name vb"
# Settings of a namespace never persist in files of the host: here the namespace serves as the host.
AS_HOST = (
    "import sys\nfrom nettop.settings import kept\nkept.foreign = lambda _source: False\n"
    "from nettop.cli import main\nsys.exit(main(sys.argv[1:]))"
)


class Playground(Nettop):
    """A network namespace with a veth pair and its own folders."""

    def __init__(self, name: str, state: Path) -> None:
        self.name = f"nt-{name}-{os.getpid()}"
        run("ip", "netns", "add", self.name)
        words = ["ip", "netns", "exec", self.name, "unshare", "-m", "sh", "-c", LAY_OUT]
        self.holder = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.holder.stdout is not None
        assert self.holder.stdout.readline() == "ready\n"
        super().__init__(str(self.holder.pid), state, shared())
        self.inside = ["nsenter", "-t", self.netns, "-m", "-n"]

    def nettop(self, *words: str) -> Any:
        _, out, err = self.plain("-c", AS_HOST, *words, "--json")
        assert out, err
        return json.loads(out)

    def files(self) -> dict[str, str]:
        paths = self.see("find", *FOLDERS, "-type", "f").split()
        return {path: self.see("cat", path) for path in paths}

    def values(self, settings: Iterable[str]) -> dict[str, Any]:
        shown = self.nettop("get", *settings)
        return {setting: shown[setting]["value"] for setting in settings}

    def end(self) -> None:
        self.holder.kill()
        self.holder.communicate()
        run("ip", "netns", "del", self.name)


def plug_in(place: Playground) -> None:
    """Create the device, as at boot."""
    place.see(*PAIR.split())
    for name in ("va", "vb"):  # packets of the kernel on queues that are not set up cause warnings
        place.see("ip", "link", "set", name, "addrgenmode", "none")
    for name in ("va", "vb", "lo"):
        place.see("ip", "link", "set", name, "up")


def commands(unit: str) -> list[list[str]]:
    """The words of each ExecStart=, as systemd.service(5) reads them."""
    rows = [row.removeprefix("ExecStart=-") for row in unit.splitlines() if "ExecStart" in row]
    words = [re.findall(r'"((?:[^"\\]|\\.)*)"', row) for row in rows]
    plain = [[re.sub(r"\\(.)", _escaped, word) for word in row] for row in words]
    return [[word.replace("%%", "%").replace("$$", "$") for word in row] for row in plain]


def _escaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]
