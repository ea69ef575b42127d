"""Start the screen: settings, source, engine, actions, application."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Final

from ..config import Config, load, muted, state_folder
from ..files import bounds, own
from ..files.draft import write
from ..host.source import NOT_ROOT, ORDINARY, Source

if TYPE_CHECKING:
    from ..views.scene import Note
    from ..views.view import Options, View
    from .actions import Actions
    from .engine import Engine
    from .peering import Pairing, Peering
    from .screen import Nettop, Tick


SILENT = 4.0  # seconds of the demo before its first picture
PROCESSOR_AFTER = 3.0  # seconds after the first frame: the query takes a second of a core


def run(options: argparse.Namespace, source: Source, other: Source | None = None) -> int:
    """Run the screen on `source` until the user quits; gives the exit code.

    `other` is the recording of the other end that belongs to a recording.
    """
    from .. import trials

    settings = load()
    environment()
    from ..panes import chosen_columns
    from ..views.build import merge
    from ..views.scene import Note, Scene, document, origin_of

    chosen = options_of(settings, options.interval)
    demo = bool(getattr(options, "demo", False))
    kept = source.live and not demo  # a recording opens on the overview
    view = saved_view(settings.values) if kept else initial_view(settings.values)
    if getattr(options, "interface", None):
        view = replace(view, nic=options.interface)
    if getattr(options, "profile", None):
        view = replace(view, profile=options.profile)
    faults = chosen_columns(settings.get("columns", {}))[1]
    ordinary = source.live and source.batches is None and os.geteuid() != 0
    notices = [f"ignored: {fault}" for fault in faults]
    notices += [ORDINARY] if ordinary else _not_root_there(source)
    view = replace(view, options=chosen)
    scene = Scene(
        interval=chosen.interval,
        units=chosen.units,
        stored=document(view),
        tools=trials.names(),
        origin=origin_of(source),
        mutes=tuple(muted()),
        ordinary=ordinary,
        barred=_barred(options, source),
        notes=tuple(Note(text, "bad", time.time()) for text in notices),
    )

    from . import leaving
    from .engine import Engine
    from .leaving import END
    from .screen import Nettop, Tick
    from .scrub import moments_of

    app = Nettop(view, scene)
    engine = Engine(
        source, lambda new: post(app, Tick(lambda old: merge(old, new))), chosen.interval, view
    )
    engine.peering = _other_end(
        options, source, other, lambda text: engine.post(Scene(notes=(text,)))
    )
    app.engine, engine.deep = engine, bool(getattr(options, "drop_reasons", False))
    if demo:
        _answered_at_once(engine, source)
    boxed = source.live and not getattr(options, "netns", None)
    arrived = (lambda: post(app, Tick(lambda now: now))) if boxed else None
    app.scrub.moments = moments_of(recording=source.ends, arrived=arrived)
    app.read_only = bool(getattr(options, "read_only", False))
    acts = app.acts = cache(lambda: _actions(options, source, app, engine))
    if source.live and not app.read_only:  # the view of a recording is not saved
        app.on_leave = save_view
    if source.live:
        arguments = [lambda name: post(app, _named(name)), not app.read_only]
        timer = threading.Timer(PROCESSOR_AFTER, learn_processor, arguments)
        timer.daemon = True
        timer.start()
    started = source.wall()
    code = app.run(mouse=view.options.mouse)
    if engine.recording is not None:  # the engine keeps it when it ends
        engine.join(END)
        print(f"nettop: {engine.recording.outcome}", file=sys.stderr)
    actions = acts()
    if not actions.wait(0.3):
        print("nettop: waiting for a running change or test …", file=sys.stderr)
        actions.wait(END)
    if (source.live or actions.away is not None) and not app.read_only:
        for text in leaving.in_force(actions.changes_made(), started):
            print(text, file=sys.stderr)
    return int(code or 0)


def _actions(options: argparse.Namespace, source: Source, app: Nettop, engine: Engine) -> Actions:
    """What carries out the requests of keys: none comes before the first paint."""
    from .actions import Actions
    from .beyond import Beyond
    from .peering import Peering
    from .screen import Tick

    binary = getattr(options, "binary", None) or own.file()
    actions = Actions(source, lambda update: post(app, Tick(update)), engine.refresh, binary=binary)
    if isinstance(engine.peering, Peering):
        actions.beyond = Beyond(
            engine.peering, actions.post, actions.altered, actions.proving, binary
        )
    actions.read_only = app.read_only
    return actions


def _barred(options: argparse.Namespace, source: Source) -> frozenset[str]:
    """What keys do not do here; the files that persist a setting are read for the whole host."""
    from ..changes.context import first_netns
    from ..panes.hints import READING

    if getattr(options, "read_only", False):
        return READING
    return frozenset(("persist",) if source.live and not first_netns() else ())


def _not_root_there(source: Source) -> list[str]:
    """The sentence for the user of another host who is not root there."""
    from .notes import brief

    there = source.batches
    if there is None or there.root:
        return []
    return [brief(f"{there.name}: {NOT_ROOT}", there.name)]


def _answered_at_once(engine: Engine, source: Source) -> None:
    """Play the first seconds of a recording before its first picture, which then has an answer."""
    from ..host.recording import Replay

    if isinstance(source, Replay):
        source.swift = engine.silent = SILENT


def _other_end(
    options: argparse.Namespace, source: Source, other: Source | None, tell: Callable[[Note], None]
) -> Peering | Pairing | None:
    """What shows the other end: of a recording its pair, of a running host that of --peer."""
    if not source.ends:
        from . import peering

        return peering.of(options, source, tell)
    from ..host.recording import Replay, mark_of

    if not isinstance(source, Replay) or not isinstance(other, Replay):
        return None
    mark = mark_of(source.comment)
    if mark is None:
        return None
    from . import peering

    return peering.Pairing(source, other, mark, tell)


def _named(name: str) -> Tick:
    """The message that sets the processor's name."""
    from .screen import Tick

    return Tick(lambda scene: replace(scene, processor=name))


