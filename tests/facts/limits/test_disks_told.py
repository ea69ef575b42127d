"""What a device does is told beside the wait for it."""

from typing import Any

import pytest
from asleep import asleep
from flow_tables import Tables
from limit_frames import AWAY, flow, limits, moment

from nettop.collect import disks

EACH = (100, 100_000_000, 0.2, 40, 10_000_000, 0.4)  # a second: requests, bytes, their time


@pytest.mark.parametrize(("call", "rates", "device", "told"), [
    ("read", (*EACH, 0.9, 1.8), "254:0", "in use 90% of the time, by 2 requests at once, 2 ms"),
    ("write", (*EACH, 0.9, 0.9), "254:0", "by 1 request at once, 10 ms for each"),
    ("read", (0,) * 8, "254:0", "(vda: in use 0% of the time)"),
    ("read", (*EACH, 0.9, 1.8), "0:33", ""),  # a file system without a device of its own
])  # fmt: skip
def test_the_use_of_the_device_and_the_time_of_its_requests(
    call: str, rates: tuple[Any, ...], device: str, told: str
) -> None:
    row = asleep(
        pid=7, tid=7, started=5, name="iperf3", state="D", call=call, device=device,
        kind="input" if call == "read" else "output", object="/data/big", filesystem="ext4",
    )  # fmt: skip

    def at(s: float) -> Tables:
        did = [disks.Row("254:0", "vda", *(each * s for each in rates))]
        return moment(s, rates={"busy_time": 50_000}, gauges={**AWAY, "wmem_queued": 0}, ran=0.05,
                      more={"waits": [row], "disks": did})  # fmt: skip

    because = flow(limits(at)).stage.because
    assert "of /data/big (ext4)" in because
    assert told in because
    assert ("vda" in because) == bool(told)
