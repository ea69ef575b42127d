"""The processor's name: asked once in the background, kept, and shown where there is room."""

import threading
from pathlib import Path

import pytest
import scenes
from hang import HANG

from nettop.panes import headline
from nettop.tui import app
from nettop.views.view import View


def test_it_is_asked_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import cpuinfo

    asked: list[int] = []

    def answer() -> dict[str, str]:
        asked.append(1)
        return {"brand_raw": "Intel(R) Xeon(R) CPU E5-2667 0 @ 2.90GHz"}

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(cpuinfo, "get_cpu_info", answer)
    for _ in range(2):
        heard: list[str] = []
        app.learn_processor(heard.append)
        for thread in threading.enumerate():
            if thread.name == "nettop-processor":
                thread.join(HANG)
        assert heard == ["Intel Xeon E5-2667 0"]
    assert len(asked) == 1


def test_the_header_shows_it_where_there_is_room() -> None:
    from dataclasses import replace

    scene = replace(scenes.lossy(), processor="Xeon E5-2667")
    wide = "".join(text for text, _ in headline.header(scene, View(), 200))
    narrow = "".join(text for text, _ in headline.header(scene, View(), 120))
    assert "Xeon E5-2667" in wide
    assert "Xeon E5-2667" not in narrow
