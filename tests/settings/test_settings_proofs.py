"""Apply, then undo, leaves everything as it was: where that is shown for each kind of setting.

    python tests/settings/test_settings_proofs.py

prints the table. Places: `files` a directory that stands in for a host, `messages` a card or
daemon played by its messages, `kernel` a network namespace or process of this machine, `drivers`
e1000e and vmxnet3 in the virtual machine.
"""

import os
import struct
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.extend(str(Path(__file__).parents[1] / name) for name in ("", "support"))

import fake_host
import pytest
import test_settings_ethtool as played
from lab.inside.changed import CHANGES as DRIVERS
from netns import test_changes_kernel as namespace
from sentences import no_fault

from nettop import settings
from nettop.changes import plan, undo
from nettop.changes.apply import Terms, apply
from nettop.changes.journal import Journal
from nettop.files import trust
from nettop.host.netlink.codec import NESTED, Request, attribute, attributes
from nettop.settings import Host

PLACES = ("files", "messages", "kernel", "drivers")
QUIET = Terms(confirm=0)
# what is shown by a test of its own: kind, place, module, function
SINGLE = [
    ("process", "kernel", namespace.__name__, "test_a_process_gets_its_cpus_back_thread_by_thread"),
    ("route", "kernel", namespace.__name__, "test_a_route_keeps_everything_but_the_one_metric"),
    ("kept", "files", "changes.test_changes_kept",
     "test_files_are_shown_written_marked_and_taken_away_again"),
    ("kept", "kernel", "netns.test_changes_keep",
     "test_what_was_kept_is_so_again_after_a_boot"),
    ("irqbalance", "messages", "test_settings_irqbalance",
     "test_an_interface_is_banned_and_given_back"),
    ("privflag", "messages", __name__, "test_a_private_flag_is_put_back"),
    ("service", "files", __name__, "test_a_service_is_put_back"),
    ("nice", "kernel", __name__, "test_what_a_process_had_is_put_back"),
    ("thread", "kernel", __name__, "test_what_a_process_had_is_put_back"),
]  # fmt: skip


def of(names: Iterable[str]) -> set[str]:
    """The kinds of these settings."""
    return {name.partition(".")[0] for name in names}


def table() -> dict[str, tuple[str, ...]]:
    """The places of each kind."""
    where = {
        "files": of(fake_host.SETTINGS),
        "messages": of(row[0] for row in played.PLAYED),
        "kernel": of(row[0] for row in namespace.CASES),
        "drivers": of(row[0] for row in DRIVERS),
    }
    for kind, place, _module, _function in SINGLE:
        where[place].add(kind)
    return {
        kind: tuple(place for place in PLACES if kind in where[place]) for kind in settings.kinds()
    }


def test_every_kind_is_put_back_somewhere() -> None:
    no_fault(
        f"no test applies and undoes {kind}: add its file and a value to tests/support/fake_host.py"
        for kind, places in table().items()
        if not places
    )


@pytest.mark.parametrize(("kind", "place", "module", "function"), SINGLE)
def test_what_the_table_says_is_a_test(kind: str, place: str, module: str, function: str) -> None:
    assert kind in settings.kinds()
    assert place in PLACES
    assert callable(getattr(import_module(module), function))


def back_and_forth(host: Host, book: Journal, wanted: str, value: str) -> None:
    """Apply it, see it, undo it."""
    address = settings.parse(wanted)
    before = settings.read(host.source, address)
    assert before != value
    (made,) = apply(plan.plan([(wanted, value)], host.source), host, book, QUIET)
    assert (made.state, settings.read(host.source, address)) == ("applied", value), made
    (back,) = undo.undo(book, host, everything=True)
    assert (back.state, settings.read(host.source, address)) == ("undone", before), back


@pytest.fixture
def book(tmp_path: Path) -> Journal:
    return Journal(str(tmp_path / "state"))


