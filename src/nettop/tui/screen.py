"""The Textual application: it maps keys to views and paints scenes; the logic is elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property, partial
from typing import ClassVar

from textual import events
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Size
from textual.screen import Screen

from ..panes import page
from ..terms.text import Line, plain
from ..views import altered
from ..views.ask import Ask
from ..views.build import passed
from ..views.scene import Scene
from ..views.view import INTERVALS, View, stepped
from . import answers, effect, internals, keys, leaving, mouse, palette, themes
from .board import Board, Ground, Tick
from .effect import sampled
from .gate import EARLY, PATIENCE, QUERY, SHEET, TRUST, Gate, RowsRead
from .notes import READ, REFUSED, after, note, refused, unread
from .scrub import Scrub, forbidden, moments_of
from .terminal import Terminal
from .working import Actions, Engine

CLOGGED = 0.1  # seconds between checks of a terminal that accepts no output
STALE = 30.0  # seconds that a note is shown
WIDEST = 1000  # columns and rows that are drawn, because all of them are kept in memory
__all__ = ["Nettop", "Tick"]


class Nettop(App[int]):
    """One board, fed by scenes and keys."""

    CSS = "Screen { background: transparent; }"
    COMMANDS = {palette.provider}  # noqa: RUF012 (as declared by App)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c,ctrl+q", "leave", show=False, priority=True, system=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True, system=True),
        Binding("ctrl+p", "command_palette", show=False, priority=True, system=True),
    ]

    def __init__(self, view: View, scene: Scene) -> None:
        """Draw `scene` under `view` until others come."""
        super().__init__(ansi_color=themes.native(view.options.theme))
        self.view = view
        self.scene = scene
        self.engine: Engine | None = None
        self.acts: Callable[[], Actions | None] = lambda: None  # makes `actions`
        self.read_only = False
        self.gate = Gate()
        self.board = Board(themes.palette(view.options.theme))
        self.late = False  # a frame waits for the terminal
        self.due = False  # a frame comes after the keys that wait
        self.frozen: Scene | None = None  # the scene shown while paused
        self.painted = scene  # the scene on the screen: keys act on it
        self.scrub = Scrub(moments_of(recording=False))
        self.reading = RowsRead()
        self.on_leave: Callable[[View], None] = lambda _view: None

    @cached_property
    def actions(self) -> Actions | None:
        """Carries out requests; made after the first frame, for which it is not needed."""
        return self.acts()

    def get_driver_class(self) -> type[Driver]:
        """On a terminal, nettop's driver; in a browser or a test, Textual's."""
        chosen = super().get_driver_class()
        return Terminal if chosen is LinuxDriver and internals.has("terminal") else chosen

    def get_default_screen(self) -> Screen[None]:
        """The screen under the board."""
        return Ground(id="_default")

    def compose(self) -> ComposeResult:
        """The board alone."""
        yield self.board

    def on_load(self) -> None:
        """Install the signal handlers, which restore the terminal, before it is changed."""
        leaving.on_signals(self.leave, lambda: self.actions)

    def on_mount(self) -> None:
        """Take the keyboard; start the engine after the first frame."""
        self.board.focus()
        self.app_resume_signal.subscribe(self, self._resumed)
        self.draw()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        if self.engine is not None:
            self.engine.start()
        if self.actions is not None:
            self.actions.start()

    def _resumed(self, _app: App[object]) -> None:
        """After Ctrl-Z and `fg`: the terminal shows something else, so paint everything."""
        self.gate.asked = None
        self.reading.owed = 0
        self.board.refresh()

    def leave(self, code: int = 0) -> None:
        """Stop engine and tests, save the view, restore the terminal."""
        if self.engine is not None:
            self.engine.stop()
        if self.actions is not None:
            self.actions.stop()
        self.on_leave(self.view)
        self.use_command_palette = False  # by a key that waits: it would find no screen
        self.exit(code)

    def action_leave(self) -> None:
        """Quit."""
        self.leave()

    def shown(self) -> Scene:
        """The scene to paint; while paused or in the past an older one, with effects of keys."""
        if (earlier := self.scrub.shown(self.view, self.scene)) is not None:
            return earlier
        if not self.view.paused or self.frozen is None:
            return self.scene
        return passed(self.frozen, self.scene)

    def lines(self) -> list[Line]:
        """The screen as lines."""
        rows = page.compose(self.shown(), self.view, *self.size, palette.help_lines)
        return [plain(row) for row in rows] if self.view.options.ascii else rows

    def draw(self) -> None:
        """Paint what changed, unless the terminal is still busy with the last frame."""
        self.due = False
        if self.is_headless:  # there is no terminal that could be slow
            self.board.show(self.lines())
            if self._bind():
                self._drawn()
            return
        wait = max(self.gate.wait(time.monotonic()), CLOGGED if self._clogged() else 0.0)
        if wait > 0:
            if not self.late:
                self.late = True
                self.set_timer(wait, self._try_again)
            return
        self.late = False
        rows = self.board.show(self.lines())
        waits = self._bind()
        if (rows or waits) and self.gate.drawn(time.monotonic(), SHEET if waits else rows):
            if self.board.alone():
                self._ask()
            else:
                self.call_after_refresh(self._ask)
        if waits:  # for a terminal that does not answer: it has drawn the rows by then
            patience = TRUST if self.gate.answers else PATIENCE
            self.set_timer(patience, partial(self._drawn, self.reading.unseen))

    def _bind(self) -> bool:
        """Bind cursor and question to the painted rows; True if new rows of a question wait."""
        self.painted = self.shown()
        after = page.painted(self.painted, self.view, *self.size, palette.help_lines)
        self.view, waits = self.reading.paint(self.view, after)
        return waits

    def _drawn(self, wanted: View | None = None) -> None:
        """The terminal has drawn the waiting rows."""
        self.view = self.reading.drawn(self.view, time.monotonic(), wanted)

    def _clogged(self) -> bool:
        """Whether earlier output is still queued because the terminal does not accept it."""
        return internals.waiting(self) > 0

    def _draw_soon(self) -> None:
        """Draw after the keys that wait: they do not cost a frame each."""
        if not self.due:
            self.due = self.call_later(self.draw)

    def _try_again(self) -> None:
        if self.late:
            self.late = False
            self.draw()

    def _ask(self) -> None:
        if internals.write(self, QUERY):
            self.reading.owed += 1

    def on_cursor_position(self, event: events.CursorPosition) -> None:
        """The terminal has drawn everything."""
        event.stop()
        self.gate.answered(time.monotonic())
        self.view = self.reading.answered(self.view, event.time)
        if self.late:
            self._try_again()

    def on_resize(self, event: events.Resize) -> None:
        """Compose again for the new size, of which at most WIDEST columns and rows are used."""
        event.size = Size(*(min(cells, WIDEST) for cells in event.size))
        self.gate.asked = None
        self.call_after_refresh(self._draw_soon)

    def on_tick(self, message: Tick) -> None:
        """Update the scene: a new sample, or a result of an action."""
        before = self.scene
        self.scene = message.update(before)
        self._look_at(self.scrub.add(self.scene, self.view))
        bell = effect.bell(effect.newly_critical(before, self.scene))
        internals.write(self, bell) if bell and self.view.options.bell else None
        if self.scene.question is not before.question:
            self._look_at(replace(self.reading.forget(self.view), moment=0.0))
        for text in altered.told(before, self.scene):
            self.add_note(text, "good")
        self.scene = unread(self.scene, STALE) if self.scene.notes else self.scene
        if self.actions is not None:
            self.actions.follow(self.scene, self.view)
        self.draw()

    def target_scene(self) -> Scene:
        """The scene on which keys act: the one painted last, with the question that is open."""
        return replace(self.painted, question=self.scene.question)

    def add_note(self, text: str, role: str = "") -> None:
        """Show a note at the bottom of the screen."""
        self.scene = note(text, role)(self.scene) if text else self.scene

    def on_key(self, event: events.Key) -> None:
        """Look the key up in the table."""
        if len(self.screen_stack) > 1:
            return
        event.stop()
        event.prevent_default()
        enter = self.scene.question is not None and event.key == "enter"
        if enter and self.reading.early(self.view, event.time):
            self.add_note(EARLY, "dim")
            return
        self.scene = unread(self.scene, READ * (event.key != "escape"))  # Esc: also the newest
        pressed = event.key, event.character
        view, ask, words = answers.press(pressed, self.view, self.target_scene())
        self.add_note(words, "dim")
        self.step(view, ask)

    def on_paste(self, event: events.Paste) -> None:
        """See `answers.pasted`."""
        event.stop()
        view, words = answers.pasted(event.text, self.view, self.target_scene())
        self.scene = unread(self.scene, READ * bool(words))  # of a field that took it: all
        self.add_note(words, "dim")
        self.step(view, None)

    def step(self, view: View, ask: Ask | None) -> None:
        """Take the next view and carry out the request."""
        if self.read_only and refused(self.view, view, ask):
            self.add_note(REFUSED, "warn")
            view, ask = self.view, None
        if message := forbidden(self.view, view, ask):
            self.add_note(message, "warn")
            view, ask = self.view, None
        if view.paused and not self.view.paused:
            self.frozen = self.scene
        self._look_at(view)
        if ask is not None:
            self.carry_out(ask)
        self._draw_soon()

    def _look_at(self, view: View) -> None:
        """Take a view, and let the engine know."""
        before, self.view = self.view, view
        self.scene = self.scrub.noted(after(self.scene, before, view))
        if view.options != before.options:
            effect.show(self, self.board, self.engine, (before.options, view.options))
            self.scene = effect.on_scene(self.scene, view.options)
        if view != before and self.engine is not None:
            self.engine.set_view(view)

    def _scrub(self, verb: str) -> None:
        """Show an earlier or later moment; in a recording, go on beyond the last one."""
        view = self.scrub.moved(verb, self.view, self.scene)
        newest = not view.moment and verb.endswith("later")
        if newest and self.engine is not None and self.engine.advance():
            view = replace(view, moment=self.scene.wall if self.view.moment else 0.0)
            self.scrub.follows = bool(view.moment)
        self._look_at(view)

    def carry_out(self, ask: Ask) -> None:
        """Carry out a request: those of the screen here, the others by `actions`."""
        if ask.verb == "quit":
            self._quit()
        elif ask.verb in keys.TIMES:
            self._scrub(ask.verb)
        elif ask.verb == "palette":
            self.action_command_palette()
        elif ask.verb == "suspend":
            self.action_suspend_process()
        elif ask.verb == "copy":
            self._copy(ask.value, ask.target)
        elif ask.verb in ("slower", "faster"):
            now, by = self.view.options, 1 if ask.verb == "slower" else -1
            pace = replace(now, interval=stepped(INTERVALS, now.interval, by))
            self._look_at(replace(self.view, options=pace))
        elif ask.verb in ("record", "count"):
            if told := sampled(self.engine, ask.verb, self.scene):
                self.add_note(*told)
        elif ask.verb in ("agree", "dismiss"):
            self._answered(ask)
        elif self.actions is not None:
            self.actions.do(ask, self.view, self.target_scene())

    def _quit(self) -> None:
        """Leave; ask first if a test runs or a change is not confirmed."""
        question = None if self.read_only else leaving.question(self.scene)
        if question is None:
            self.leave()
            return
        self.scene = replace(unread(self.scene), question=question)
        self.view = self.reading.forget(self.view)

    def _answered(self, ask: Ask) -> None:
        """Close the answered question; carry it out if the user agreed."""
        question = self.scene.question
        if question is not None and question.verb == leaving.QUIT and ask.verb == "agree":
            self.leave()
        elif ask.verb == "agree" and self.actions is not None:
            self.actions.do(ask, self.view, self.scene)
        elif ask.verb == "dismiss" and question is not None and question.verb != leaving.QUIT:
            self.add_note("nothing was changed", "dim")
        self.scene = replace(self.scene, question=None)
        self.view = self.reading.forget(self.view)

    def _copy(self, text: str, row: str = "") -> None:
        if not text:
            self.add_note("nothing under the cursor to copy", "warn")
            return
        self.copy_to_clipboard(text)
        first, *more = text.splitlines()
        what = f"{1 + len(more)} lines" if more else "the name" if text in row else "the command"
        self.add_note(f"copied {what} to the clipboard: {first}", "good")

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:  # noqa: ARG002
        """The entries of the command palette."""
        for title, hint, (kind, name) in palette.commands(self.view, self.target_scene()):
            yield SystemCommand(title, hint, partial(self.command, kind, name))

    def command(self, kind: str, name: str) -> None:
        """Carry out an entry of the palette."""
        if kind == "theme":
            self.step(replace(self.view, options=replace(self.view.options, theme=name)), None)
        elif kind == "pane":
            self.step(replace(self.view, pane=name, help=False), None)
        else:
            self.do(name)

    def do(self, action: str) -> None:
        """Do an action by its name; ignored while a question is open."""
        if self.scene.question is None:
            self.step(*keys.act(action, self.view, self.target_scene()))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """See `mouse.wheeled`."""
        self._wheel(event, 1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """See `mouse.wheeled`."""
        self._wheel(event, -1)

    def _wheel(self, event: events.MouseEvent, by: int) -> None:
        event.stop()
        at = int(event.screen_x), int(event.screen_y)
        if len(self.screen_stack) == 1:
            self.step(*mouse.wheeled(at, self.board.shown, self.view, self.target_scene(), by))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """A press on a graph over time sets the first mark of the ruler."""
        moment = self._moment(event)
        if moment is not None:
            event.stop()
            self.step(replace(self.view, marks=(moment,)), None)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """The release sets the second mark, if it is at another moment."""
        moment = self._moment(event)
        if moment is not None and len(self.view.marks) == 1 and moment != self.view.marks[0]:
            event.stop()
            self.step(replace(self.view, marks=(*self.view.marks, moment)), None)

    def _moment(self, event: events.MouseEvent) -> float | None:
        at = int(event.screen_x), int(event.screen_y)
        over = len(self.screen_stack) > 1
        return None if over else mouse.moment(at, self.board.shown, self.view, self.scene)

    def on_click(self, event: events.Click) -> None:
        """See `mouse.clicked`."""
        event.stop()
        at = int(event.screen_x), int(event.screen_y)
        if len(self.screen_stack) == 1:
            self.step(*mouse.clicked(at, self.board.shown, self.view, self.target_scene()))
