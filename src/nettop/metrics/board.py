"""A dashboard for Grafana as JSON, for provisioning or import.

Each panel has one query. The variables choose a Prometheus and the hosts.
"""

from __future__ import annotations

import json
from typing import Final

from ..terms.dataclass import dataclass

_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH: Final = 24  # columns of a dashboard
_LOW: Final = 4  # rows of a panel of single figures


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel: title, query, unit of Grafana, legend, kind of panel, size in columns and rows."""

    title: str
    query: str
    unit: str = "short"
    legend: str = ""
    kind: str = "timeseries"
    width: int = 12
    height: int = 8


_HERE: Final = 'instance=~"$instance"'
_RATE: Final = "[$__rate_interval]"
PANELS: Final = (
    Panel(
        "Findings by severity", f"sum by (severity) (nettop_findings{{{_HERE}}})",
        legend="{{severity}}", kind="stat", width=8, height=_LOW,
    ),
    Panel(
        "Hosts not judged", f"sum(1 - nettop_judged{{{_HERE}}})", kind="stat", width=4,
        height=_LOW,
    ),
    Panel(
        "Unconfirmed changes",
        f'sum(nettop_changes{{{_HERE},state="pending"}})', kind="stat", width=4,
        height=_LOW,
    ),
    Panel("Settings drifted", f"sum(nettop_settings_drifted{{{_HERE}}})", kind="stat", width=4,
          height=_LOW),
    Panel("Left out by bounds", f"sum(nettop_left_out{{{_HERE}}})", kind="stat", width=4,
          height=_LOW),
    Panel(
        "Findings now", f"nettop_finding{{{_HERE}}}",
        legend="{{severity}} {{rule}} {{target}} {{instance}}", kind="table", width=24,
    ),
    Panel(
        "Packets lost by stage",
        f"sum by (instance, device, direction, stage) "
        f"(rate(nettop_path_packets_lost_total{{{_HERE}}}{_RATE}))",
        "pps", "{{instance}} {{device}} {{direction}} {{stage}}",
    ),
    Panel(
        "Packets lost at backlog and sockets",
        f"sum by (instance, direction, stage) "
        f"(rate(nettop_host_packets_lost_total{{{_HERE}}}{_RATE}))",
        "pps", "{{instance}} {{direction}} {{stage}}",
    ),
    Panel(
        "Throughput", f"8 * rate(nettop_device_bytes_total{{{_HERE}}}{_RATE})",
        "bps", "{{instance}} {{device}} {{direction}}",
    ),
    Panel(
        "Packet rate", f"rate(nettop_device_packets_total{{{_HERE}}}{_RATE})",
        "pps", "{{instance}} {{device}} {{direction}}",
    ),
    Panel(
        "Flows by the stage that limits them",
        f"sum by (limit) (nettop_flows{{{_HERE}}})", legend="{{limit}}",
    ),
    Panel(
        "Cores that serve each device",
        "count by (instance, device) "
        f'(count_values by (instance, device) ("core", nettop_queue_core{{{_HERE}}}))',
        legend="{{instance}} {{device}}",
    ),
    Panel(
        "Queues by core",
        f'count_values by (instance, device) ("core", nettop_queue_core{{{_HERE}}})',
        legend="{{instance}} {{device}} CPU {{core}}",
    ),
    Panel(
        "Queue interrupts off the device's node", f"nettop_device_irqs_off_node{{{_HERE}}}",
        legend="{{instance}} {{device}}",
    ),
    Panel(
        "Changes in force", f"sum by (instance, state) (nettop_changes{{{_HERE}}})",
        legend="{{instance}} {{state}}",
    ),
    Panel(
        "Age of the metrics", f"time() - nettop_last_run_timestamp_seconds{{{_HERE}}}",
        "s", "{{instance}}",
    ),
    Panel(
        "Duration of a look", f"nettop_look_duration_seconds{{{_HERE}}}", "s", "{{instance}}",
    ),
    Panel(
        "Versions of nettop", f"count by (version) (nettop_build_info{{{_HERE}}})",
        legend="{{version}}",
    ),
)  # fmt: skip


def document() -> dict[str, object]:
    """The dashboard in the JSON model of Grafana 9 and newer."""
    panels: list[dict[str, object]] = []
    left = top = low = 0
    for number, panel in enumerate(PANELS, 1):
        if left + panel.width > _WIDTH:
            left, top = 0, low
        low = max(low, top + panel.height)
        place = {"x": left, "y": top, "w": panel.width, "h": panel.height}
        panels.append(_panel(panel, number, place))
        left += panel.width
    return {
        "uid": "nettop", "title": "nettop", "tags": ["network", "nettop"],
        "schemaVersion": 38, "version": 1, "editable": True, "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [
            {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "source"},
            {
                "name": "instance", "type": "query", "label": "host", "datasource": _SOURCE,
                "query": {"query": "label_values(nettop_build_info, instance)", "refId": "hosts"},
                "includeAll": True, "multi": True, "allValue": ".*", "refresh": 2,
                "current": {"text": "All", "value": "$__all"},
            },
        ]},
        "panels": panels,
    }  # fmt: skip


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, object]:
    now = panel.kind in ("stat", "table")
    target: dict[str, object] = {
        "refId": "A", "expr": panel.query, "legendFormat": panel.legend, "datasource": _SOURCE,
        "instant": now, "range": not now, "format": "table" if panel.kind == "table" else
        "time_series",
    }  # fmt: skip
    return {
        "id": number, "type": panel.kind, "title": panel.title, "datasource": _SOURCE,
        "gridPos": place, "targets": [target],
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {},
    }  # fmt: skip


def text() -> str:
    """The dashboard as a file."""
    return json.dumps(document(), indent=2) + "\n"
