"""`make zipapp`: nettop as one executable file, dist/nettop.pyz, for hosts without a package index.

It holds nettop with its rules and its dependencies. These are pure Python, except psutil, whose
compiled module is there for each of MACHINES. The host needs Python 3.11 or newer and glibc and
nothing else. On its first start it unpacks itself into the user's cache (root's:
/var/cache/nettop), as a small virtual environment, where what nettop starts anew (guard, sudo,
namespaces) finds it too.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import zipapp
import zipfile
from pathlib import Path

REPO = Path(__file__).parents[1]
MACHINES = ("x86_64", "aarch64")  # uname -m
MAIN = '''\
"""Unpack once, then run from there."""

import sys


def escaped(kind, error, where):
    """Ctrl-C while it unpacks ends it without a traceback."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, where)


sys.excepthook = escaped

import os
import shutil
import subprocess
import tempfile
import zipfile

if sys.version_info < (3, 11):
    sys.exit("nettop needs Python 3.11 or newer; this is " + sys.version.split()[0])
MACHINE = os.uname().machine
if MACHINE not in {machines}:
    sys.exit("nettop.pyz is for {spoken}; this is " + MACHINE + ": use pip install")
VERSION = "%d.%d" % sys.version_info[:2]
NAME = "{digest}-" + VERSION + "-" + MACHINE
OWN = "native/" + MACHINE + "/"


def fill(where):
    """Make the environment in an empty folder."""
    packages = os.path.join(where, "lib", "python" + VERSION, "site-packages")
    os.makedirs(packages)
    os.mkdir(os.path.join(where, "bin"))
    real = os.path.realpath(sys.executable)
    os.symlink(real, os.path.join(where, "bin", "python"))
    with open(os.path.join(where, "pyvenv.cfg"), "w") as file:
        file.write("home = " + os.path.dirname(real) + "\\n")
    with zipfile.ZipFile(os.path.dirname(os.path.abspath(__file__))) as packed:
        for name in packed.namelist():
            if name.startswith(OWN) and not name.endswith("/"):
                with open(os.path.join(packages, name[len(OWN):]), "wb") as file:
                    file.write(packed.read(name))
            elif not name.startswith("native/"):
                packed.extract(name, packages)


def kept():
    """The environment in the cache, made if need be; None where there can be none."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = "/var/cache/nettop" if os.geteuid() == 0 else os.path.join(cache, "nettop")
    where = os.path.join(folder, NAME)
    try:
        if not os.path.isdir(where):
            os.makedirs(folder, mode=0o755, exist_ok=True)
            made = tempfile.mkdtemp(dir=folder)
            try:
                fill(made)
                os.chmod(made, 0o755)
                os.rename(made, where)
            except OSError:  # another one was quicker, or the disk is full
                pass
            finally:
                shutil.rmtree(made, ignore_errors=True)  # it has another name if it is whole
        return where if os.stat(where).st_uid == os.geteuid() else None
    except OSError:
        return None


def run(where):
    return [os.path.join(where, "bin", "python"), "-I", "-m", "nettop", *sys.argv[1:]]


where = kept()
if where is not None:
    words = run(where)
    os.execv(words[0], words)
with tempfile.TemporaryDirectory(prefix="nettop-") as where:  # nothing can be kept here
    fill(where)
    sys.exit(subprocess.call(run(where)))
'''


def pip(*words: str) -> None:
    """One run of pip; its failure ends this with pip's own words."""
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", *words]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL)


def built(where: Path) -> Path:
    """The wheel of nettop."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(where)]
    subprocess.run(build, cwd=REPO, check=True, capture_output=True)
    return next(where.glob("*.whl"))


def gather(where: Path, wheel: Path) -> None:
    """nettop and its pure dependencies as folders."""
    pip("--target", str(where), *requirements(wheel))
    shutil.rmtree(where / "bin", ignore_errors=True)
    pip("--no-deps", "--target", str(where), str(wheel))
    for library in where.rglob("*.so"):  # an accelerator of a package that does without it
        library.unlink()
    for unneeded in ("bin", "share"):
        shutil.rmtree(where / unneeded, ignore_errors=True)
    for machine in MACHINES:
        native(where, machine)


def native(where: Path, machine: str) -> None:
    """The compiled modules of psutil for this machine, under native/."""
    (version,) = (p.stem.split("-")[1] for p in where.glob("psutil-*.dist-info"))
    platforms = [f"--platform=manylinux{one}_{machine}" for one in ("2014", "_2_17", "_2_28")]
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch,
             "--only-binary=:all:", "--implementation=cp", "--abi=abi3", "--python-version=3.11",
             *platforms, f"psutil=={version}"],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        with zipfile.ZipFile(next(Path(scratch).glob("*.whl"))) as packed:
            for name in packed.namelist():
                if name.endswith(".so"):
                    packed.extract(name, where / "native" / machine)


def requirements(wheel: Path) -> list[str]:
    """What the wheel's own metadata says it needs, extras left out."""
    with zipfile.ZipFile(wheel) as packed:
        name = next(n for n in packed.namelist() if n.endswith(".dist-info/METADATA"))
        text = packed.read(name).decode()
    head = "Requires-Dist: "
    lines = [row.removeprefix(head) for row in text.splitlines() if row.startswith(head)]
    return [line for line in lines if ";" not in line]


def digest(where: Path) -> str:
    """A short name of the content."""
    found = hashlib.sha256()
    for path in sorted(p for p in where.rglob("*") if p.is_file()):
        found.update(str(path.relative_to(where)).encode() + path.read_bytes())
    return found.hexdigest()[:16]


def make(out: Path, wheel: Path | None = None) -> Path:
    """Build the file, of a wheel or of this tree."""
    with tempfile.TemporaryDirectory() as scratch:
        where = Path(scratch) / "content"
        gather(where, wheel or built(Path(scratch)))
        main = MAIN.replace("{machines}", repr(MACHINES)).replace(
            "{spoken}", " and ".join(MACHINES)
        )
        (where / "__main__.py").write_text(main.replace("{digest}", digest(where)))
        out.parent.mkdir(parents=True, exist_ok=True)
        zipapp.create_archive(where, out, interpreter="/usr/bin/env python3", compressed=True)
    out.chmod(out.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return out


if __name__ == "__main__":
    made = make(Path(sys.argv[1]) if len(sys.argv) > 1 else REPO / "dist/nettop.pyz")
    size = made.stat().st_size / 1e6
    print(f"{os.path.relpath(made)}: {size:.1f} MB")
