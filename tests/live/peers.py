"""What others would do on the same host: their own programs, or what their own files say."""

import configparser
import os
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).parent / "peers.toml"
PROFILES = (Path("/usr/lib/tuned"), Path("/usr/lib/tuned/profiles"))  # the second since tuned 2.23
NOT_INSTALLED, NOT_HERE = "not installed", "needs a machine of its own"
SBIN = "/usr/sbin:/sbin"


@dataclass(frozen=True)
class Peer:
    """One of peers.toml: what it does to a namespace, to a whole machine, and how that ends."""

    name: str
    program: str
    profile: str | None = None
    namespace: tuple[str, ...] = ()
    guest: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def installed(self) -> bool:
        """Its program is on PATH."""
        return shutil.which(self.program, path=f"{os.environ.get('PATH', '')}:{SBIN}") is not None

    def commands(self, *, whole: bool) -> tuple[str, ...] | str:
        """What it does to a host that is a `whole` machine or a namespace; why not, else."""
        if not self.installed:
            return NOT_INSTALLED
        if whole:
            return self.guest
        found = tuple(settings(self.profile)) if self.profile else self.namespace
        return found or NOT_HERE


def peers() -> list[Peer]:
    """All of peers.toml."""
    return [
        Peer(
            one["name"], one["program"], one.get("profile"),
            *(tuple(one.get(key, ())) for key in ("namespace", "guest", "after")),
        )
        for one in tomllib.loads(FILE.read_text())["peer"]
    ]  # fmt: skip


def settings(profile: str) -> Iterator[str]:
    """The net.* sysctls of a tuned profile and of those it includes, as commands."""
    path = next((p for d in PROFILES if (p := d / profile / "tuned.conf").exists()), None)
    if path is None:
        return
    file = configparser.ConfigParser(interpolation=None, strict=False)
    file.optionxform = str  # type: ignore[assignment, method-assign]
    file.read_string(path.read_text())
    for parent in file.get("main", "include", fallback="").replace(",", " ").split():
        yield from settings(parent)
    if not file.has_section("sysctl"):
        return
    for key, value in file.items("sysctl"):
        if key.startswith("net."):
            # `=>5` of tuned: at least 5
            assignment = f"{key}={value.lstrip('>').strip().strip(chr(34))}"
            yield f"here sysctl -qw {shlex.quote(assignment)}"
