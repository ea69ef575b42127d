"""A running `nettop serve` for tests, and its processes."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

from aiohttp.test_utils import unused_port
from hang import HANG

HOST = pathlib.Path(__file__).parents[1] / "hosts" / "guest-transfer.host"
NOBODY = 65534


class Served(NamedTuple):
    """The server's process, its command line, and the address that it printed."""

    process: subprocess.Popen[str]
    words: list[str]
    url: str
    port: int

    @property
    def token(self) -> str:
        """The token of the address."""
        return self.url.split("/")[3]

    @property
    def origin(self) -> dict[str, str]:
        """The headers of its own page."""
        return {"Origin": f"http://127.0.0.1:{self.port}"}


def children(number: int) -> list[int]:
    """The child processes of a process, from /proc."""
    tasks = pathlib.Path(f"/proc/{number}/task")
    return [int(n) for one in tasks.iterdir() for n in (one / "children").read_text().split()]


@contextlib.contextmanager
def served(
    folder: pathlib.Path, *options: str, live: bool = False, end: int = signal.SIGTERM
) -> Iterator[Served]:
    """Serve a recording, or this host, until the block ends with a signal."""
    port = unused_port()
    words = [sys.executable, "-m", "nettop", "serve", "--port", str(port), *options]
    words += ["--as-root"] if os.geteuid() == 0 else []
    words += [] if live else ["--replay", str(HOST)]
    folders = ("HOME", "NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **dict.fromkeys(folders, str(folder))},
    )
    with process:
        assert process.stdout is not None
        try:
            yield Served(process, words, process.stdout.readline().strip(), port)
        finally:
            process.send_signal(end)
            process.wait(HANG)
