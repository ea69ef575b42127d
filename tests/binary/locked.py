"""The inputs of the one file: inputs.toml, and how they are got.

Wheels come from the package index by pip, source packages of Debian by apt-get. A file that lies in
the folder of inputs already is not asked for, so that a build without network is possible. Each
file is compared with its hash.
"""

import hashlib
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
MACHINES: Final = ("x86_64", "aarch64")  # uname -m
KEYRING: Final = "/usr/share/keyrings/debian-archive-keyring.gpg"


@dataclass(frozen=True, slots=True)
class Input:
    """One package. `hashes` is by machine for a wheel ("" for all), by file for a source."""

    kind: str  # tool, source, wheel
    name: str
    version: str
    licence: str  # SPDX expression
    hashes: Mapping[str, str]
    licences: tuple[str, ...] = ()  # files with its terms
    patches: tuple[str, ...] = ()  # beginnings of the names of patches

    @property
    def upstream(self) -> str:
        """The version without epoch and revision of Debian."""
        if self.kind != "source":
            return self.version
        whole = self.version.rpartition(":")[2].rpartition("-")[0].removesuffix("+dfsg")
        return whole.rpartition("+really")[2]


@dataclass(frozen=True, slots=True)
class Lock:
    """All inputs."""

    suite: str  # of Debian
    inputs: tuple[Input, ...]
    digest: str = field(repr=False)  # of the file

    def of(self, kind: str) -> tuple[Input, ...]:
        """The inputs of one kind."""
        return tuple(one for one in self.inputs if one.kind == kind)

    def one(self, name: str) -> Input:
        """The input of that name."""
        return next(one for one in self.inputs if one.name == name)


def read(path: Path = HERE / "inputs.toml") -> Lock:
    """The lock file."""
    data = path.read_bytes()
    found = tomllib.loads(data.decode())
    inputs = []
    for kind in ("tool", "source", "wheel"):
        for row in found[kind]:
            by_machine = {name: row[name] for name in MACHINES if name in row}
            hashes = row.get("files") or by_machine or {"": row["sha256"]}
            names = (tuple(row.get(name, ())) for name in ("licences", "patches"))
            inputs.append(
                Input(kind, row["name"], row["version"], row["licence"], hashes, *names)
            )  # fmt: skip
    return Lock(found["suite"], tuple(inputs), hashlib.sha256(data).hexdigest())


def sha256(path: Path) -> str:
    """The hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def wheel(folder: Path, one: Input, machine: str) -> Path | None:
    """The wheel with the hash of the lock; None if it is not in the folder."""
    wanted = one.hashes.get("") or one.hashes[machine]
    stem = f"{one.name.replace('-', '_')}-{one.version}-"
    found = (path for path in folder.glob("*.whl") if path.name.lower().startswith(stem))
    return next((path for path in found if sha256(path) == wanted), None)


def fetch_wheels(folder: Path, wheels: Iterable[Input], machine: str) -> None:
    """Download what is missing; pip compares the hashes."""
    missing = [one for one in wheels if wheel(folder, one, machine) is None]
    if not missing:
        return
    listed = folder / "wheels.txt"
    rows = (f"{one.name}=={one.version} --hash=sha256:{one.hashes.get('') or one.hashes[machine]}"
            for one in missing)  # fmt: skip
    listed.write_text("\n".join(rows) + "\n")
    tags = ("2014", "_2_17", "_2_12")
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes",
         "--only-binary=:all:", "--python-version=3.13", "--implementation=cp",
         *(f"--platform=manylinux{tag}_{machine}" for tag in tags), "--platform=any",
         "--dest", str(folder), "--requirement", str(listed)],
        check=True,
    )  # fmt: skip


def fetch_source(folder: Path, one: Input, suite: str) -> None:
    """Download what is missing of a source package, from the mirror that apt uses here."""
    if all((folder / name).is_file() for name in one.hashes):
        return
    private = folder / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        (private / name).mkdir(parents=True, exist_ok=True)
    sources = private / "debian.sources"
    sources.write_text(
        f"Types: deb-src\nURIs: {mirror()}\nSuites: {suite}\nComponents: main\n"
        f"Signed-By: {KEYRING}\n"
    )
    apt = ["apt-get", "-qq", "-o", f"Dir::Etc::sourcelist={sources}", "-o",
           "Dir::Etc::sourceparts=/dev/null", "-o", f"Dir::State::lists={private}/lists", "-o",
           f"Dir::Cache={private}/cache", "-o", "APT::Sandbox::User=root"]  # fmt: skip
    if not any((private / "lists").glob("*Sources*")):
        subprocess.run([*apt, "update"], check=True)
    package = f"{one.name}={one.version}"
    for part in ("--tar-only", *(["--diff-only"] if len(one.hashes) > 1 else [])):
        subprocess.run([*apt, "source", "--download-only", part, package], cwd=folder, check=True)


def mirror() -> str:
    """The address of Debian's packages in the configuration of apt."""
    words = ["apt-get", "indextargets", "--format", "$(LABEL) $(SITE)"]
    rows = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    return next(row.split()[1] for row in rows if row.startswith("Debian "))


def fetch(lock: Lock, folder: Path, machine: str) -> None:
    """Get every input; SystemExit names the file that cannot be had or has another hash."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        fetch_wheels(folder, (*lock.of("tool"), *lock.of("wheel")), "x86_64")
        if machine != "x86_64":
            by_machine = [one for one in lock.of("wheel") if machine in one.hashes]
            fetch_wheels(folder, by_machine, machine)
    except (OSError, subprocess.CalledProcessError):
        sys.exit(f"a wheel of {HERE / 'inputs.toml'} cannot be had: see the words of pip above")
    for one in lock.of("source"):
        with suppress(OSError, StopIteration, subprocess.CalledProcessError):
            fetch_source(folder, one, lock.suite)  # what is missing is named below
        for name, wanted in one.hashes.items():
            path = folder / name
            if not path.is_file():
                sys.exit(f"{name} of Debian's {one.name} {one.version} cannot be had by apt-get: "
                         f"put a file with this SHA-256 there: {path} {wanted}")  # fmt: skip
            if (found := sha256(path)) != wanted:
                sys.exit(f"{path} has the SHA-256 {found}; inputs.toml has {wanted}")
