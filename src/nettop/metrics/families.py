"""Every metric that nettop exports: name, type, help and labels.

Names follow the conventions of Prometheus (prometheus.io/docs/practices/naming): base units, and
`_total` for counters. Counters are those of the kernel and are passed on unchanged.
"""

from __future__ import annotations

from typing import Final

from ..terms.dataclass import dataclass

COUNTER: Final = "counter"
GAUGE: Final = "gauge"


@dataclass(frozen=True, slots=True)
class Family:
    """One metric; a counter's name ends in `_total`."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    type: str = GAUGE


@dataclass(frozen=True, slots=True)
class Sample:
    """One series: the values of the labels in the order of the family, and the number."""

    family: Family
    labels: tuple[str, ...]
    value: float


BUILD: Final = Family("nettop_build_info", "Version of nettop; always 1.", ("version",))
LAST_RUN: Final = Family(
    "nettop_last_run_timestamp_seconds", "Time of the last look, seconds since 1970."
)
LOOKS: Final = Family("nettop_looks_total", "Looks at the host by this process.", (), COUNTER)
LOOK_SECONDS: Final = Family(
    "nettop_look_duration_seconds", "Wall time of the last look: reading, joining and judging."
)
JUDGED: Final = Family(
    "nettop_judged",
    "1 if enough could be read to judge the host; 0: the metrics of findings are absent.",
)
UNREAD: Final = Family("nettop_tables_unread", "Tables of the kernel that could not be read.")
FINDINGS: Final = Family(
    "nettop_findings", "Findings by severity, several on one target counted each.", ("severity",)
)
FINDING: Final = Family(
    "nettop_finding",
    "1 while a rule holds on a target: an interface (other: one that is not exported), a CPU or "
    "the host. Absent otherwise.",
    ("rule", "target", "severity"),
)
FLOWS: Final = Family(
    "nettop_flows", "Flows by the stage that limits them; none: the flow wants no more.", ("limit",)
)
DEVICE_LOST: Final = Family(
    "nettop_path_packets_lost_total",
    "Packets lost at a stage of the path through a device, by its driver's or the kernel's count.",
    ("device", "direction", "stage"),
    COUNTER,
)
HOST_LOST: Final = Family(
    "nettop_host_packets_lost_total",
    "Packets lost at stages that the kernel counts for the whole host: backlog and sockets.",
    ("direction", "stage"),
    COUNTER,
)
BYTES: Final = Family(
    "nettop_device_bytes_total", "Bytes by device.", ("device", "direction"), COUNTER
)
PACKETS: Final = Family(
    "nettop_device_packets_total", "Packets by device.", ("device", "direction"), COUNTER
)
QUEUE_CORE: Final = Family(
    "nettop_queue_core",
    "CPU that serves the interrupt of a queue; a combined pair of queues is named by its rx queue.",
    ("device", "queue"),
)
OFF_NODE: Final = Family(
    "nettop_device_irqs_off_node",
    "Queue interrupts served on another NUMA node than that of the device.",
    ("device",),
)
CHANGES: Final = Family(
    "nettop_changes",
    "Changes that nettop made and has not reverted; pending: waits for a confirmation.",
    ("state",),
)
DRIFT: Final = Family(
    "nettop_settings_drifted", "Settings that nettop changed and that have another value now."
)
LEFT_OUT: Final = Family(
    "nettop_left_out", "What the bounds of this export left out.", ("what",)
)  # fmt: skip

FAMILIES: Final = (
    BUILD, LAST_RUN, LOOKS, LOOK_SECONDS, JUDGED, UNREAD, FINDINGS, FINDING, FLOWS, DEVICE_LOST,
    HOST_LOST, BYTES, PACKETS, QUEUE_CORE, OFF_NODE, CHANGES, DRIFT, LEFT_OUT,
)  # fmt: skip
