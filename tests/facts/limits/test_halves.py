"""Requests in two parts, seen by the server: the second waits for a delayed acknowledgement."""

from typing import Any

from folded import folded
from limit_frames import AWAY, flow, limits, moment

from nettop.collect import snmp

SERVES = {"bytes_received": 22_000, "bytes_acked": 100, "busy_time": 0, "data_segs_in": 46,
          "data_segs_out": 23, "segs_out": 69}  # fmt: skip


@folded(("more", "late", "stage"), [
    ({}, 23, "nagle"),
    ({"data_segs_in": 23}, 23, "peer"),  # each request in one segment
    ({}, 0, "peer"),  # no acknowledgement was late
    ({"data_segs_out": 900, "data_segs_in": 1800, "segs_out": 2700}, 900, "peer"),
])  # fmt: skip
def test_what_a_server_sees_of_requests_in_two_parts(
    more: dict[str, float], late: int, stage: str
) -> None:
    def at(s: float) -> Any:
        none: dict[str, Any] = dict.fromkeys(snmp.Row.__dataclass_fields__)
        known = [snmp.Row(**{**none, "delayed_acks": int(late * s)})]
        return moment(s, rates={**SERVES, **more}, gauges=AWAY, more={"snmp": known})

    assert flow(limits(at)).stage.stage == stage
