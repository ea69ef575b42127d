"""A screen for reading only: whatever is pressed, clicked or chosen, nothing is done."""

import re
from dataclasses import replace

import pytest
from scenes import RING, storied

from nettop import panes
from nettop.panes.hints import READING
from nettop.terms.text import text_of
from nettop.tui import keys
from nettop.tui.keys import Ask
from nettop.tui.notes import HARMLESS, REFUSED
from nettop.tui.screen import Nettop
from nettop.views.scene import Question, Scene
from nettop.views.view import View


class Host:
    """Stands for actions and engine; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.interval = 1.0

    def do(self, ask: Ask, view: View, scene: Scene) -> None:
        self.asked.append(ask.verb)

    def look(self) -> None:
        self.asked.append("count")

    def record(self, path: str) -> None:
        self.asked.append("record")

    def set_view(self, view: View) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def follow(self, scene: Scene, view: View) -> None: ...
    def refresh(self) -> None: ...
    def advance(self) -> bool:
        return False

    def wait(self, seconds: float) -> bool:
        return True


def screen(*, read_only: bool, view: View | None = None, scene: Scene | None = None) -> Nettop:
    app = Nettop(view or View(), scene or storied())
    app.read_only = read_only
    app.actions = app.engine = Host()
    return app


def asked(app: Nettop) -> list[str]:
    assert isinstance(app.actions, Host)
    assert isinstance(app.engine, Host)
    return app.actions.asked + app.engine.asked


FORM = {"to": "192.0.2.9"}  # without an address, `start` asks for one


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of keys need not be drawn."""
    monkeypatch.setattr(Nettop, "draw", lambda _app: None)


async def press_all(app: Nettop) -> None:
    """Every key of the table on every row of every pane, Enter after each, from a fresh view."""
    async with app.run_test(size=(120, 40)):
        scene = app.scene
        for name in panes.names():
            for item in panes.pane(name).items(scene, View(pane=name))[:12] or ("",):
                for key in keys.KEYS:
                    if key.action in ("quit", "palette", "suspend", "open"):
                        continue
                    app.view, app.scene = View(pane=name, form=FORM).at(on=item), scene
                    for pressed in (key.keys[0], "1", "enter", "enter"):
                        character = pressed if len(pressed) == 1 else None
                        app.step(*keys.press(pressed, character, app.view, app.scene))


async def test_no_key_does_anything_on_a_screen_for_reading(undrawn: None) -> None:
    app = screen(read_only=True)
    await press_all(app)
    assert asked(app) == []


async def test_the_same_keys_do_something_otherwise(undrawn: None) -> None:
    app = screen(read_only=False)
    await press_all(app)
    assert {"apply", "undo", "set", "test", "record", "count", "mute", "persist", "prove"} <= set(
        asked(app)
    )


@pytest.mark.parametrize("key", ["a", "p", "u", "c", "s", "x", "m", "e", "S", "r", "D", "ctrl+x"])
async def test_a_refused_key_says_so_in_one_sentence(key: str) -> None:
    on = (
        View(pane="nic").at(on="ring.rx@eth0")
        if key == "e"
        else View(pane="advisor").at(on=RING.id)
    )
    app = screen(read_only=True, view=on)
    async with app.run_test(size=(120, 40)):
        app.step(*keys.press(key, key if len(key) == 1 else None, app.view, app.scene))
        assert [note.text for note in app.scene.notes][-1:] == [REFUSED]
        assert not app.view.editing


async def test_the_command_palette_does_no_more_than_the_keys() -> None:
    app = screen(read_only=True, view=View(pane="advisor").at(on=RING.id))
    async with app.run_test(size=(120, 40)):
        for command in app.get_system_commands(app.screen):
            if command.title not in ("Quit", "Suspend; `fg` resumes"):
                command.callback()
        assert asked(app) == []


async def test_a_question_is_not_agreed_to() -> None:
    question = Question("Set it", (("", ()),), "change", "apply")
    app = screen(read_only=True, scene=replace(storied(), question=question))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("enter")
        assert asked(app) == []
        await pilot.press("escape")
        assert app.scene.question is None


async def test_the_form_of_a_test_cannot_be_filled_in() -> None:
    app = screen(read_only=True, view=View(pane="tests").at(on="form.peer"))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("enter", *"id", "enter")
        assert app.view.form == {}


# fmt: off
CHANGING = re.compile(r"[aupsmexSwc] (apply|prove|undo|persist|mute|unmute|export|write|move)"
                      r"|Enter (set|sets|start|edit|repeat)\b|[uc] undoes it|m unmutes it")
# fmt: on


def test_no_key_is_offered_that_such_a_screen_refuses() -> None:
    usual, barred = storied(), replace(storied(), barred=READING)
    offered = []
    for name in panes.names():
        for row in panes.pane(name).items(usual, View(pane=name)) or ("",):
            for size in ((80, 24), (120, 40)):
                view = View(pane=name).at(on=row)
                offered += [text for one in panes.page.compose(usual, view, *size)
                            if (text := CHANGING.search(text_of(one)))]  # fmt: skip
                for one in panes.page.compose(barred, view, *size):
                    assert not CHANGING.search(text_of(one)), f"{name} {row}: {text_of(one)}"
    assert len(offered) > 99


def test_in_a_namespace_nothing_is_offered_to_be_persisted() -> None:
    for bars, told in ((frozenset[str](), True), (frozenset(("persist",)), False)):
        scene = replace(storied(), barred=bars)
        view = View(pane="advisor").at(on=RING.id)
        shown = "\n".join(text_of(row) for row in panes.page.compose(scene, view, 120, 40))
        assert ("s persist" in shown) is told
        assert "a apply" in shown


def test_copying_and_the_screen_itself_are_left() -> None:
    doing = "apply confirm count export mute persist prove record stop undo"
    assert sorted(keys.ASKS - HARMLESS) == doing.split()
