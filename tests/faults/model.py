"""Kill nettop at each step of a random plan; then see whether undo restores everything.

A step is a call that changes a file. Each run forks a process (of some two, that wait for each
other) that applies, undoes, confirms and keeps settings of a directory that stands in for a host,
and ends itself by SIGKILL at step N; a write is cut in its middle. A fresh process then runs `undo
--all`. Every setting must show its original value, and no entry may stay open.

    python tests/faults/model.py --steps 300 --seed 1
"""

import argparse
import itertools
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import fake_host

from nettop import settings
from nettop.changes import guard, persist, plan, undo
from nettop.changes.apply import Terms, apply
from nettop.changes.journal import Journal
from nettop.changes.retract import retract
from nettop.settings import Host

ROUNDED = "rps.flow-cnt@eth0/rx-0"
VALUES = {
    **{name: [value] for name, value in fake_host.SETTINGS.items()},
    "link.mtu@eth0": ["9000", "4000", "1400"],
    "sysctl.net.core.netdev_max_backlog": ["5000", "10000", "30000"],
    ROUNDED: ["4000", "5000"],
}
STEPS: Final = ("open", "write", "ftruncate", "fsync", "link", "rename", "unlink")
_write = settings.write


def rounding(host: Host, address: settings.Address, value: str) -> None:
    """A driver that takes only powers of two."""
    if str(address) == ROUNDED and value != "0":
        value = str(1 << (int(value) - 1).bit_length())
    _write(host, address, value)


def live(host: Host, book: Journal, dice: random.Random) -> None:
    """Change and undo things for ever, until somebody ends us."""
    originals = {s: settings.read(host.source, settings.parse(s)) for s in VALUES}
    while True:
        move = dice.random()
        entries = book.entries()
        if move < 0.7:
            chosen = dice.sample(sorted(VALUES), dice.randint(1, 4))
            wanted = [(s, dice.choice([*VALUES[s], originals[s]])) for s in chosen]
            terms = Terms(confirm=dice.choice([0, 600]), arm=lambda *_: None)
            apply(plan.plan(wanted, host.source), host, book, terms)
        elif move < 0.85 and entries:
            numbers = [e.id for e in dice.sample(entries, min(3, len(entries)))]
            if dice.random() < 0.5:
                undo.undo(book, host, numbers)
            else:
                terms = Terms(confirm=600, arm=lambda *_: None)
                retract(book, host, numbers, terms=terms)
        elif move < 0.95:
            guard.confirm(book)
        else:
            name = "sysctl.net.core.netdev_max_backlog"
            persist.keep([(name, dice.choice(VALUES[name]))], host, book)


def mortal(last: int) -> None:
    """End this process at its step `last`; half of a write is done."""
    steps = itertools.count(1)

    def ending(name: str) -> Callable[..., Any]:
        call = getattr(os, name)

        def step(*words: Any, **more: Any) -> Any:
            changes = name != "open" or words[1] & (os.O_WRONLY | os.O_RDWR)
            if changes and next(steps) == last:
                if name == "write":
                    call(words[0], words[1][: len(words[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*words, **more)

        return step

    for name in STEPS:
        setattr(os, name, ending(name))


def born(host: Host, book: Journal, dice: random.Random, last: int) -> int:
    """A nettop in a process of its own, which dies at its step `last`."""
    child = os.fork()
    if not child:
        settings.write = rounding
        mortal(last)
        try:
            live(host, book, dice)
        finally:
            os._exit(3)
    return child


def once(folder: Path, seed: int, last: int) -> Counter[str]:
    """One life and death; what the journal held, or AssertionError."""
    host, book = fake_host.make(folder / "host"), Journal(str(folder / "state"))
    before = {s: settings.read(host.source, settings.parse(s)) for s in VALUES}
    files = fake_host.contents(folder / "host")
    lives = 1 if last % 4 else 2
    children = [born(host, book, random.Random(seed + life), last) for life in range(lives)]
    for child in children:
        _pid, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "nettop ended by itself"
    torn = os.path.exists(book.path) and not Path(book.path).read_bytes().endswith(b"\n")
    at_death = book.entries()
    results = undo.undo(book, host, everything=True)
    wrong = [r for r in results if r.state != "undone"]
    assert not wrong, wrong
    after = {s: settings.read(host.source, settings.parse(s)) for s in VALUES}
    assert after == before, {s: (before[s], after[s]) for s in before if after[s] != before[s]}
    left = {k: v.split() for k, v in fake_host.contents(folder / "host").items()}
    # a killed write leaves its draft beside the file of the stand-in; /proc and /sys have no drafts
    left = {k: v for k, v in left.items() if not k.endswith(".part")}
    right = {k: v.split() for k, v in files.items()}
    other = {k: (right.get(k), left.get(k)) for k in right | left if right.get(k) != left.get(k)}
    assert not other, f"files differ (before, after): {other}"
    assert not any(e.open for e in book.entries())
    return Counter(
        changes=len(at_death), open=sum(e.open for e in at_death),
        cut=sum(e.state == "begun" for e in at_death), torn=int(torn),
    )  # fmt: skip


def main() -> None:
    """Run and print the sums as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    total = Counter[str]()
    for last in range(1, args.steps + 1):
        folder = Path(tempfile.mkdtemp(prefix="nettop-fault-"))
        try:
            total += once(folder, args.seed, last)
        except AssertionError as error:
            sys.exit(f"step {last} of seed {args.seed} in {folder}: {error}")
        shutil.rmtree(folder)
    print(json.dumps(total))


if __name__ == "__main__":
    main()
