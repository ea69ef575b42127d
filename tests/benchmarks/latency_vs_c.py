"""Round trips of `udp-latency` against a C loop's and sockperf's, between namespaces; root, cc.

    latency_vs_c.py [--size 64] [--rounds 7]

Neighbouring runs, each first in every other round, all pinned to core 0 here and core 1 there: left
alone, the scheduler decides between 12 and 56 µs. Prints the medians and the median of the rounds'
ratios with their spread: of the whole round trip, and of that up to the kernel's time stamp.
Asserts nothing.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import goals

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from veth import Pair, pair, spread

C = r"""
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
static int order(const void *a, const void *b) {
  double x = *(double *)a, y = *(double *)b;
  return (x > y) - (x < y);
}
int main(int argc, char **argv) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(7007)}, from;
  socklen_t length = sizeof from;
  char room[65536] = {0};
  int s = socket(AF_INET, SOCK_DGRAM, 0), size = atoi(argv[2]), n = atoi(argv[3]);
  if (!strcmp(argv[1], "answer")) {
    bind(s, (struct sockaddr *)&at, sizeof at);
    puts("ready");
    fflush(stdout);
    int got = recvfrom(s, room, sizeof room, 0, (struct sockaddr *)&from, &length);
    connect(s, (struct sockaddr *)&from, length);
    for (;;) { send(s, room, got, 0); got = recv(s, room, sizeof room, 0); }
  }
  inet_pton(AF_INET, argv[1], &at.sin_addr);
  connect(s, (struct sockaddr *)&at, sizeof at);
  double *took = malloc(n * sizeof *took);
  for (int i = 0; i < n; i++) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    send(s, room, size, 0);
    recv(s, room, sizeof room, 0);
    clock_gettime(CLOCK_MONOTONIC, &b);
    took[i] = (b.tv_sec - a.tv_sec) * 1e6 + (b.tv_nsec - a.tv_nsec) / 1e3;
  }
  qsort(took, n, sizeof *took, order);
  printf("%.2f %.2f %.2f\n", took[0], took[n / 2], took[n - n / 100 - 1]);
}
"""


def compiled(program: Path, place: Pair, size: int) -> float:
    """Median of the C loop in µs."""
    with subprocess.Popen(
        [*place.far, "taskset", "-c", "1", str(program), "answer", "0", "0"],
        stdout=subprocess.PIPE,
        text=True,
    ) as answering:
        assert answering.stdout is not None
        answering.stdout.readline()
        asked = [*place.near, "taskset", "-c", "0", str(program), place.to, str(size), "40000"]
        said = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
        answering.kill()
    return float(said.split()[1])


def ours(place: Pair, tool: str, size: int) -> tuple[float, float]:
    """Median of a tool of `nettop test` in µs, and that up to the kernel's time stamp, if known."""
    sizes = ["--sizes" if tool == "udp-latency" else "--length", str(size)]
    argv = [*place.near, sys.executable, "-m", "nettop", "test", tool, "--to", place.to,
            "--peer", " ".join(place.far), "--udp", "--seconds", "1", "--warmup", "0", *sizes,
            "--cpu-here", "0", "--cpu-there", "1", "--no-keep", "--json"]  # fmt: skip
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    rows = found.get("details", {}).get("sizes", [{}])
    return found["latency"]["p50"], rows[0].get("kernel_p50", 0.0)


def main() -> None:
    """Rounds of each, interleaved."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    tools = ["C loop", "udp-latency", *(["sockperf"] if shutil.which("sockperf") else [])]
    took: dict[str, list[float]] = {tool: [] for tool in tools}
    stamped = []
    with tempfile.TemporaryDirectory() as folder, pair("late") as place:
        program = Path(folder) / "loop"
        subprocess.run(["cc", "-O2", "-o", program, "-x", "c", "-"], input=C.encode(), check=True)
        for number in range(args.rounds):
            for tool in tools if number % 2 else reversed(tools):
                if tool == "C loop":
                    took[tool].append(compiled(program, place, args.size))
                    continue
                whole, kernel = ours(place, tool, args.size)
                took[tool].append(whole)
                if tool == "udp-latency":
                    stamped.append(kernel)
    mine, base = took["udp-latency"], took["C loop"]
    for tool in tools:
        ratio = "" if tool == "udp-latency" else _ratio(mine, took[tool])
        print(f"{tool:<12} p50 {median(took[tool]):7.2f} µs{ratio}")
    ratios = [a / b for a, b in zip(mine, base, strict=True)]
    goals.note("udp-latency / C loop", median(ratios))
    print(f"to the kernel's stamp {median(stamped):.2f} µs{_ratio(stamped, base, 'it / C loop')}")


def _ratio(mine: Sequence[float], theirs: Sequence[float], name: str = "udp-latency / this") -> str:
    return f"   {name}: {spread([a / b for a, b in zip(mine, theirs, strict=True)])}"


if __name__ == "__main__":
    main()
