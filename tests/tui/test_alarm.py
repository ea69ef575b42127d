"""The bell and the notification for a new critical finding."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scenes import RING, SACK, lossy

from nettop.tui import effect, internals
from nettop.tui.screen import Nettop, Tick
from nettop.views.scene import Ended, Scene
from nettop.views.view import Options, View

CALM = replace(lossy(), findings=(SACK,), ended=())
BAD = replace(CALM, findings=(RING, SACK))


def test_only_a_critical_finding_that_is_new_in_this_run_signals() -> None:
    assert effect.newly_critical(CALM, BAD) == [RING]
    assert effect.newly_critical(BAD, BAD) == []
    assert effect.newly_critical(Scene(), BAD) == []  # it held at the start
    assert (
        effect.newly_critical(replace(CALM, ended=(Ended(RING),)), BAD) == []
    )  # it comes and goes
    assert effect.newly_critical(replace(CALM, findings=()), CALM) == []  # not critical


def test_a_title_cannot_send_control_sequences() -> None:
    hostile = replace(RING, title="a\x07b\x1b]52;c;x\x07")
    text = effect.bell([hostile, RING])
    assert text.startswith("\a\x1b]9;nettop: a")
    assert text.endswith(" and 1 more\a")
    assert text.count("\x1b") == 1
    assert text.count("\a") == 2
    assert effect.bell([]) == ""


@pytest.mark.parametrize("rings", [True, False])
async def test_it_is_off_unless_it_is_configured(
    rings: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []

    def write(_app: object, text: str) -> bool:
        written.append(text)
        return True

    monkeypatch.setattr(internals, "write", write)
    app = Nettop(View(options=Options(bell=rings)), CALM)
    async with app.run_test(size=(100, 30)) as pilot:
        app.post_message(Tick(lambda _old: BAD))
        await pilot.pause()
    assert any("\x1b]9;nettop: 1,204 packets/s lost" in text for text in written) is rings
