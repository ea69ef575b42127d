"""Actions: what they refuse, what they say, what they read back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from scenes import RING, lossy

from nettop.panes.scene import Scene, View
from nettop.source import Live
from nettop.tui.actions import Actions, sudo_line
from nettop.tui.kept import result_of
from nettop.tui.keys import Ask
from nettop.tui.trying import Bench, options_of

FORM = {"tool": "bulk", "to": "", "peer": "", "seconds": "10", "streams": "1", "reverse": "no"}


class Heard:
    """A scene that updates are applied to."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def __call__(self, update: object) -> None:
        assert callable(update)
        self.scene = update(self.scene)

    @property
    def last(self) -> str:
        return self.scene.notes[-1].text


def test_a_directory_is_never_changed(tmp_path: Path) -> None:
    heard = Heard(lossy())
    actions = Actions(Live(str(tmp_path)), heard, lambda: None)
    for verb in ("apply", "undo", "set", "spread", "prove", "test", "confirm", "persist"):
        actions.do(Ask(verb, RING.id), View(), heard.scene)
        assert "nothing can be changed" in heard.last


def test_an_unknown_verb_is_said() -> None:
    heard = Heard(lossy())
    Actions(Live(), heard, lambda: None).do(Ask("dance"), View(), heard.scene)
    assert "dance" in heard.last


def test_mute_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    heard = Heard(lossy())
    actions = Actions(Live(str(tmp_path)), heard, lambda: None)
    actions.do(Ask("mute", RING.id), View(), heard.scene)
    assert actions.wait(5)
    assert (tmp_path / "nettop" / "muted").read_text() == f"{RING.id}\n"
    assert heard.scene.finding(RING.id) is None
    assert RING.id in heard.scene.muted


def test_what_cannot_be_applied_is_said() -> None:
    heard = Heard(lossy())
    actions = Actions(Live(), heard, lambda: None)
    actions.do_apply(Ask("apply", "pause-off@eth0"), View(), heard.scene)
    assert "p proves it" in heard.last
    actions.do_apply(Ask("apply", "gone@eth0"), View(), heard.scene)
    assert "no finding" in heard.last
    bare = replace(RING, wanted=(), id="words@host")
    heard.scene = replace(heard.scene, findings=(bare,))
    actions.do_apply(Ask("apply", "words@host"), View(), heard.scene)
    assert "advice in words" in heard.last


def test_without_rights_the_line_is_quoted() -> None:
    class Change:
        setting = "sysctl.net.ipv4.tcp_rmem"
        after = "4096 131072 67108864"

    assert sudo_line([Change], "") == (
        "sudo nettop set sysctl.net.ipv4.tcp_rmem '4096 131072 67108864'"
    )
    assert sudo_line([Change], "a@b;c") == "sudo nettop apply 'a@b;c'"


def test_a_form_is_checked() -> None:
    made = options_of({**FORM, "to": "192.0.2.1", "streams": "4", "reverse": "yes"})
    assert (made.to, made.streams, made.reverse, made.peer) == ("192.0.2.1", 4, True, None)
    for wrong in ({"seconds": "soon"}, {"streams": "0"}, {"seconds": "-1"}):
        with pytest.raises(ValueError, match="seconds and streams"):
            options_of({**FORM, **wrong})


def test_a_test_without_an_address_is_not_started() -> None:
    heard = Heard(lossy())
    bench = Bench(heard, lambda: None)
    bench.test(FORM)
    assert "address" in heard.last
    assert not bench.stop()


def test_a_stored_result_is_read_in_the_panes_words() -> None:
    found = result_of(
        {
            "id": "x", "kind": "test", "at": 5.0, "tool": "iperf3", "to": "192.0.2.1",
            "seconds": 10, "streams": 4, "bits_per_second": 9.4e9, "retransmits": 1882,
            "intervals": [{"bits_per_second": 9.3e9}, {"bits_per_second": 9.5e9}],
            "latency": {"p50": 42.0, "p99": 61.0, "max": 310.0, "unit": "us"},
        }
    )  # fmt: skip
    assert found.bits_per_second == 9.4e9
    assert found.intervals == (9.3e9, 9.5e9)
    assert ("retransmits", "1,882") in found.figures
    assert ("p99", "61.0 us") in found.figures
    proof = result_of(
        {"kind": "prove", "finding": "a@b", "median_difference": 0.348, "verdict": "better"}
    )
    assert (proof.title, proof.verdict) == ("a@b", "better")
    assert ("median", "+34.8%") in proof.figures
