"""Tests and experiments between two network namespaces, by command."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import veth
from changes_netns import run
from hang import until
from warm import shared

OWN: Final = ("bulk", "capture", "udp-latency", "udp-sweep", "rfc2544", "flow")  # tools of nettop


class Ends:
    """Both ends; results and the journal are in a folder that is removed."""

    def __init__(self, pair: veth.Pair, name: str, folder: str) -> None:
        self.pair, self.folder = pair, Path(folder)
        self.here, self.there = veth.spaces(name)
        self.environment = {**os.environ, "XDG_STATE_HOME": folder, "NETTOP_STATE": folder}
        self.peer = ("--peer", f"ip netns exec {self.there}")

    def nettop(self, *words: str, code: int = 0, program: Sequence[str] = ()) -> dict[str, Any]:
        """The JSON that nettop prints at the near end, or what it says; `program` runs it."""
        words = (*program, *words, "--json")
        done = shared().run(words, self.environment, netns=self.here)
        errors = done.stderr.decode()
        assert done.returncode == code, errors or done.stdout
        assert "Traceback" not in errors
        found: dict[str, Any] = json.loads(done.stdout) if done.stdout else {"said": errors}
        return found

    def trial(self, tool: str, *words: str, code: int = 0) -> dict[str, Any]:
        """A short test to the far end; nothing of it runs there afterwards."""
        seconds = "0.3" if tool in OWN else "1"  # other tools take whole seconds
        common = ("--to", veth.FAR, *self.peer, "--seconds", seconds, "--warmup", "0", "--no-keep")
        found = self.nettop("test", tool, *common, *words, code=code)
        assert self.left() == []
        return found

    def left(self) -> list[str]:
        """What runs at the far end."""
        return run("ip", "netns", "pids", self.there).split()

    def kernel(self, name: str, value: str = "") -> str:
        """A parameter of the kernel at the near end; `value` sets it."""
        if value:
            run(*self.pair.near, "sysctl", "-qw", f"{name}={value}")
        return " ".join(run(*self.pair.near, "sysctl", "-n", name).split())

    def nothing_left(self) -> None:
        """Wait until nothing runs at the far end."""
        until(lambda: not self.left(), self.left)


@contextmanager
def ends(name: str) -> Iterator[Ends]:
    """Two namespaces joined by a veth pair."""
    with veth.pair(name) as pair, tempfile.TemporaryDirectory() as folder:
        yield Ends(pair, name, folder)


def installed(tool: str) -> None:
    """Skip the test where the tool is absent; nettop's own are always there."""
    program = {"netsniff": "netsniff-ng"}.get(tool, tool)
    if tool not in OWN and shutil.which(program) is None:
        pytest.skip(f"{tool} is not installed")
