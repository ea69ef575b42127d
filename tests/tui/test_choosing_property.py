"""Random findings come and go under random keys: only what a plan showed is ever written.

The application, its actions and the way down to the files are the real ones. The terminal is busy
at times (frames are left out), answers of threads come late, keys wait in the queue, and others
change the host meanwhile.
"""

import asyncio
import contextlib
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import fake_host
import pytest
from scenes import Found, lossy
from textual import events
from thinned import thinned

from nettop.advice.rules.rule import Finding, Wanted
from nettop.settings import Host
from nettop.tui.actions import Actions
from nettop.tui.mouse import selected
from nettop.tui.notes import Update
from nettop.tui.screen import Nettop, Tick
from nettop.views.build import merge
from nettop.views.scene import Scene
from nettop.views.steps import step
from nettop.views.view import View

VALUES = {  # setting: its file on the fake host, and values it takes
    "sysctl.net.core.rmem_max": ("proc/sys/net/core/rmem_max", ("212992", "4194304", "8388608")),
    "sysctl.net.core.netdev_max_backlog": (
        "proc/sys/net/core/netdev_max_backlog", ("1000", "5000", "9000"),
    ),
    "sysctl.net.ipv4.tcp_rmem": (
        "proc/sys/net/ipv4/tcp_rmem",
        ("4096 131072 6291456", "4096 131072 33554432", "4096 131072 67108864"),
    ),
    "sysctl.net.ipv4.tcp_congestion_control": (
        "proc/sys/net/ipv4/tcp_congestion_control", ("cubic", "bbr", "reno"),
    ),
    "link.txqueuelen@eth0": ("sys/class/net/eth0/tx_queue_len", ("1000", "2000", "10000")),
}  # fmt: skip
KEYS = [*(["a"] * 5), *(["enter"] * 6), *"escape u u j k 1 5 5 8 m M c s y p S e 4 x".split()]
STEPS = 420


