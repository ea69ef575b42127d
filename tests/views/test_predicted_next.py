"""Recorded hosts: a finding predicts the next stage that `nettop why` says of the same limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from nettop import collect
from nettop.advice.rules.explain import prediction
from nettop.facts.limits.following import bound
from nettop.facts.limits.words import verdict
from nettop.host.recording import Replay, load
from nettop.views.observer import Observer

HOSTS = Path(__file__).parents[1] / "hosts"


@pytest.mark.parametrize("host", ["vm-vmxnet3-drops", "vm-virtio-unsent"])
def test_findings_and_limits_agree_on_what_is_next(host: str) -> None:
    source = Replay(load(str(HOSTS / f"{host}.host")))
    observer = Observer(source)
    observer.step(collect.always())
    predicted = 0
    while source.wait(1):
        seen = observer.step(collect.always())
        for finding in seen.judgement.findings:
            known = finding.predicted
            if known is None or known.limit.joint:
                continue
            predicted += 1
            assert known.limit in seen.facts.limits
            assert known.next == known.limit.next
            assert known.bound == bound(known.limit)
            text, limit = prediction(finding), verdict(known.limit)
            assert ("next: not known" in text) == ("next: not known" in limit), (text, limit)
    assert predicted
