"""A user who is logged in by ssh: sshd in one namespace, ssh in another, a veth pair between."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from changes_netns import run
from hang import HANG, until

SSHD: Final = "/usr/sbin/sshd"
# sshd refuses a locked account, and root may be locked here: mount a shadow file that allows it.
SERVE: Final = (
    'mkdir -p /run/sshd && mount --bind "$1/shadow" /etc/shadow && exec /usr/sbin/sshd -D '
    '-f "$1/config" -E "$1/log"'
)


class Login:
    """The far user's end: every command comes over the link.

    The server is in namespace `here` (10.79.0.1 on va), the user in `there` (10.79.0.2 on vb).
    """

    def __init__(self, folder: Path, here: str, there: str) -> None:
        self.folder, self.here, self.there = folder, here, there
        for name in ("host", "user"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name))
        (folder / "shadow").write_text("root:*:20000:0:99999:7:::\n")
        (folder / "config").write_text(
            f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\nPidFile none\n"
            "Port 2222\nListenAddress 10.79.0.1\nUsePAM no\nStrictModes no\nPermitRootLogin yes\n"
            f"SetEnv HOME={folder} PATH={folder}/bin:{os.environ['PATH']} "
            f"NETTOP_STATE={folder}/state\n"  # no file of the developer's home is read
        )
        self.client = [
            "ssh", "-p", "2222", "-i", str(folder / "user"), "-o", "StrictHostKeyChecking=no",
            "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "BatchMode=yes",
            "root@10.79.0.1",
        ]  # fmt: skip
        self.ssh = ["ip", "netns", "exec", there, *self.client]

    @contextmanager
    def connected(self) -> Iterator[str]:
        """The words of a client whose many commands share one connection."""
        with tempfile.TemporaryDirectory(prefix="nt-") as folder:  # a socket's path is short
            control = ["-S", f"{folder}/s"]
            with subprocess.Popen([*self.ssh[:-1], *control, "-MN", self.ssh[-1]]) as master:
                try:
                    until(lambda: os.path.exists(control[1]), "no connection")
                    yield shlex.join([*self.client[:-1], *control, self.client[-1]])
                finally:
                    master.kill()

    def install(self) -> None:
        """Let the user's shell there find a `nettop`."""
        program = self.folder / "bin/nettop"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m nettop "$@"\n')
        program.chmod(0o755)

    def line(self, *words: str) -> str:
        """What the far user's shell there is given."""
        state = f"NETTOP_STATE={self.folder}/state"
        return shlex.join(["env", state, sys.executable, "-m", "nettop", *words])

    def nettop(self, *words: str) -> list[dict[str, Any]]:
        """The changes that a command of the nettop there prints."""
        done = subprocess.run(
            [*self.ssh, self.line(*words, "--json")], capture_output=True, text=True, check=False,
            timeout=HANG,
        )  # fmt: skip
        assert done.stdout, done.stderr
        found: list[dict[str, Any]] = json.loads(done.stdout)["changes"]
        return found


@contextmanager
def logged_in(folder: Path, here: str, there: str, serve: str = SERVE) -> Iterator[Login]:
    """Make both namespaces and the server, and remove them; `serve` is the script of the server."""
    try:
        run("ip", "netns", "add", here)
        run("ip", "netns", "add", there)
        run(*f"ip link add va netns {here} type veth peer name vb netns {there}".split())
        for place, name, number in ((here, "va", 1), (there, "vb", 2)):
            run("ip", "-n", place, "address", "add", f"10.79.0.{number}/24", "dev", name)
            run("ip", "-n", place, "link", "set", name, "up")
        user = Login(folder, here, there)
        words = ["ip", "netns", "exec", here, "unshare", "-m", "sh", "-c", serve, "sh"]
        with subprocess.Popen([*words, str(folder)]) as server:
            try:
                log = folder / "log"
                until(lambda: log.exists() and "Server listening" in log.read_text(), "no server")
                run(*user.ssh, "true")
                yield user
            finally:
                server.kill()
    finally:
        for place in (here, there):
            subprocess.run(["ip", "netns", "del", place], check=False)