def post(app: Nettop, message: Tick) -> None:
    """Post a message from any thread; it is ignored after the application has ended."""
    if app.is_running:
        app.post_message(message)


# TERM of terminals that draw each colour; SSH forwards it, and COLORTERM it does not. tmux takes
# all colours, and gives the terminal outside the nearest that it has
COLOURFUL: Final = ("alacritty", "contour", "direct", "foot", "ghostty", "kitty", "tmux", "wezterm")


def environment() -> None:
    """Set the variables that Textual reads on import: no animations, fewer frames over SSH.

    And all colours, of a terminal that is known to draw them. Textual's asyncio does without
    OpenSSL, which takes 4 MB: nothing on the screen has TLS.
    """
    if any(name in os.environ.get("TERM", "") for name in COLOURFUL):
        os.environ.setdefault("COLORTERM", "truecolor")
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    os.environ.setdefault("TEXTUAL_FPS", "15" if "SSH_CONNECTION" in os.environ else "30")
    if not sys.modules.keys() & {"asyncio", "ssl"}:
        sys.modules["ssl"] = None  # type: ignore[assignment]  # an import of it fails
        importlib.import_module("asyncio")
        del sys.modules["ssl"]


def theme(configured: str) -> str:
    """The theme: of NO_COLOR, else of the configuration, else by the colours of the terminal.

    Refused for an unknown theme.
    """
    from ..views.view import THEMES

    if "NO_COLOR" in os.environ:
        return "mono"
    if configured in THEMES:
        return configured
    if configured:
        from ..terms.errors import Refused, nearest

        raise Refused(f"no theme {configured!r}{nearest(configured, THEMES)}", 2)
    rich_colours = (
        "256" in os.environ.get("TERM", "")
        or os.environ.get("COLORTERM", "") in ("truecolor", "24bit")
        or "TEXTUAL_DRIVER" in os.environ  # a browser, by `nettop serve`
    )
    return "dark" if rich_colours else "ansi"


