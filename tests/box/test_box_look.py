"""What the kernel counts when a problem begins is in the incident, and its replay tells it."""

from pathlib import Path
from typing import NoReturn

from box_parts import WALL, Recorded, opened, recorder

from nettop.box.ring import moments
from nettop.host.record import COUNTED
from nettop.host.recording import Replay, load
from nettop.views.observer import Observation, Observer

BEGINS = 11  # second from which eth0 receives more than 9,500 bytes/s
DROPS = "SOCKET_RCVBUFF 900 udp_queue_rcv_one_skb here 1 udp 53\n"


class Counted(Recorded):
    """A host whose kernel counts 900 drops in each look."""

    def __init__(self) -> None:
        super().__init__(WALL)
        self.live = True
        self.begun: dict[str, int] = {}
        self.looks: list[int] = []  # the seconds in which one began

    def _netlink(self) -> NoReturn:
        raise FileNotFoundError(2, "not that of the machine of the tests")

    def counted(self, what: str) -> str:
        if what not in self.begun and what == "drops":
            self.looks.append(self.second)
        seconds = self.second - self.begun.setdefault(what, self.second)
        return f"{seconds:.3f}\n{DROPS if seconds and what == 'drops' else ''}"

    def end_counting(self, what: str) -> None:
        self.begun.pop(what, None)


def watched(path: Path, host: Counted, seconds: int) -> Path:
    """The incident of a box on that host."""
    folder = opened(path)
    box = recorder(folder, host, on="nic.per_s.rx_bytes > 9500", after=12)
    box.observer.look_shortly(short=0.0)
    for _ in range(seconds):
        box.step()
        host.wait(1)
    box.end()
    (incident,) = folder.incidents()
    return incident


def replayed(incident: Path) -> list[Observation]:
    source = Replay(load(str(incident)))
    observer, seen = Observer(source), []
    while True:
        seen.append(observer.step())
        if not source.wait(1.0):
            return seen


def test_an_incident_has_what_the_kernel_counted_around_its_begin(tmp_path: Path) -> None:
    host = Counted()
    incident = watched(tmp_path, host, 40)
    assert len(host.looks) == 1
    assert BEGINS <= host.looks[0] <= BEGINS + 2
    assert not host.begun  # nothing is attached meanwhile
    told = {name for one in moments(incident) for name in one.changed if name.startswith(COUNTED)}
    assert {f"{COUNTED}drops", f"{COUNTED}calls"} <= told

    seen = replayed(incident)
    named = [[one.id for one in moment.judgement.findings] for moment in seen]
    found = [any("SOCKET_RCVBUFF" in one for one in some) for some in named]
    assert not found[0]
    assert found[-1]
    (drop,) = seen[-1].facts.more["drop"]
    assert (drop.packets, drop.per_s) == (900, 180.0)
