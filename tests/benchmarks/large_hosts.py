"""What the screen costs on large hosts that are built live, in turn with its peers.

    sudo python tests/benchmarks/large_hosts.py [--only connections,interfaces] [--seconds 20]
        [--runs 5] [--connections 10000] [--idle 100000] [--interfaces 1000] [--processes 30000]

Hosts: TCP connections that each move a message every five seconds, TCP connections that rest, veth
interfaces, sleeping processes, and recorded hosts of 256 and 1,152 CPUs. The first three are built
in network namespaces, the processes in a PID namespace; all are removed at the end. As many
connections are made as the limit of open files allows; each line has the number that was made.

Programs run in a terminal of 120x40 at one refresh a second, in turn: nettop, htop, btop, nettop,
… The figures are medians. `ss -tin` and `ip -s link` have no screen: one call is measured, and its
CPU time is given as if it were repeated each second. Prints a table beside the goals; asserts
nothing. Without root only the recorded hosts are measured.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

from tui_cost import NETTOP, PROGRAMS, Cost, run

HOSTS = Path(__file__).parents[1] / "hosts"
NEAR, FAR = f"bench{os.getpid()}a", f"bench{os.getpid()}b"
IN_NEAR = ["ip", "netns", "exec", NEAR]
GOALS = {  # percent of a core, MiB
    "connections": (2.0, 70.0), "idle": (2.0, None), "interfaces": (1.5, None),
    "processes": (2.0, None), "cpus": (2.0, None),
}  # fmt: skip

SERVER = """
    import selectors, socket
    listening = socket.create_server(("0.0.0.0", 7000), backlog=4096)
    listening.setblocking(False)
    ready = selectors.DefaultSelector()
    ready.register(listening, selectors.EVENT_READ)
    print("up", flush=True)
    while True:
        for key, _ in ready.select():
            try:
                if key.fileobj is listening:
                    near = listening.accept()[0]
                    near.setblocking(False)
                    ready.register(near, selectors.EVENT_READ)
                elif not key.fileobj.recv(65536):
                    ready.unregister(key.fileobj)
                    key.fileobj.close()
            except OSError:
                pass
"""
CLIENT = """
    import socket, sys, time
    count, rate = int(sys.argv[1]), float(sys.argv[2])
    made = []
    for _ in range(count):
        try:
            made.append(socket.create_connection(("10.78.0.2", 7000)))
        except OSError:
            break
    print(len(made), flush=True)
    at = 0
    while True:
        for _ in range(int(len(made) * rate / 10)):
            made[at % len(made)].send(b"x" * 400)
            at += 1
        time.sleep(0.1)
"""
SLEEPERS = """
    import os, sys, time
    made = 0
    for _ in range(int(sys.argv[1])):
        try:
            if os.fork() == 0:
                time.sleep(100000)
            made += 1
        except OSError:
            break
    print(made, flush=True)
    time.sleep(100000)
