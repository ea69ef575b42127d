"""Random sequences of set, confirm, undo, expiry and deaths on one device, against a simple model.

The model of a device is its confirmed values and a list of unconfirmed changes: confirming one
drops it and all before it from the list; expiry, or the stop of any guard, goes back through the
whole list. After each step the kernel, asked without nettop, must show what the model has. Guards
are real processes; `nettop` dies in a process of its own.

    python tests/faults/chain_model.py --seed 1 --steps 20 va link.mtu=1400,1300 ring.rx=512,1024
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from hang import until

from nettop.changes import Result, chain, guard, plan
from nettop.changes.apply import Terms, apply
from nettop.changes.journal import Journal, since_boot
from nettop.changes.retract import retract
from nettop.settings import Host

LONG = 3600.0  # seconds to confirm; nobody waits for its end
SYSFS = {"link.mtu": "mtu", "link.txqueuelen": "tx_queue_len", "napi.defer-hard-irqs":
         "napi_defer_hard_irqs", "napi.gro-flush-timeout": "gro_flush_timeout"}  # fmt: skip


def shown(nic: str, name: str) -> str:
    """What the kernel has, not through nettop."""
    if name in SYSFS:
        return Path(f"/sys/class/net/{nic}/{SYSFS[name]}").read_text().strip()
    out = subprocess.run(["ethtool", "-g", nic], capture_output=True, text=True, check=True).stdout
    name = name.removeprefix("ring.").upper()
    values: list[str] = re.findall(rf"^{name}:\s*(\d+)", out, re.MULTILINE)
    return values[1]  # the first is the largest there may be


@dataclass(frozen=True)
class Waiting:
    """An unconfirmed change of the model."""

    id: int
    group: int
    setting: str
    before: str


class Play:
    """The device, the journal, and the model of both."""

    def __init__(
        self, nic: str, values: dict[str, list[str]], seed: int, *, slack: float = 1.0
    ) -> None:
        """A change that is killed lives up to `slack` seconds."""
        self.nic, self.dice, self.slack = nic, random.Random(seed), slack
        self.values = {f"{name}@{nic}": (name, choices) for name, choices in values.items()}
        self.host, self.book = Host.at(), Journal(tempfile.mkdtemp(prefix="nettop-chain-"))
        self.now = {setting: shown(nic, name) for setting, (name, _) in self.values.items()}
        self.original = dict(self.now)
        self.waiting: list[Waiting] = []
        self.done: Counter[str] = Counter()

    # -- what can be done --------------------------------------------------------------------------

    def set(self) -> None:
        wanted = self.wish(self.dice.choice([1, 1, 2]))
        self.add(apply(plan.plan(wanted, self.host.source), self.host, self.book, self.terms()))

    def confirm_newest(self) -> None:
        if self.waiting:
            guard.confirm(self.book, (self.waiting[-1].id,))
            self.waiting = []

    def confirm_older(self) -> None:
        if not self.waiting:
            return
        one = self.dice.choice(self.waiting)
        guard.confirm(self.book, (one.id,))
        self.waiting = [w for w in self.waiting if w.group > one.group]

    def stop_guard(self) -> None:
        if self.waiting:
            os.kill(self.dice.choice(self.guards()), self.dice.choice(guard.STOPS))
            self.all_back()

    def expire(self) -> None:
        """The time of the newest, which counts for all, ends; one guard alone must do."""
        self.set()
        guards = self.guards()
        self.dice.shuffle(guards)
        for one in guards[1:] if self.dice.random() < 0.5 else ():
            os.kill(one, signal.SIGKILL)
        with self.book.lock(LONG):
            self.book.note(self.waiting[-1].id, "armed", due=since_boot(), deadline=time.time())
        self.all_back()

    def undo_newest(self) -> None:
        """What waits goes back at once; what was confirmed waits for its undo to be confirmed."""
        if self.waiting:
            last = self.waiting.pop()
            self.now[last.setting] = last.before
            (made,) = retract(self.book, self.host, (last.id,), terms=self.terms())
            assert made.state == "undone", made
            return
        standing = [e for e in self.book.entries() if e.open]
        if standing:
            self.add(retract(self.book, self.host, (standing[-1].id,), terms=self.terms()))

    def die(self) -> None:
        """Nettop is killed somewhere in a change."""
        known = len(self.book.entries())
        wanted = self.wish(1)
        child = os.fork()
        if not child:
            apply(plan.plan(wanted, self.host.source), self.host, self.book, self.terms())
            os._exit(0)
        time.sleep(self.dice.uniform(0, self.slack))  # wherever it dies, the model holds
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        fresh = self.book.entries()[known:]
        if not fresh:
            return
        (entry,) = fresh
        value = shown(self.nic, self.values[entry.setting][0])
        assert value in (entry.before, entry.wanted), (entry, value)
        self.done["cut"] += entry.state == "begun"
        if value == entry.wanted and self.dice.random() < 0.5:
            self.waiting.append(Waiting(entry.id, entry.group, entry.setting, entry.before))
            self.now[entry.setting] = value
            self.stop_guard()
            return
        (made,) = retract(self.book, self.host, (entry.id,), terms=self.terms())
        assert made.state == "undone", made

    # -- how it is done ----------------------------------------------------------------------------

    def terms(self) -> Terms:
        return Terms(confirm=LONG, carries=(self.nic,))

    def wish(self, number: int) -> list[tuple[str, str]]:
        chosen = self.dice.sample(sorted(self.values), min(number, len(self.values)))
        return [
            (s, self.dice.choice([v for v in self.values[s][1] if v != self.now[s]]))
            for s in chosen
        ]  # fmt: skip

    def add(self, results: tuple[Result, ...]) -> None:
        entries = {e.id: e for e in self.book.entries()}
        for made in results:
            assert made.state == "pending", made
            assert made.id is not None
            group = entries[made.id].group
            self.waiting.append(Waiting(made.id, group, made.setting, self.now[made.setting]))
            self.now[made.setting] = made.wanted

    def guards(self) -> list[int]:
        """The processes that guard what waits; that of a group which was confirmed soon ends."""
        groups = {str(one.group).encode() for one in self.waiting}
        return [number for number, group in self.all_guards() if group in groups]

    def all_guards(self) -> list[tuple[int, bytes]]:
        """The processes of this journal's guards, and the group of each."""
        found = []
        for one in Path("/proc").iterdir():
            try:
                words = (one / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"nettop.changes.guard" in words and self.book.folder.encode() in words:
                at = words.index(self.book.folder.encode())
                found.append((int(one.name), words[at + 1]))
        return found

    def all_back(self) -> None:
        """Everything that waits goes back, by somebody else's hand."""
        for one in reversed(self.waiting):
            self.now[one.setting] = one.before
        self.waiting = []
        until(lambda: not any(map(chain.unconfirmed, self.book.entries())), "not taken back")

    def agrees(self) -> None:
        """Kernel and journal are as the model has them."""
        found = {s: shown(self.nic, name) for s, (name, _) in self.values.items()}
        assert found == self.now, (found, self.now)
        waiting = [e.id for e in self.book.entries() if chain.unconfirmed(e)]
        assert waiting == [one.id for one in self.waiting]

    def play(self, steps: int) -> dict[str, int]:
        """What was done, and how often."""
        moves: dict[Callable[[], None], int] = {
            self.set: 8, self.confirm_newest: 2, self.confirm_older: 3, self.stop_guard: 2,
            self.expire: 2, self.undo_newest: 3, self.die: 3,
        }  # fmt: skip
        for move in self.dice.choices(list(moves), list(moves.values()), k=steps):
            self.done[move.__name__] += 1
            print(move.__name__, file=sys.stderr, flush=True)
            move()
            self.agrees()
        self.end()
        return dict(self.done)

    def end(self) -> None:
        """All is undone and confirmed: the device is as it was found, and no guard is left."""
        for _ in range(2):  # what waits goes back first, or is an undo that waits already
            retract(self.book, self.host, everything=True, terms=self.terms())
            guard.confirm(self.book)
        self.now, self.waiting = dict(self.original), []
        self.agrees()
        assert not any(e.open for e in self.book.entries())
        until(lambda: not self.all_guards(), "a guard outlives its work")
        shutil.rmtree(self.book.folder)


def main() -> None:
    """Play, and print the sums as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("nic")
    parser.add_argument("settings", nargs="+", metavar="NAME=VALUE,VALUE")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    values = {one.partition("=")[0]: one.partition("=")[2].split(",") for one in args.settings}
    play = Play(args.nic, values, args.seed)
    try:
        print(json.dumps(play.play(args.steps)))
    except AssertionError as error:
        sys.exit(f"seed {args.seed} in {play.book.folder}: {error!r}")


if __name__ == "__main__":
    main()
