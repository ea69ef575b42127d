"""The table of staged limits between two namespaces, and those that are played unasked."""

from typing import Final

from live.limits.buffers import BUFFERS
from live.limits.cores import CORES, WORK
from live.limits.following import FOLLOWING
from live.limits.paths import PATHS
from live.limits.pauses import DATAGRAMS, PACES, READERS, WRITERS
from live.limits.queues import QUEUES

CASES: Final = {case.name: case for case in (
    *QUEUES, *BUFFERS, *PACES, *WRITERS, *READERS, *DATAGRAMS, *PATHS, *CORES, *FOLLOWING, *WORK,
)}  # fmt: skip
SHORT: Final = (
    "tbf-50mbit", "htb-50mbit", "pace-50mbit", "rcvbuf-32768", "loss-100",
    "reader-sleeps", "writer-sleeps-often", "bridge-tbf",
    "next-tbf-pace", "next-pace-tbf", "next-pace6-tbf", "next-htb-parent", "next-htb-leaf",
    "next-pace-wmem",
)  # fmt: skip
