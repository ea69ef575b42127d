"""Boot the lab: Debian's own kernel, in software emulation, on this machine's own files.

    python tests/lab/boot.py TOPOLOGY [--out DIR] [--timeout S] -- COMMAND…
    python tests/lab/boot.py TOPOLOGY --shell

The guest sees this machine's file system read-only, so the project and its environment are simply
there; what it writes to the folder in $NETTOP_LAB_OUT comes back. Programs and modules are read by
a second mount that the guest's kernel caches: by the first each look at a file asks this machine,
and Python takes half a minute to start. Exit code: the command's; 77 when the lab cannot run here,
with one line saying what is missing; 75 when the emulator gave no answer.
"""

import argparse
import contextlib
import glob
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).parent
PROGRAMS = HERE.parent / "live/programs/run.py"
UNAVAILABLE = 77
HUNG = 75  # EX_TEMPFAIL: the emulator gave no answer
BOOTS = 3  # the emulator was seen to crash, and to lose a CPU's timer, while the guest booted
UP = 300.0  # seconds until the guest must have started the command; 40 to 150 are usual
CACHED = "cached"  # the tag of the second mount
NEEDED = {
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "modprobe": "kmod",
    "ip": "iproute2",
}


def kernel() -> str | None:
    """The kernel named by $NETTOP_LAB_KERNEL, or the newest Debian kernel with its modules."""
    if named := os.environ.get("NETTOP_LAB_KERNEL"):
        return named
    found = [
        image
        for image in glob.glob("/boot/vmlinuz-*")
        if Path("/lib/modules", image.removeprefix("/boot/vmlinuz-")).is_dir()
    ]
    return max(found, key=os.path.getmtime, default=None)


def missing() -> str | None:
    """What stands in the way, as one line; None when the lab can run."""
    packages = [package for tool, package in NEEDED.items() if not shutil.which(tool)]
    if kernel() is None:
        packages.append("linux-image-amd64")
    if packages:
        return f"install {' '.join(sorted(packages))} (Debian packages)"
    if not _vng().exists():
        return "install virtme-ng into this environment: pip install virtme-ng"
    if os.geteuid() != 0:
        return "root is needed"
    return None


def _vng() -> Path:
    return Path(sys.executable).parent / "vng"


def topology(name: str) -> dict[str, Any]:
    """The topology's data; SystemExit names the known ones."""
    path = HERE / "topology" / f"{name}.toml"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in path.parent.glob("*.toml")))
        raise SystemExit(f"no topology {name!r}; there are {known}")
    return tomllib.loads(path.read_text())


def shared() -> list[str]:
    """The folders that the guest reads by way of its cache, the outer ones first."""
    root = HERE.parents[1]
    found = {Path("/usr"), Path(sys.base_prefix), Path(sys.prefix)}
    found |= {root / name for name in ("src", "rules", "tests")}
    return sorted(str(one.resolve()) for one in found)


def cached() -> str:
    """The lines of a shell script that mount them once more."""
    options = "ro,trans=virtio,version=9p2000.L,msize=524288,cache=loose"
    lines = ["mkdir -p /run/cached", f"mount -t 9p -o {options} {CACHED} /run/cached"]
    lines += [f"mount --bind /run/cached{one} {one}" for one in map(shlex.quote, shared())]
    return "\n".join(lines) + "\n"


