"""Round trips of `udp-latency` against a C loop's, in the same pair of namespaces; root, cc.

    latency_vs_c.py --near "ip netns exec a" --far "ip netns exec b" --to ADDRESS

Prints both medians and their ratio; asserts nothing. The two are interleaved, both pinned to core 0
here and core 1 there: left alone, the scheduler decides between 12 and 56 µs.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

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


def compiled(program: Path, near: list[str], far: list[str], to: str, size: int) -> float:
    """Median of the C loop in µs."""
    with subprocess.Popen(
        [*far, "taskset", "-c", "1", str(program), "answer", "0", "0"],
        stdout=subprocess.PIPE,
        text=True,
    ) as answering:
        assert answering.stdout is not None
        answering.stdout.readline()
        asked = [*near, "taskset", "-c", "0", str(program), to, str(size), "40000"]
        said = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
        answering.kill()
    return float(said.split()[1])


def ours(near: list[str], far: str, to: str, size: int) -> tuple[float, float]:
    """Median of udp-latency in µs, and up to the kernel's time stamp."""
    argv = [*near, sys.executable, "-m", "nettop", "test", "udp-latency", "--to", to,
            "--peer", far, "--seconds", "1", "--warmup", "0", "--sizes", str(size),
            "--cpu-here", "0", "--cpu-there", "1", "--no-keep", "--json"]  # fmt: skip
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    return found["latency"]["p50"], found["details"]["sizes"][0].get("kernel_p50", 0.0)


def main() -> None:
    """Three rounds of each, interleaved."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--near", default="")
    parser.add_argument("--far", default="")
    parser.add_argument("--to", default="127.0.0.1")
    parser.add_argument("--size", type=int, default=64)
    args = parser.parse_args()
    near, far = shlex.split(args.near), shlex.split(args.far)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "loop"
        subprocess.run(["cc", "-O2", "-o", program, "-x", "c", "-"], input=C.encode(), check=True)
        theirs, mine, kernel = [], [], []
        for _ in range(3):
            theirs.append(compiled(program, near, far, args.to, args.size))
            user, stamped = ours(near, args.far, args.to, args.size)
            mine.append(user)
            kernel.append(stamped)
    print(f"C loop p50      {median(theirs):.2f} µs  {theirs}")
    print(
        f"udp-latency p50 {median(mine):.2f} µs  {mine}  ratio {median(mine) / median(theirs):.3f}"
    )
    print(f"to kernel stamp {median(kernel):.2f} µs  {kernel}")


if __name__ == "__main__":
    main()
