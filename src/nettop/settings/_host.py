"""How settings write to the host: files, netlink, ioctl and a few tools; and how a user would."""

from __future__ import annotations

import os
from dataclasses import field

from ..files import descriptors
from ..files.draft import write
from ..files.trust import environment, program
from ..host.source import Live, Source
from ..terms.dataclass import dataclass


@dataclass(frozen=True)
class Host:
    """A host that may be changed: this machine, or a directory with the same files.

    `root` is where its files are; `source` is how it is read.
    """

    root: str = "/"
    source: Source = field(default_factory=Live)

    @classmethod
    def at(cls, root: str = "/") -> Host:
        """The host under `root`."""
        return cls(root.rstrip("/") or "/", Live(root))

    @property
    def real(self) -> bool:
        """Whether it is this running machine."""
        return self.root == "/"

    def write(self, path: str, text: str) -> None:
        """Write one value to a kernel file; OSError carries the kernel's reason and the path.

        The kernel takes such a value whole or not at all; in a directory, a rename gives the same
        guarantee, so a killed program never leaves half a value.
        """
        data = (text + "\n").encode("utf-8", "surrogateescape")
        if not self.real:
            full = self.root + path
            if not os.path.exists(full):
                raise FileNotFoundError(2, "No such file or directory", path)
            write(full, data)
            return
        handle = descriptors.writable(path)
        try:
            os.write(handle, data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from None
        finally:
            descriptors.close(handle)

    def change(self, family: str, kind: int, body: bytes, flags: int = 0) -> None:
        """Ask the kernel by netlink to change something; OSError with the kernel's own text."""
        if not self.real:
            raise FileNotFoundError(2, "a directory has no netlink", self.root)
        from ..host.netlink.kernel import Kernel

        kernel = Kernel()
        try:
            kernel.change(family, kind, body, flags)
        finally:
            kernel.close()

    def ioctl(self, interface: str, request: bytes) -> bytes:
        """Send a request to the driver by the ioctl SIOCETHTOOL."""
        return self.source.statistics(interface, request, f"ethtool/{interface}/set")

    def run(self, argv: tuple[str, ...]) -> str:
        """The output of a tool, run without a shell; OSError with its own first line."""
        import subprocess

        try:
            done = subprocess.run(
                (program(argv[0]), *argv[1:]), env=environment(),
                capture_output=True, text=True, check=False, timeout=30, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise TimeoutError(110, f"{argv[0]} did not end within 30 s") from None
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise OSError(5, lines[0] if lines else f"{argv[0]} ended with {done.returncode}")
        return done.stdout


@dataclass(frozen=True, slots=True)
class Command:
    """One command an expert would type: an argument list, or a text written to a file."""

    argv: tuple[str, ...] = ()
    path: str = ""
    text: str = ""

    def shell(self) -> str:
        """The line for a POSIX shell; every word that came from the host is quoted."""
        import shlex

        if self.path:
            return f"echo {shlex.quote(self.text)} > {shlex.quote(self.path)}"
        return shlex.join(self.argv)