def boot(name: str, command: list[str], out: Path, timeout: float, *, shell: bool = False) -> int:
    """Boot, run `command` inside, bring its exit code back; its output is `out`/log."""
    plan = topology(name)
    image = kernel()
    assert image is not None
    (out / "status").unlink(missing_ok=True)
    script = out / "guest.sh"
    inner = [sys.executable, str(HERE / "guest.py"), name, str(out), *command]
    environment = {
        "NETTOP_LAB": name,
        "NETTOP_LAB_OUT": str(out),
        "NETTOP_LAB_FULL": os.environ.get("NETTOP_LAB_FULL", ""),
        "PATH": f"{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin:{os.environ['PATH']}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": "/root",
        "LANG": "C.UTF-8",
        "TERM": os.environ.get("TERM", "xterm-256color"),
    }
    exports = "".join(f"export {k}={shlex.quote(v)}\n" for k, v in environment.items())
    redirect = "" if shell else f" > {shlex.quote(str(out / 'log'))} 2>&1"
    script.write_text(
        f"#!/bin/sh\n{exports}{cached()}cd {shlex.quote(os.getcwd())}\n"
        f"{shlex.join(inner)}{redirect}\necho $? > {shlex.quote(str(out / 'status'))}\nsync\n"
    )
    files = [
        f"-fsdev local,id={CACHED},path=/,security_model=none,readonly=on,multidevs=remap",
        f"-device virtio-9p-pci,fsdev={CACHED},mount_tag={CACHED},bus=pcie.0",
    ]
    vng = [
        str(_vng()), "--run", image, "--disable-kvm", "--force-9p",
        "--cpus", str(plan["cpus"]), "--memory", plan["memory"],
        "--rwdir", str(out), f"--qemu-opts={' '.join([*plan['qemu'], *files])}",
    ]  # fmt: skip
    for word in plan.get("kernel", ()):
        vng += ["--append", word]
    if not shell:
        vng.append("--verbose")
    vng += ["--", "sh", str(script)]
    with open(out / "console", "wb") as console, _outside(plan) as before:
        for _ in range(1 if shell else BOOTS):
            (out / "log").unlink(missing_ok=True)
            ended = _run([*before, *vng], None if shell else console, timeout, out / "log")
            if shell or (out / "log").exists():
                break
            how = "ended" if ended else "hung"
            print(f"lab: the machine {how} before it was up", file=sys.stderr)
    try:
        return int((out / "status").read_text())
    except (OSError, ValueError):
        return HUNG


def _run(words: list[str], console: IO[bytes] | None, timeout: float, log: Path) -> bool:
    """Whether the machine came to its end within `timeout`; a shell (no console) has no limit.

    A machine without a `log` after `UP` seconds hangs and is ended too.
    """
    path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"
    machine = subprocess.Popen(
        words,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL if console else None,
        stdout=console,
        stderr=console,
        start_new_session=console is not None,
    )
    try:
        if console:
            with contextlib.suppress(subprocess.TimeoutExpired):
                machine.wait(UP)
            if machine.poll() is None and not log.exists():
                return False
        machine.wait(timeout - UP if console else None)
    except subprocess.TimeoutExpired:
        print(f"lab: no answer within {timeout:.0f} s", file=sys.stderr)
        return False
    finally:
        if console and machine.poll() is None:
            os.killpg(machine.pid, signal.SIGKILL)  # QEMU is a child of its child
        machine.wait()
    return True


@contextlib.contextmanager
def _outside(plan: dict[str, Any]) -> Iterator[list[str]]:
    """What stands around the machine: for a tap a namespace of its own, in which servers wait.

    The words that QEMU must be started with to lie in it.
    """
    if "tap" not in plan:
        yield []
        return
    name = f"nettop-lab-{os.getpid()}"
    inside = ["ip", "netns", "exec", name]
    servers: list[subprocess.Popen[bytes]] = []
    try:
        _tap(name, plan["tap"])
        servers += [
            subprocess.Popen([*inside, *words], stdout=subprocess.DEVNULL)
            for words in (
                ["iperf3", "-s"],
                [sys.executable, str(PROGRAMS), "streams", "7300", "100000"],
            )
        ]
        yield inside
    finally:
        for server in servers:
            server.terminate()
            server.wait()
        subprocess.run(["ip", "netns", "del", name], check=False)


def _tap(name: str, address: str) -> None:
    """A namespace with a multi-queue tap: the guest's peer."""
    for words in (
        ["ip", "netns", "add", name],
        ["ip", "-n", name, "tuntap", "add", "tapq", "mode", "tap", "multi_queue"],
        ["ip", "-n", name, "addr", "add", address, "dev", "tapq"],
        ["ip", "-n", name, "link", "set", "tapq", "up"],
        ["ip", "-n", name, "link", "set", "lo", "up"],
    ):
        subprocess.run(words, check=True)


def main() -> int:
    """Boot as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("topology")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--shell", action="store_true")
    words, command = sys.argv[1:], list[str]()
    if "--" in words:
        at = words.index("--")
        words, command = words[:at], words[at + 1 :]
    args = parser.parse_args(words)
    lacking = missing()
    if lacking:
        print(f"lab: skipped: {lacking}", file=sys.stderr)
        return UNAVAILABLE
    out = (args.out or Path(tempfile.mkdtemp(prefix="nettop-lab-"))).resolve()
    out.mkdir(parents=True, exist_ok=True)
    code = boot(args.topology, command, out, args.timeout, shell=args.shell)
    log = out / "log"
    if log.exists() and not args.shell:
        print(log.read_text(errors="replace"), end="")
    elif not args.shell:
        print((out / "console").read_text(errors="replace")[-3000:])
    return code


if __name__ == "__main__":
    sys.exit(main())