"""


def ip(*words: str) -> None:
    """Run ip(8)."""
    subprocess.run(["ip", *words], check=True)


@contextlib.contextmanager
def program(prefix: list[str], text: str, *arguments: str) -> Iterator[str]:
    """Run a Python program in the background; gives its first line."""
    argv = [*prefix, sys.executable, "-c", textwrap.dedent(text), *arguments]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True) as one:
        try:
            assert one.stdout is not None
            yield one.stdout.readline().strip()
        finally:
            os.killpg(one.pid, signal.SIGKILL)


@contextlib.contextmanager
def namespaces() -> Iterator[None]:
    """Two network namespaces with a veth pair between them."""
    try:
        ip("netns", "add", NEAR)
        ip("netns", "add", FAR)
        ip("-n", NEAR, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", FAR)
        for name, address in ((NEAR, "10.78.0.1/16"), (FAR, "10.78.0.2/16")):
            ip("-n", name, "address", "add", address, "dev", "eth0")
            for link in ("lo", "eth0"):
                ip("-n", name, "link", "set", link, "up")
        yield
    finally:
        for name in (NEAR, FAR):
            subprocess.run(["ip", "netns", "delete", name], check=False)


@contextlib.contextmanager
def connections(count: int, rate: float) -> Iterator[str]:
    """Connections from NEAR to FAR, each with `rate` messages a second."""
    far = ["ip", "netns", "exec", FAR]
    with (
        namespaces(),
        program(far, SERVER),
        program(IN_NEAR, CLIENT, str(count), str(rate)) as made,
    ):
        yield f"{int(made or 0):,} connections, {rate:g} messages/s each"


@contextlib.contextmanager
def interfaces(count: int) -> Iterator[str]:
    """So many veth interfaces in NEAR."""
    with namespaces():
        lines = [
            f"link add v{n} type veth peer name w{n}\nlink set v{n} up\nlink set w{n} up\n"
            for n in range(count // 2)
        ]
        subprocess.run(
            ["ip", "-n", NEAR, "-batch", "-"], input="".join(lines), text=True, check=True
        )
        time.sleep(5)  # until addresses are settled
        yield f"{count // 2 * 2:,} interfaces"


@contextlib.contextmanager
def processes(count: int) -> Iterator[str]:
    """So many processes that sleep."""
    with program(["unshare", "--pid", "--fork", "--kill-child"], SLEEPERS, str(count)) as made:
        yield f"{int(made or 0):,} processes"


def once(argv: list[str]) -> float:
    """The CPU seconds of one call."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(
    host: str, name: str, prefix: list[str], args: argparse.Namespace, calls: list[list[str]]
) -> None:
    """Print what each program costs on this host; they run in turn."""
    peers = {one: PROGRAMS[one] for one in ("nettop", "htop", "btop")}
    here = {one: argv for one, argv in peers.items() if shutil.which(argv[0])}
    costs: dict[str, list[Cost]] = {one: [] for one in here}
    for _ in range(args.runs):
        for one, argv in here.items():
            costs[one].append(run([*prefix, *argv], (120, 40), args.warm, args.seconds))
    report(host, name, costs)
    for argv in calls:
        if shutil.which(argv[0]):
            spent = statistics.median(once([*prefix, *argv]) for _ in range(5))
            print(f"  {' '.join(argv):<12}{100 * spent:>8.2f}", flush=True)


def report(host: str, name: str, costs: dict[str, list[Cost]]) -> None:
    """The medians, and whether the goals are met."""
    most, memory = GOALS[name]
    print(f"{host}; goal {most:g} %" + (f", {memory:g} MiB" if memory else ""))
    for one, runs in costs.items():
        cpu = statistics.median(cost.cpu for cost in runs)
        rss = statistics.median(cost.rss for cost in runs)
        met = cpu <= most and (memory is None or rss <= memory)
        remark = ("  met" if met else "  not met") if one == "nettop" else ""
        print(f"  {one:<12}{cpu:>8.2f}{rss:>9.1f}{remark}", flush=True)


def main() -> None:
    """Build the hosts in turn, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="connections,idle,interfaces,processes,cpus")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--warm", type=float, default=15.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--idle", type=int, default=100_000)
    parser.add_argument("--interfaces", type=int, default=1_000)
    parser.add_argument("--processes", type=int, default=30_000)
    args = parser.parse_args()
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    only = set(args.only.split(","))
    if os.geteuid() != 0:
        print("not root: no host can be built, recorded ones are measured")
        only &= {"cpus"}
    print(f"  {'program':<12}{'CPU %':>8}{'RSS MiB':>9}")
    if "connections" in only:
        with connections(args.connections, 0.2) as host:
            compare(host, "connections", IN_NEAR, args, [["ss", "-tin"]])
    if "idle" in only:
        with connections(args.idle, 0.0) as host:
            compare(host, "idle", IN_NEAR, args, [["ss", "-tin"]])
    if "interfaces" in only:
        with interfaces(args.interfaces) as host:
            compare(host, "interfaces", IN_NEAR, args, [["ip", "-s", "link"]])
    if "processes" in only:
        with processes(args.processes) as host:
            compare(host, "processes", [], args, [])
    if "cpus" in only:
        for recorded in ("big-256", "big-1152"):
            argv = [*NETTOP, "--replay", str(HOSTS / f"{recorded}.host.gz")]
            runs = [run(argv, (120, 40), args.warm, args.seconds) for _ in range(args.runs)]
            report(f"recorded host {recorded}", "cpus", {"nettop": runs})


if __name__ == "__main__":
    main()
