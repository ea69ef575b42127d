"""The private names of Textual that nettop uses: no other module uses one.

A release of Textual may rename them. `has` says whether this version has all names of a use; each
use has a public substitute, which is given here.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from textual.app import App
from textual.driver import Driver
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
    # changed rows are written at once; else Widget.refresh of these rows
    "rows": (
        "textual._compositor:CompositorUpdate",
        "textual.app:App._batch_count",
        "textual.app:App._display",
    ),
    # nettop draws no frame while output waits, and asks the terminal whether it has drawn the last
    # one; else each frame is drawn when it is made
    "output": (
        "textual.app:App._driver",
        "textual.drivers._writer_thread:WriterThread._queue",
        f"{_LINUX}._writer_thread",
    ),
    # nettop reads keys and handles SIGTSTP and SIGCONT itself; else LinuxDriver does
    "terminal": (
        "textual._xterm_parser:XTermParser",
        f"{_LINUX}._key_thread",
        f"{_LINUX}._must_signal_resume",
    ),
    # each packet of a browser is parsed by itself; else WebDriver reads all of them as one stream
    "browser": (
        "textual._xterm_parser:XTermParser",
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
        found: Any = getattr(import_module(module), owner, None)
    except ImportError:
        return False
    if not attribute or found is None:
        return found is not None
    codes = (getattr(one.__init__, "__code__", None) for one in found.__mro__)
    return hasattr(found, attribute) or any(
        code is not None and attribute in code.co_names for code in codes
    )


class Rows(CompositorUpdate):
    """Some whole rows of the screen."""

    def __init__(self, strips: Mapping[int, Strip]) -> None:
        """`strips` by row, from 0."""
        self.strips = strips

    def render_segments(self, console: Console) -> str:
        """Each row at its place."""
        return "".join(
            [f"\x1b[{y + 1};1H{strip.render(console)}" for y, strip in self.strips.items()]
        )


def write_rows(screen: Screen[Any], strips: Mapping[int, Strip]) -> None:
    """Write these rows as the compositor of `screen` does; needs `rows`."""
    update: Any = Rows(strips)
    screen.app._display(screen, update)  # noqa: SLF001


def batches(app: App[Any]) -> bool:
    """Whether Textual keeps its output back to paint everything later; needs `rows`."""
    return bool(app._batch_count)  # noqa: SLF001


def waiting(app: App[Any]) -> int:
    """How many writes the terminal has not taken yet; 0 without `output`."""
    writer = getattr(getattr(app, "_driver", None), "_writer_thread", None)
    queue = getattr(writer, "_queue", None)
    return 0 if queue is None else int(queue.qsize())


def write(app: App[Any], text: str) -> bool:
    """Write a control sequence to the terminal; False where there is none, or without `output`."""
    driver: Driver | None = getattr(app, "_driver", None)
    if driver is None:
        return False
    driver.write(text)
    return True


def parser() -> XTermParser:
    """A parser of what a terminal sends; needs `terminal` or `browser`."""
    from textual._xterm_parser import XTermParser

    return XTermParser()


def reader(driver: Driver) -> Thread | None:
    """The thread that reads keys, or None before it started; needs `terminal` or `browser`."""
    found: Thread | None = getattr(driver, "_key_thread", None)
    return found


def signal_resume(driver: Driver) -> None:
    """When the driver starts again, App.app_resume_signal is published; needs `terminal`."""
    driver._must_signal_resume = True  # type: ignore[attr-defined]  # noqa: SLF001