def options_of(settings: Config, interval: float | None = None) -> Options:
    """The options in effect: of the command line, the environment and the configuration.

    Refused for an unknown theme.
    """
    from ..sampling.refresh import BUDGET
    from ..terms.text import ascii_only
    from ..terms.units import Units
    from ..views.view import Options

    return Options(
        theme=theme(settings.get("theme", "")),
        units=Units(settings.get("units", "bits") != "bytes", settings.get("prefix", "") == "iec"),
        interval=float(interval or settings.get("interval", 1.0)),
        budget=float(settings.get("budget", BUDGET)),
        mouse=bool(settings.get("mouse", True)) and os.environ.get("NETTOP_MOUSE") != "0",
        bell=bool(settings.get("bell", False)),
        ascii=ascii_only(settings.get("ascii", None)),
    )


SAVED = ("nic", "fold_idle", "driver_names", "span")  # a start opens the Overview


def initial_view(settings: Mapping[str, object]) -> View:
    """The view of the configuration, used if none was saved."""
    from ..panes import chosen_columns
    from ..views.view import View

    columns = settings.get("columns")
    return View(
        nic=str(settings.get("interface", "")),
        columns=chosen_columns(columns if isinstance(columns, dict) else {})[0],
    )


def saved_view(settings: Mapping[str, object]) -> View:
    """The view of the last run, else the configured one; invalid parts of the file are ignored."""
    from ..views.view import Spot, View

    view = initial_view(settings)
    try:
        saved = bounds.document(bounds.read(state_folder() / "view.json", "state"))
        types = {f.name: type(getattr(view, f.name)) for f in fields(View) if f.name in SAVED}
        values = {k: v for k, v in saved.items() if k in types and type(v) is types[k]}
        spots = {
            str(name): Spot(sort=int(order[0]), invert=bool(order[1]))
            for name, order in dict(saved.get("sort", {})).items()
        }
        form = {str(k): str(v) for k, v in dict(saved.get("form", {})).items()}
        return replace(view, spots=spots, form=form, **values)
    except (OSError, ValueError, TypeError, AttributeError, IndexError, KeyError):
        return view


def save_view(view: View) -> None:
    """Save the view for the next run, where it has a list its order; a failed write is ignored."""
    from ..panes import pane

    values = {name: getattr(view, name) for name in SAVED}
    values["sort"] = {
        name: [spot.sort, spot.invert] for name, spot in view.spots.items()
        if (spot.sort or spot.invert) and len(pane(name).orders(view)) > 1
    }  # fmt: skip
    values["form"] = dict(view.form)
    try:
        folder = state_folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write(folder / "view.json", json.dumps(values))
    except OSError:
        return


def learn_processor(tell: Callable[[str], None], ask: bool = True) -> None:
    """Call `tell` with the model name of the processor as soon as it is known.

    py-cpuinfo finds it even if /proc/cpuinfo has none. It starts a process and takes more than a
    second, so it runs in the background after the first frame, and the name is stored.

    Without `ask`, only a stored name is used: no process is started and no file is written.
    """
    path = state_folder() / "processor"
    try:
        name = bounds.read(path, "state").decode("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        name = ""
    if name:
        tell(name)
    if name or not ask:
        return

    def find() -> None:
        try:
            from cpuinfo import get_cpu_info

            brand = str(get_cpu_info().get("brand_raw", ""))
        except Exception:  # py-cpuinfo can raise any exception on unusual machines
            return
        brand = re.sub(r"\((?:R|TM|tm)\)|\bCPU\b|@.*", "", brand)
        brand = re.sub(r"\s+", " ", brand).strip()
        if not brand:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path, brand + "\n")
        except OSError:
            pass  # the next run asks again
        tell(brand)

    threading.Thread(target=find, name="nettop-processor", daemon=True).start()
