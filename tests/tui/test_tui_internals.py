"""Textual's private names: this version has them, one module uses them, and without them nettop
still draws, takes keys and ends."""

import ast
import re
from pathlib import Path

import pytest
from folded import folded
from scenes import healthy, lossy
from textual import events
from textual.drivers.linux_driver import LinuxDriver
from textual.drivers.web_driver import WebDriver
from textual.widget import Widget

from nettop.tui import internals
from nettop.tui.browser import Browser
from nettop.tui.screen import Nettop, Tick
from nettop.tui.terminal import Terminal as Driver
from nettop.views.view import View

SRC = Path(__file__).parents[2] / "src/nettop/tui"


@folded(("use", "name"), [(use, name) for use, names in internals.NAMES.items() for name in names])
def test_this_version_of_textual_has_the_name(use: str, name: str) -> None:
    assert internals.exists(name)
    assert internals.has(use)


@pytest.mark.parametrize(
    "name", ["textual.absent:X", "textual.app:Absent", "textual.app:App._absent"]
)
def test_a_name_that_is_not_there_is_seen(name: str) -> None:
    assert not internals.exists(name)


def private(path: Path) -> set[str]:
    """Private modules of Textual imported, private attributes used but not defined in the file."""
    used, own = set(), set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("textual"):
            words = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            used |= {word for word in words if word.startswith("_")}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            own.add(node.name)
        elif isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            (own if isinstance(node.ctx, ast.Store) else used).add(node.attr)
    return {name for name in used - own if not name.startswith("__")}


@folded("path", sorted(SRC.glob("*.py")), ids=lambda path: path.stem)
def test_no_other_module_uses_a_private_name(path: Path) -> None:
    listed = {
        word for names in internals.NAMES.values() for n in names for word in re.split("[.:]", n)
    }
    assert private(path) <= ({"_exit"} if path.stem != "internals" else listed)  # os._exit


# -- without the names -----------------------------------------------------------------------------


def lose(use: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(internals.NAMES, use, ("textual:absent",))


async def test_rows_that_changed_are_painted_by_textual(monkeypatch: pytest.MonkeyPatch) -> None:
    lose("rows", monkeypatch)
    app = Nettop(View(), healthy())
    painted: list[int] = []
    refresh = Widget.refresh

    def counted(widget: Widget, *regions: object, **named: object) -> Widget:
        if widget is app.board:
            painted.append(len(regions))
        return refresh(widget, *regions, **named)  # type: ignore[arg-type]

    async with app.run_test(size=(120, 36)) as pilot:
        monkeypatch.setattr(Widget, "refresh", counted)
        monkeypatch.setattr(internals, "write_rows", None)
        app.post_message(Tick(lambda _: lossy()))
        await pilot.pause()
        assert painted
        assert min(painted) > 0
        shown = "\n".join("".join(text for text, _ in row) for row in app.board.shown)
        assert "rx-ring-overrun" in shown or "receive ring" in shown
        assert not app.board.alone()


def test_textuals_own_driver_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    app = Nettop(View(), healthy())
    assert app.get_driver_class() is Driver
    lose("terminal", monkeypatch)
    assert app.get_driver_class() is LinuxDriver


def test_a_paste_is_not_taken_whoever_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(WebDriver, "process_message", lambda _self, message: seen.append(message))
    driver = Browser.__new__(Browser)
    for message in (events.Paste("q"), events.Key("q", "q"), events.AppBlur()):
        driver.process_message(message)
    assert [type(one) for one in seen] == [events.Key]
