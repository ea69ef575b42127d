"""A receiver whose cgroup has no memory for its sockets."""

from dataclasses import replace
from typing import Any

import pytest
from limit_frames import AWAY, RECEIVES, flow, limits, moment

from nettop.collect import socket_memory


@pytest.mark.parametrize(("refused", "stage"), [(30, "rcvbuf"), (0, "peer")])
def test_a_cgroup_that_refuses_memory_limits_a_receiver(refused: int, stage: str) -> None:
    def short(second: float) -> dict[str, Any]:
        tables = moment(second, gauges=AWAY, rates=RECEIVES)
        rows = [replace(one, memory_cgroup="/pod") for one in tables["threads"]]
        memory = [socket_memory.Row("/pod", round(refused * second))]
        return {**tables, "threads": rows, "socket_memory": memory}

    found = flow(limits(short))
    assert found.stage.stage == stage
    assert ("cgroup /pod" in found.stage.name) is bool(refused)