@pytest.fixture
def process() -> Iterator[tuple[int, int]]:
    """A process of two threads: its number, and the second thread's."""
    code = (
        "import sys, threading\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "print('ready', flush=True); sys.stdin.read()"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe) as running:
        assert running.stdout is not None
        running.stdout.readline()
        tasks = map(int, os.listdir(f"/proc/{running.pid}/task"))
        yield running.pid, next(task for task in tasks if task != running.pid)
        running.kill()


@pytest.mark.needs("root")
@pytest.mark.parametrize(
    ("kind", "value"), [("nice.value@{0}", "7"), ("thread.affinity@{0}/{1}", "0")]
)
def test_what_a_process_had_is_put_back(
    process: tuple[int, int], book: Journal, kind: str, value: str
) -> None:
    if len(os.sched_getaffinity(0)) == 1 and kind.startswith("thread"):
        pytest.skip("one CPU: there is no other list to write")
    back_and_forth(Host(), book, kind.format(*process), value)


def test_a_service_is_put_back(
    tmp_path: Path, book: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A systemctl that does to the control group what systemd's would."""
    host = fake_host.make(tmp_path / "host")
    (tmp_path / "host/run/systemd/system").mkdir(parents=True)
    group = tmp_path / "host/sys/fs/cgroup/system.slice/irqbalance.service"
    group.mkdir(parents=True)
    (group / "cgroup.procs").write_text("77\n")
    log = tmp_path / "log"
    stand_in = tmp_path / "bin/systemctl"
    stand_in.parent.mkdir()
    stand_in.write_text(
        f'#!/bin/sh\necho "$@" >> {log}\n[ "$1" = start ] && echo 77 > {group}/cgroup.procs\n'
        f'[ "$1" = stop ] && : > {group}/cgroup.procs\nexit 0\n'
    )
    stand_in.chmod(0o755)
    # root's programs are those of the system, a user's those of PATH
    monkeypatch.setattr("nettop.files.trust.SYSTEM", (str(stand_in.parent), *trust.SYSTEM))
    monkeypatch.setenv("PATH", str(stand_in.parent), prepend=os.pathsep)
    back_and_forth(host, book, "service.running@irqbalance", "off")
    assert log.read_text() == "stop irqbalance.service\nstart irqbalance.service\n"


@dataclass
class Flags(played.Card):
    """eth0 of a driver with two private flags."""

    flags: dict[str, bool] = field(default_factory=lambda: {"rx_striding_rq": True, "skip": False})

    def netlink(self, request: Request) -> bytes:
        if request.kind == 1:
            each = b"".join(
                attribute(1 | NESTED, attribute(1, struct.pack("=I", i))
                          + attribute(2, name.encode() + b"\0"))
                for i, name in enumerate(self.flags)
            )  # fmt: skip
            one = attribute(1, struct.pack("=I", 2)) + attribute(3 | NESTED, each)
            return self._message(attribute(2 | NESTED, attribute(1 | NESTED, one)))
        if played.NAMED[request.kind] != "privflags":
            return super().netlink(request)
        value = sum(on << i for i, on in enumerate(self.flags.values()))
        bits = attribute(2, struct.pack("=I", 2)) + attribute(4, struct.pack("=I", value))
        device = attribute(1 | NESTED, attribute(2, b"eth0\0"))
        return self._message(device + attribute(2 | NESTED, bits))

    def change(self, kind: int, body: bytes) -> None:
        assert played.PUT[kind] == "privflags"
        for number, a, e in attributes(body, 0, len(body)):
            for _list, a2, e2 in attributes(body, a, e) if number == 2 else ():
                for _bit, a3, e3 in attributes(body, a2, e2):
                    parts: dict[int, Any] = {n: body[x:y] for n, x, y in attributes(body, a3, e3)}
                    self.flags[parts[2].rstrip(b"\0").decode()] = 3 in parts


def test_a_private_flag_is_put_back(tmp_path: Path, book: Journal) -> None:
    fake_host.make(tmp_path / "host")
    card = Flags(str(tmp_path / "host"))
    host = played.CardHost(card.root, card)
    back_and_forth(host, book, "privflag.rx_striding_rq@eth0", "off")
    assert card.flags == {"rx_striding_rq": True, "skip": False}


def main() -> None:
    """Print the table."""
    print(f"{'kind':<12}" + "".join(f"{place:<10}" for place in PLACES))
    for kind, places in table().items():
        print(f"{kind:<12}" + "".join(f"{'yes' if p in places else '–':<10}" for p in PLACES))


if __name__ == "__main__":
    main()
