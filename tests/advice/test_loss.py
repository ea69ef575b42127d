"""Which evidence of a finding is a loss or a limit that was hit."""

import pytest

from nettop.advice.judge.judge import measured


@pytest.mark.parametrize(
    ("field", "value", "loss"),
    [
        ("nic.per_s.ring_drops", 3.0, True),
        ("nic.per_s.ring_drops", 0.0, False),
        ("nic.per_s.ring_drops", None, False),
        ("nic.total.ring_drops", 3, False),  # since boot, not now
        ("nic.per_s.rx_packets", 3.0, False),
        ("nic.driver", "drops", False),
        ("core.idle", 4.9, True),
        ("core.idle", 5.0, False),
    ],
)
def test_a_loss_is_a_count_above_zero_or_a_core_without_idle_time(
    field: str, value: float | str | None, loss: bool
) -> None:
    assert measured(field, value) is loss
