"""The private names of Textual that nettop uses; no other module uses private names.

A release of Textual may rename them. `has` tells whether this version has all names of a use; each
use has a public substitute, which the table names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, Final

from rich.console import Console
from textual.app import App
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip

if TYPE_CHECKING:
    from textual._compositor import CompositorUpdate
    from textual._xterm_parser import XTermParser
else:
    try:
        from textual._compositor import CompositorUpdate
    except ImportError:
        CompositorUpdate = object

_LINUX: Final = "textual.drivers.linux_driver:LinuxDriver"
# use: its names as MODULE:NAME or MODULE:CLASS.ATTRIBUTE
NAMES: Final[dict[str, tuple[str, ...]]] = {
    # changed rows are written directly; substitute: Widget.refresh of these rows
    "rows": (
        "textual._compositor:CompositorUpdate",
        "textual.app:App._batch_count",
        "textual.app:App._display",
    ),
    # nettop draws no frame while output is queued, and asks the terminal whether it has drawn the
    # last one; substitute: each frame is drawn at once
    "output": (
        "textual.app:App._driver",
        "textual.drivers._writer_thread:WriterThread._queue",
        f"{_LINUX}._writer_thread",
    ),
    # nettop reads keys and handles SIGTSTP and SIGCONT itself; substitute: LinuxDriver does
    "terminal": (
        "textual._xterm_parser:XTermParser",
        "textual._parser:Parser._timeout_time",
        f"{_LINUX}._key_thread",
        f"{_LINUX}._must_signal_resume",
    ),
    # the mouse is switched while the screen runs; substitute: at the next start
    "mouse": (
        f"{_LINUX}._mouse",
        f"{_LINUX}._enable_mouse_support",
        f"{_LINUX}._disable_mouse_support",
    ),
    # each packet of a browser is parsed separately; substitute: WebDriver reads one stream
    "browser": (
        "textual._xterm_parser:XTermParser",
        "textual._parser:Parser._timeout_time",
        "textual.drivers.web_driver:WebDriver._enable_bracketed_paste",
        "textual.drivers.web_driver:WebDriver._key_thread",
    ),
}


def has(use: str) -> bool:
    """Whether this version of Textual has every name of a use."""
    return all(map(exists, NAMES[use]))


def exists(name: str) -> bool:
    """Whether a module has the name, or its class the attribute, set in `__init__` or before."""
    module, _, path = name.partition(":")
    owner, _, attribute = path.partition(".")
    try:
        value: object = getattr(import_module(module), owner, None)
    except ImportError:
        return False
    if not attribute or not isinstance(value, type):
        return value is not None and not attribute
    codes = (getattr(vars(one).get("__init__"), "__code__", None) for one in value.__mro__)
    return hasattr(value, attribute) or any(
        code is not None and attribute in code.co_names for code in codes
    )


class Rows(CompositorUpdate):
    """An update of some rows of the screen, each from a column to its end."""

    def __init__(self, pieces: Mapping[int, tuple[int, Strip]]) -> None:
        """Columns and strips by row; both are counted from 0."""
        self.pieces = pieces

    def render_segments(self, console: Console) -> str:
        """The rows as text for the terminal, each at its position."""
        return "".join([
            f"\x1b[{y + 1};{column + 1}H{strip.render(console)}"
            for y, (column, strip) in self.pieces.items()
        ])  # fmt: skip


def write_rows(screen: Screen[object], pieces: Mapping[int, tuple[int, Strip]]) -> None:
    """Write these rows as the compositor of `screen` does; needs `rows`."""
    screen.app._display(screen, Rows(pieces))  # type: ignore[arg-type]  # noqa: SLF001


def batches(app: App[object]) -> bool:
    """Whether Textual delays its output, to paint everything later; needs `rows`."""
    return bool(app._batch_count)  # noqa: SLF001


def waiting(app: object) -> int:
    """The number of writes that the terminal has not accepted yet; 0 without `output`."""
    writer = getattr(getattr(app, "_driver", None), "_writer_thread", None)
    queue = getattr(writer, "_queue", None)
    return 0 if queue is None else int(queue.qsize())


def write(app: object, text: str) -> bool:
    """Write a control sequence to the terminal; False without a terminal or without `output`."""
    driver: Driver | None = getattr(app, "_driver", None)
    if driver is None:
        return False
    driver.write(text)
    return True


def use_mouse(app: object, *, on: bool) -> bool:
    """Let the terminal report the mouse, or not; False without a terminal or without `mouse`."""
    driver: LinuxDriver | None = getattr(app, "_driver", None)
    if not has("mouse") or not isinstance(driver, LinuxDriver):
        return False
    driver._disable_mouse_support()  # noqa: SLF001
    driver._mouse = on  # noqa: SLF001
    driver._enable_mouse_support()  # noqa: SLF001
    return True


def parser() -> XTermParser:
    """A parser of the input of a terminal; needs `terminal` or `browser`."""
    from textual._xterm_parser import XTermParser

    return XTermParser()


def ended(parser: XTermParser) -> Iterable[Message]:
    """What the parser makes of a sequence that does not go on; needs `terminal` or `browser`."""
    if parser._timeout_time is not None:  # noqa: SLF001
        parser._timeout_time = 0.0  # noqa: SLF001
    return parser.tick()


def reader(driver: Driver) -> Thread | None:
    """The thread that reads keys; None before it has started; needs `terminal` or `browser`."""
    thread: Thread | None = getattr(driver, "_key_thread", None)
    return thread


def signal_resume(driver: Driver) -> None:
    """Publish App.app_resume_signal when the driver starts again; needs `terminal`."""
    driver._must_signal_resume = True  # type: ignore[attr-defined]  # noqa: SLF001
