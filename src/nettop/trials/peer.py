"""The other host of a trial: a command prefix, and helper programs that end with nettop.

A peer is the command prefix that runs a command there: `ssh host`, `ip netns exec b`, `sudo ip
netns exec b`, or nothing for this host. Each helper is source text of `trials/far`, sent over
standard input. It ends when its standard input closes; the kernel closes it when nettop ends.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from ..files.trust import path, program
from ..terms.text import safe as printable
from .end import Absent, Cancelled, End, PeerError

# Read one line with everything, then run it. `-` alone would need the end of standard input first,
# and that end is what says that nettop is gone.
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
    """A place to run commands: the words of the prefix; empty for this host."""

    prefix: tuple[str, ...] = ()
    cancel: threading.Event | None = field(default=None, compare=False)  # ends every wait for it

    @property
    def where(self) -> str:
        """For sentences: `here` or `at ssh host`."""
        return "at " + printable(" ".join(self.prefix)) if self.prefix else "here"

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs `argv` there.

        ssh joins its words with spaces and hands them to a shell: they become one quoted argument.
        """
        if not self.prefix:
            return list(argv)
        if self._by_shell():
            return [*self.prefix, shlex.join(argv)]
        return [*self.prefix, *argv]

    def _by_shell(self) -> bool:
        return any(os.path.basename(word) == "ssh" for word in _programs(self.prefix))

    def start(self, script: str, options: Mapping[str, Any]) -> End:
        """Run `trials/far/SCRIPT.py` there; PeerError if it cannot be started."""
        python = "python3" if self.prefix else sys.executable
        # -I -S: nothing of what is installed or set there takes part, and it starts sooner
        argv = self.command([python, "-I", "-S", "-u", "-c", _START])
        try:
            process = subprocess.Popen(
                [program(argv[0]), *argv[1:]],
                env=_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,  # Ctrl-C goes to nettop, which ends things in order
            )
        except OSError as error:
            why = os.strerror(error.errno or 0)
            raise PeerError(f"cannot run {printable(argv[0])}: {why}") from None
        job = {"boot": _BOOT, "texts": _texts(script), "options": dict(options)}
        text = json.dumps(job).encode() + b"\n"
        return End(process, script, text, self.where, self.cancel)

    def run(self, argv: Sequence[str], seconds: float = 15.0) -> tuple[int, str]:
        """Run a short command there to its end: its exit code and what it printed (both streams).

        Absent when it is not installed, PeerError when it does not end in `seconds`.
        """
        with self.start("program", {"argv": list(argv)}) as end:
            lines = []
            for message in end.messages(seconds):
                lines += [str(message[key]) for key in ("out", "err") if key in message]
                if "exit" in message:
                    return int(message["exit"]), "\n".join(lines)
        raise PeerError(f"{printable(argv[0])} {self.where} did not end in {seconds:g} s")


HERE: Final = Peer()


def _environment() -> dict[str, str]:
    """Ours, with the folders where programs are looked for.

    An SSH session of ours says nothing of the address from which a far end is reached.
    """
    ours = {key: text for key, text in os.environ.items() if not key.startswith("SSH_C")}
    return {**ours, "PATH": path()}


def parse(prefix: str | None) -> Peer:
    """A peer from its prefix, split as a shell would; ValueError for unbalanced quotes."""
    try:
        return Peer(tuple(shlex.split(prefix or "")))
    except ValueError as error:
        raise ValueError(f"peer {prefix!r}: {error}") from None


def _programs(prefix: Sequence[str]) -> Iterator[str]:
    """The words of a prefix that name its program: the first, and the one after sudo or env."""
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
    """The script's text after those it imports; the last one is run."""
    text = (_FAR / f"{script}.py").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for needed in re.findall(r"^from nettop\.trials\.far\.(\w+) import", text, re.MULTILINE):
        found.update(_texts(needed))
    return (*found.items(), (f"nettop.trials.far.{script}", text))


__all__ = ["HERE", "Absent", "Cancelled", "End", "Peer", "PeerError", "parse"]
