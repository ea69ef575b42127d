"""The hosts of a trial: a command prefix, and helper programs that end with nettop.

A peer is the command prefix that runs a command on the other host: `ssh host`, `ip netns exec b`,
`sudo ip netns exec b`; it is empty for this host. The source text of each helper program in
`trials/far` is sent over its standard input. A helper ends when its standard input closes, and the
kernel closes it when nettop ends.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from ..files.trust import path, program
from ..terms.text import safe as printable
from .end import Absent, Cancelled, End, PeerError
from .far.schema import HelperOptions

# Read one line with all sources, then run them. `python3 -` would read until end of file, but that
# means that nettop has ended.
_START: Final = "import sys,json;job=json.loads(sys.stdin.readline());exec(job['boot'])"
_BOOT: Final = """
import types
for name in ("nettop", "nettop.trials", "nettop.trials.far"):
    package = types.ModuleType(name)
    package.__path__ = []
    sys.modules[name] = package
for name, text in job["texts"]:
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(text, name, "exec"), module.__dict__)
module.main(job["options"])
"""
_FAR: Final = Path(__file__).parent / "far"


@dataclass(frozen=True, slots=True)
class Peer:
    """A host to run commands on: the words of the prefix; empty for this host."""

    prefix: tuple[str, ...] = ()
    cancel: threading.Event | None = field(default=None, compare=False)  # ends every wait for it

    @property
    def where(self) -> str:
        """The host in a sentence: `here` or `at ssh host`."""
        return "at " + printable(" ".join(self.prefix)) if self.prefix else "here"

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs `argv` on this peer.

        ssh joins its words with spaces and passes them to a shell, so `argv` is quoted as one word.
        """
        if not self.prefix:
            return list(argv)
        if self._by_shell():
            return [*self.prefix, shlex.join(argv)]
        return [*self.prefix, *argv]

    def _by_shell(self) -> bool:
        return any(os.path.basename(word) == "ssh" for word in _programs(self.prefix))

    def start(self, script: str, options: HelperOptions) -> End:
        """Run `trials/far/SCRIPT.py` on this peer; PeerError if it cannot be started."""
        python = "python3" if self.prefix else sys.executable
        # -I -S: ignore the environment and installed packages of that host; it also starts faster
        argv = self.command([python, "-I", "-S", "-u", "-c", _START])
        try:
            process = subprocess.Popen(
                [program(argv[0]), *argv[1:]],
                env=_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,  # Ctrl-C reaches only nettop, which ends its programs
            )
        except OSError as error:
            why = os.strerror(error.errno or 0)
            raise PeerError(f"cannot run {printable(argv[0])}: {why}") from None
        job = {"boot": _BOOT, "texts": _texts(script), "options": options}
        text = json.dumps(job).encode() + b"\n"
        return End(process, script, text, self.where, self.cancel)

    def run(self, argv: Sequence[str], seconds: float = 15.0) -> tuple[int, str]:
        """Run a short command on this peer: exit code, and output of both streams.

        Absent if it is not installed, PeerError if it does not end within `seconds`.
        """
        with self.start("program", {"argv": list(argv)}) as end:
            lines = []
            for message in end.messages(seconds):
                if "out" in message:
                    lines.append(message["out"])
                elif "err" in message:
                    lines.append(message["err"])
                elif "exit" in message:
                    return message["exit"], "\n".join(lines)
        raise PeerError(f"{printable(argv[0])} {self.where} did not end in {seconds:g} s")


HERE: Final = Peer()


def _environment() -> dict[str, str]:
    """Our environment with the trusted PATH, without the variables of our own SSH session.

    SSH_CONNECTION of nettop's own session is not the connection to the far end.
    """
    inherited = {key: text for key, text in os.environ.items() if not key.startswith("SSH_C")}
    return {**inherited, "PATH": path()}


def parse(prefix: str | None) -> Peer:
    """A peer from its prefix, split as a shell would; ValueError for unbalanced quotes."""
    try:
        return Peer(tuple(shlex.split(prefix or "")))
    except ValueError as error:
        raise ValueError(f"peer {prefix!r}: {error}") from None


def _programs(prefix: Sequence[str]) -> Iterator[str]:
    """The words of a prefix that are programs: the first, and the next one after sudo or env."""
    for word in prefix:
        if "=" in word and not word.startswith("-"):
            continue
        if word.startswith("-"):
            continue
        yield word
        if os.path.basename(word) not in ("sudo", "env", "doas", "nice", "timeout", "sshpass"):
            return


@cache
def _texts(script: str) -> tuple[tuple[str, str], ...]:
    """Module name and source of the modules that the script imports, then of the script itself."""
    text = (_FAR / f"{script}.py").read_text(encoding="utf-8")
    sources: dict[str, str] = {}
    for needed in re.findall(r"^from nettop\.trials\.far\.(\w+) import", text, re.MULTILINE):
        sources.update(_texts(needed))
    return (*sources.items(), (f"nettop.trials.far.{script}", text))


__all__ = ["HERE", "Absent", "Cancelled", "End", "Peer", "PeerError", "parse"]