class Desk:
    """A reader with a busy terminal before a host that others change too."""

    def __init__(self, folder: Path, host: Host, size: tuple[int, int], seed: int) -> None:
        self.folder, self.host, self.size = folder, host, size
        self.chance = random.Random(seed)
        self.late: list[Update] = []  # what threads posted
        self.app = Nettop(View(pane="advisor"), replace(self.scene(), journal=()))
        self.actions = Actions(host.source, self.late.append, lambda: None, host)
        self.actions._spawn = self.at_once  # type: ignore[method-assign]
        self.actions.bench = Mock()  # no test is run, and no proof
        self.app.actions = self.actions
        self.paint = self.app.draw
        self.app.draw = self.draw  # type: ignore[method-assign]
        self.plan: set[str] = set()  # rows of the open question that were painted
        self.asked: object = None
        self.written = 0
        self.waiting: list[tuple[events.Key, set[str]]] = []  # keys typed, not delivered
        self.where = ("", "", "")  # pane, row and page when it was painted last

    def at_once(self, name: str, work: Callable[[], None]) -> None:
        with contextlib.suppress(Exception):  # what a thread says of it is no matter here
            work()

    def finding(self, setting: str) -> Finding:
        value = self.chance.choice(VALUES[setting][1])
        name = short(setting)
        return Found(f"{name}@host", "warning", f"about {name}", "why", 9.0,
                     wanted=(Wanted(setting, value),))  # fmt: skip

    def scene(self) -> Scene:
        """Another moment: some of the findings, in any order."""
        some = self.chance.sample(sorted(VALUES), self.chance.randint(0, len(VALUES)))
        found = tuple(map(self.finding, some))
        steps = {
            f.id: tuple(step(w.setting, w.value, self.host.source) for w in f.wanted) for f in found
        }
        wall = 1.79e9 + self.chance.random() * 100
        return replace(lossy(), findings=found, plans=steps, muted=(), wall=wall)

    def draw(self) -> None:
        if self.chance.random() < 0.35:  # the terminal is still busy with the last frame
            return
        self.paint()
        self.where = self.here()
        question = self.app.scene.question
        if question is not self.asked:
            self.asked, self.plan = question, set()
        if question is not None:
            self.plan |= {squeezed(" ".join(self.dialog()))}

    def dialog(self) -> list[str]:
        rows = ["".join(text for text, _ in row) for row in self.app.board.shown]
        assert self.app.scene.question is not None
        title = self.app.scene.question.title
        at = next((n for n, row in enumerate(rows) if row.startswith(f" {title[:40]}")), None)
        return rows[at:] if at is not None else []

    def here(self) -> tuple[str, str, str]:
        view = self.app.view
        return view.pane, view.spot.on, view.spot.open

    def under(self) -> str:
        """The row that is painted as selected, or the whole page."""
        rows = self.app.board.shown
        chosen = [row for row in rows[:-1] if selected(row)]
        return "".join(text for row in (chosen or rows) for text, _ in row)

    def values(self) -> dict[str, str]:
        return {
            setting: " ".join((self.folder / path).read_text().split())
            for setting, (path, _) in VALUES.items()
        }

    def deliver(self, event: events.Key, shown: set[str]) -> None:
        """One key reaches the application: what it writes was shown when it was typed."""
        under = self.under()
        before = self.values()
        had = self.app.scene.question
        listed = self.here()[0] in ("advisor", "overview") and self.here() == self.where
        late = len(self.late)
        self.app.on_key(event)
        for setting, value in self.values().items():
            if value != before[setting]:
                assert had is not None, f"{setting} was written without a question"
                self.written += 1
                assert event.key == "enter", f"{event.key} wrote {setting}"
                row = squeezed(f"{setting}: {before[setting]} → {value}")
                assert any(row in plan for plan in shown), f"{row} was not shown"
        # a key acts on the row that was painted last, unless keys have moved the cursor since
        if event.key == "a" and listed and had is None and len(self.late) > late:
            made = self.late[-1](self.app.scene).question
            if made is not None and made is not had:
                name = made.finding.partition("@")[0]
                assert name in under, f"{made.title}, but {under!r} was under the cursor"

    def act(self) -> None:
        """One thing happens."""
        lot = self.chance.random()
        if lot < 0.5:
            event = key(self.chance.choice(KEYS))
            self.waiting.append((event, set(self.plan)))
        elif lot < 0.72 and self.late:
            self.app.on_tick(Tick(self.late.pop(0)))
        elif lot < 0.9:
            moment = self.scene()
            self.app.on_tick(Tick(lambda old: merge(old, moment)))
        elif lot < 0.93:
            self.draw()
        elif lot < 0.95:
            path, values = self.chance.choice(sorted(VALUES.values()))
            (self.folder / path).write_text(f"{self.chance.choice(values)}\n")
        if self.waiting and self.chance.random() < 0.55:
            self.deliver(*self.waiting.pop(0))


def key(name: str) -> events.Key:
    return events.Key(name, name if len(name) == 1 else None)


def short(setting: str) -> str:
    """A name that no list crops."""
    return setting.partition("@")[0].rpartition(".")[2][:8]


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize("seed", thinned(range(12), 4))
async def test_nothing_is_written_that_no_plan_showed(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nettop.changes import privilege

    monkeypatch.setattr(privilege, "needed", lambda _address: False)
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    for variable in ("NETTOP_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    monkeypatch.chdir(tmp_path)
    host = fake_host.make(tmp_path / "host")
    host.source.live = True  # type: ignore[misc]
    size = ((80, 24), (120, 40), (60, 20))[seed % 3]
    desk = Desk(tmp_path / "host", host, size, seed)
    async with desk.app.run_test(size=size):
        for step in range(4 * STEPS):
            if step >= STEPS and desk.written:  # chance may agree to nothing for a while
                break
            desk.act()
            await asyncio.sleep(0)
    assert desk.written > 0
