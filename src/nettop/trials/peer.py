"""The hosts of a trial: a command prefix, and helper programs that end with nettop.

A peer is the command prefix that runs a command on the other host: `ssh host`, `ip netns exec b`,
`sudo ip netns exec b`; it is empty for this host. The source text of each helper program in
`trials/far` is sent over its standard input. A helper ends when its standard input closes, and the
kernel closes it when nettop ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Final

from ..host import prefix
from ..terms.dataclass import dataclass
from ..terms.text import safe as printable
from .end import Absent, Cancelled, End, PeerError
from .far.schema import HelperOptions

PYTHON: Final = prefix.PYTHON[0]
_PACKAGE: Final = "nettop.trials.far"
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
        return prefix.command(self.prefix, argv)

    def python(self, *code: str) -> list[str]:
        """The command line that runs Python code, and its arguments, on this peer."""
        if self.prefix:
            return prefix.python(self.prefix, *code)
        return [sys.executable, *prefix.PYTHON[1:], *code]

    def start(self, script: str, options: HelperOptions) -> End:
        """Run `trials/far/SCRIPT.py` on this peer; PeerError if it cannot be started."""
        argv = self.command(self.python(prefix.START))
        try:
            process = prefix.start(argv, apart=True)
        except OSError as error:
            why = os.strerror(error.errno or 0)
            raise PeerError(f"cannot run {printable(argv[0])}: {why}") from None
        job = prefix.job(_PACKAGE, _FAR, script, options)
        text = json.dumps(job).encode() + b"\n"
        return End(process, script, text, self.where, self.cancel)

    def by_file(self, absent: Absent) -> bool:
        """Whether it is this peer that has no Python, and that of the one file there is next."""
        words = self.prefix
        if absent.program != PYTHON or absent.where != self.where or not words:
            return False
        known = words in prefix.FILES
        prefix.FILES.add(words)
        return not known

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


def parse(text: str | None) -> Peer:
    """A peer from its prefix, split as a shell would; ValueError for unbalanced quotes."""
    try:
        return Peer(prefix.parse(text))
    except ValueError as error:
        raise ValueError(f"peer {text!r}: {error}") from None


__all__ = ["HERE", "PYTHON", "Absent", "Cancelled", "End", "Peer", "PeerError", "parse"]
