"""What a thread could carry: costs of recorded threads, at rates that a pacing limit set."""

from nettop.facts.limits.stages.cpu import Thread

G = 1e9


def test_a_thread_that_only_waited_tells_no_cost() -> None:
    """It was told as 18 to 34 Mb/s for a reader that waited for its core behind other programs."""
    thread = Thread("x[1]", 0.0, 0.7, 0.0, 0.0, None, None, 0, runs=10.0)
    capacity, reach = thread.carried(18e6)
    assert capacity is None
    assert reach is not None
    assert reach[1] > G
