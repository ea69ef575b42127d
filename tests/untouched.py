"""Run a command and fail if it leaves the host changed: `tests/untouched.py make test`.

It compares the state before and after: every readable file of /proc/sys (including the kernel's
taint), links and namespaces, the CPUs of each interrupt, processes that the command started and did
not end, and files in temporary and home folders. It prints each difference. The exit code is that
of the command; 1 if the command succeeded but the host differs.
"""

import contextlib
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

# counters, random values, and values that change with time
MOVING = re.compile(
    r"fs/(dentry-state|file-nr|inode-nr|inode-state|aio-nr|quota/.*|mqueue/.*)|"
    r"kernel/(random/.*|ns_last_pid|pty/nr|sched_domain/.*|cap_last_cap|perf_event_max_sample_rate|"
    r"perf_cpu_time_max_percent|real-root-dev)|net/netfilter/nf_conntrack_count|"
    r"net/ipv4/tcp_(fastopen_key|mem)|net/.*/(neigh|stable_secret).*|fs/binfmt_misc/.*"
)
HOMES = ("~", "~/.config", "~/.local/state", "~/.local/share")
# in folders that other programs use too: names that our programs may leave; names to ignore
OURS = re.compile(r"(nettop|nt-|tmp|chromium|\.?org\.chromium|\.nettop|vng).*")
HARMLESS = re.compile(r"nettop-apt\.log|pytest-of-.*|\.cache|\.local")
MARK = f"UNTOUCHED_RUN={secrets.token_hex(8)}"  # in the environment of all started processes
SOON = 10.0  # seconds in which processes may still end


def settings() -> Iterator[tuple[str, str]]:
    """Every readable kernel parameter with its value."""
    for folder, _, names in os.walk("/proc/sys"):
        for name in names:
            path = os.path.join(folder, name)
            if not MOVING.fullmatch(path.removeprefix("/proc/sys/")):
                with contextlib.suppress(OSError, UnicodeDecodeError):
                    yield path, Path(path).read_text().strip()


def links() -> Iterator[tuple[str, str]]:
    """Every interface of this namespace with its settings, and every named namespace."""
    done = subprocess.run(["ip", "-json", "link"], capture_output=True, text=True, check=False)
    for link in json.loads(done.stdout or "[]"):
        values = {key: link.get(key) for key in ("mtu", "txqlen", "qdisc", "flags", "master")}
        yield f"link {link['ifname']}", json.dumps(values)
    with contextlib.suppress(OSError):
        yield from ((f"namespace {name}", "is there") for name in os.listdir("/run/netns"))


def interrupts() -> Iterator[tuple[str, str]]:
    """The CPU affinity of each interrupt."""
    for path in Path("/proc/irq").glob("*/smp_affinity_list"):
        with contextlib.suppress(OSError):
            yield str(path), path.read_text().strip()


def processes() -> Iterator[tuple[str, str]]:
    """Every process that the command started, by the mark in its environment."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if MARK.encode() in (path / "environ").read_bytes().split(b"\0"):
                words = (path / "cmdline").read_bytes().replace(b"\0", b" ")
                yield f"process {path.name}", words.decode(errors="replace").strip()[:120]


def files() -> Iterator[tuple[str, str]]:
    """Files of our programs in the temporary folders, and all names in the user's folders."""
    shared = {"/tmp", "/dev/shm", tempfile.gettempdir()}
    for folder in {*shared, *map(os.path.expanduser, HOMES)}:
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                if not HARMLESS.fullmatch(name) and (folder not in shared or OURS.fullmatch(name)):
                    yield os.path.join(folder, name), "is there"


def state() -> dict[str, str]:
    """The whole state that is compared."""
    return dict(pair for look in (settings, links, interrupts, processes, files) for pair in look())


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """The names that appeared, changed or disappeared; a process that ended is ignored."""
    return [
        f"{name}: {before.get(name, 'absent')} → {after.get(name, 'absent')}"
        for name in sorted({**before, **after})
        if before.get(name) != after.get(name)
        and not (name.startswith("process ") and name not in after)
    ]


def warnings(rows: list[str]) -> Iterator[str]:
    """The kernel's warnings, if the kernel is tainted since: only its log says the cause."""
    if any("/kernel/tainted" in row for row in rows):
        done = subprocess.run(["dmesg"], capture_output=True, text=True, check=False)
        log = done.stdout.splitlines()
        for at, row in enumerate(log):
            if "cut here" in row or "BUG:" in row:
                yield from log[at : at + 4]


def main() -> int:
    """Read the state, run the command, compare."""
    before = state()
    name, _, value = MARK.partition("=")
    code = subprocess.run(sys.argv[1:], check=False, env={**os.environ, name: value}).returncode
    end = time.monotonic() + SOON
    while (rows := differences(before, state())) and time.monotonic() < end:
        time.sleep(0.5)
    for row in rows:
        print(f"left behind: {row}", file=sys.stderr)
    for row in warnings(rows):
        print(f"kernel log: {row}", file=sys.stderr)
    return code or bool(rows)


if __name__ == "__main__":
    sys.exit(main())
