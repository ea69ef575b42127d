"""What a sample of thousands of busy TCP sockets costs, beside `ss -tin` at the same time.

    ip netns exec SOME-NAMESPACE python tests/benchmarks/sockets_vs_ss.py [--sockets 10000]

Makes connections over loopback, moves data on every one between samples, and prints the CPU time
of both. As many as the limit of open files allows; asserts nothing.
"""

import argparse
import gc
import resource
import socket
import subprocess
import time
from statistics import median

from nettop.host.source import Live
from nettop.sampling.sampler import Sampler

WARM = 3


def connections(count: int) -> list[tuple[socket.socket, socket.socket]]:
    """Pairs of connected sockets."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        made = []
        for _ in range(count):
            near = socket.create_connection(listening.getsockname())
            made.append((near, listening.accept()[0]))
        return made


def of_children() -> float:
    """Milliseconds of CPU that ended children took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (used.ru_utime + used.ru_stime)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sockets", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=8)
    args = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    pairs = connections(min(args.sockets, most - 100) // 2)
    gc.set_threshold(50_000)  # as the program does
    sampler, ours, theirs = Sampler(Live()), [], []
    for number in range(WARM + args.rounds):
        for near, far in pairs:
            near.send(b"x" * 100)
            far.recv(200)
            far.send(b"y" * 50)
            near.recv(100)
        if number == WARM:
            gc.collect()
            gc.freeze()  # as the screen does
        began = time.process_time()
        frame = sampler.take(("sockets_tcp",))
        ours.append(1e3 * (time.process_time() - began))
        before = of_children()
        subprocess.run(["ss", "-tin"], stdout=subprocess.DEVNULL, check=True)
        theirs.append(of_children() - before)
    print(
        f"{len(frame.tables['sockets_tcp'])} sockets, all of which moved data: "
        f"nettop {median(ours[WARM:]):.0f} ms, ss -tin {median(theirs[WARM:]):.0f} ms"
    )


if __name__ == "__main__":
    main()
