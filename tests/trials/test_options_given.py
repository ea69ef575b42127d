"""Which options a result stores, so that the command can be repeated."""

from __future__ import annotations

import pytest

from nettop.changes import context
from nettop.changes.context import Netns
from nettop.reports import reading
from nettop.trials.prove import best
from nettop.trials.result import Options, given


@pytest.mark.parametrize(
    ("host", "name", "stored"),
    [
        (None, "tenant", {"to": "10.0.0.2", "netns": "tenant"}),
        (None, "", {"to": "10.0.0.2"}),  # the namespace of the machine has no name
        ("ssh web1", "tenant", {"to": "10.0.0.2", "host": "ssh web1"}),  # it runs there
    ],
)
def test_the_network_namespace_is_stored_where_the_test_runs_in_it(
    monkeypatch: pytest.MonkeyPatch, host: str | None, name: str, stored: dict[str, object]
) -> None:
    monkeypatch.setattr(context, "netns", lambda: Netns("4026532000", "7", name))
    assert given(Options(to="10.0.0.2", host=host)) == stored


def test_the_repeated_command_enters_the_namespace() -> None:
    document = {"tool": "bulk", "options": {"to": "10.0.0.2", "netns": "tenant"}}
    assert reading.again_trial(document) == "nettop test bulk --to 10.0.0.2 --netns tenant"


@pytest.mark.parametrize(
    ("value", "kept", "sentence"),
    [
        ("512", False, "no value is better than the original one, 512; all changes are reverted"),
        ("4096", True, "best: 4096 (+9.3 %, better); kept"),
    ],
)
def test_a_sweep_whose_best_value_is_the_original_one_says_so(
    value: str, kept: bool, sentence: str
) -> None:
    rows = [{"value": "512"}, {"value": "4096"}]
    document = {"best": value, "margin": 0.093, "verdict": "better", "kept": kept, "rows": rows}
    assert best(document) == sentence
