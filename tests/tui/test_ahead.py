"""Keys that come faster than the screen handles them: counted, never timed."""

from collections import Counter

import pytest
from textual import events
from textual.message import Message
from tui_app import resized, settled

from nettop.tui.screen import WIDEST, Nettop
from nettop.tui.typed import WAITING, Ahead, Typed
from nettop.views.scene import Scene
from nettop.views.view import View


class Counted(Nettop):
    """Counts the keys that it handles and the frames that it draws."""

    def __init__(self) -> None:
        super().__init__(View(), Scene())
        self.keys: Counter[str] = Counter()
        self.frames = 0

    def on_key(self, event: events.Key) -> None:
        self.keys[event.key] += 1
        super().on_key(event)

    def draw(self) -> None:
        self.frames += 1
        super().draw()


def key(name: str) -> events.Key:
    return events.Key(name, name if len(name) == 1 else None)


async def test_a_flood_of_keys_costs_a_bounded_number_of_keys_and_frames() -> None:
    app = Counted()
    async with app.run_test() as pilot:
        await settled(app, pilot)
        assert app._driver is not None
        typed = Ahead(app, app._driver.process_message)
        app.frames = 0
        for name in "jk" * 25_000 + "?":
            typed.add(key(name))
        while not app.view.help:
            await pilot.pause()
        assert app.keys["j"] + app.keys["k"] == WAITING  # the first, and the last that were typed
        assert app.frames < 10
        for _ in range(3):  # what comes slowly is not left out
            typed.add(key("j"))
            before = app.keys["j"]
            while app.keys["j"] == before:
                await pilot.pause()


async def test_a_key_that_waits_opens_no_palette_on_the_way_out() -> None:
    app = Counted()
    async with app.run_test(size=(100, 30)) as pilot:
        app.leave()
        app.action_command_palette()
        await pilot.pause()
        assert len(app.screen_stack) == 1


async def test_keys_go_on_after_the_palette_took_some() -> None:
    app = Counted()
    async with app.run_test() as pilot:
        await settled(app, pilot)
        assert app._driver is not None
        typed = Ahead(app, app._driver.process_message)
        for name, screens in (("ctrl+p", 2), ("j", 2), ("escape", 1)):
            typed.add(key(name))
            while len(app.screen_stack) != screens:
                await pilot.pause()
        typed.add(key("?"))
        while not app.view.help:
            await pilot.pause()


def test_what_changes_nothing_neither_reaches_the_screen_nor_displaces_a_key() -> None:
    sent: list[Message] = []
    typed = Ahead(Counted(), sent.append)  # nothing is handled
    bytes_ = Typed()
    for data in (b"a", b"q", b"\x1b[I\x1b[O" * 2000, b"\x1b[<35;9;9M" * 2000, b"\x1b[<35;7;7M"):
        for message in bytes_.feed(data):
            typed.add(message)
    assert [one.key for one in sent if isinstance(one, events.Key)] == ["a"]
    assert not any(isinstance(one, (events.AppFocus, events.AppBlur)) for one in sent)
    key_, move = typed._waiting
    assert isinstance(key_, events.Key)
    assert isinstance(move, events.MouseMove)
    assert (key_.key, move.x) == ("q", 6)


def test_ctrl_c_does_not_wait() -> None:
    sent: list[Message] = []
    typed = Ahead(Counted(), sent.append)  # nothing is handled
    for name in ("a", "b", "ctrl+c", "c"):
        typed.add(key(name))
    assert [one.key for one in sent if isinstance(one, events.Key)] == ["a", "ctrl+c"]


@pytest.mark.parametrize("size", [(65535, 65535), (65535, 10), (80, 65535)])
async def test_of_a_huge_terminal_a_part_is_drawn(size: tuple[int, int]) -> None:
    part = min(size[0], WIDEST), min(size[1], WIDEST)
    app = Counted()
    async with app.run_test(size=size) as pilot:
        assert app.size == part
        await settled(app, pilot)
        await resized(app, pilot, 80, 24)
        assert len(app.board.shown) == 24
        await resized(app, pilot, *size)
        assert len(app.board.shown) == part[1]
