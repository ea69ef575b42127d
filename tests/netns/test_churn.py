"""What came and went is forgotten: interfaces, processes and sockets leave no objects behind."""

import json
import subprocess
import sys

import pytest
from veth import pair

CHURN = """
import gc, json, socket, subprocess, sys
from collections import Counter

from nettop.host.source import Live
from nettop.views.observer import Observer

def sizes():
    gc.collect()
    known = gc.get_objects()
    count = Counter(type(one).__module__ + "." + type(one).__name__ for one in known)
    held = (dict, list, set, frozenset)
    count["items of containers"] = sum(len(one) for one in known if isinstance(one, held))
    return count

class Fast(Live):
    # A turn is a second: what is kept for seconds is full after a few turns.
    def now(self):
        return 1000.0 + turn

    def wall(self):
        return 1e9 + turn

turn = 0
observer = Observer(Fast("/"))
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(4)
marks, every = [], [int(word) for word in sys.argv[1:]]
for turn in range(every[-1] + 1):
    name = f"va{turn}"
    subprocess.run(["ip", "link", "add", name, "type", "veth", "peer", "name", f"vb{turn}"],
                   check=True)
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        with socket.create_connection(server.getsockname()) as one, server.accept()[0] as other:
            one.send(b"x" * 1000)
            observer.glance(())
        sleeper.kill()
    subprocess.run(["ip", "link", "del", name], check=True)
    if turn in every:
        marks.append(json.dumps(sizes()))
before, last = map(json.loads, marks[-2:])
grown = {name: (before.get(name, 0), count) for name, count in last.items()
         if count > before.get(name, 0)}
print(json.dumps(grown))
"""


@pytest.mark.parametrize(
    "turns", [(40, 80, 160), pytest.param((1000, 2000, 4000), marks=pytest.mark.nightly)], ids=str
)
def test_as_many_objects_after_twice_as_many_interfaces_processes_and_sockets(
    turns: tuple[int, ...],
) -> None:
    with pair("churn") as spaces:
        alone = "unshare --pid --fork --mount-proc".split()  # sees no process of others
        words = [*spaces.near, *alone, sys.executable, "-c", CHURN, *map(str, turns)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    grown = json.loads(done.stdout.splitlines()[-1])
    # One object left behind a turn is as many as turns; tables of the host breathe by a few items.
    much = {name: pair for name, pair in grown.items() if pair[1] - pair[0] > turns[-2] / 2}
    assert much == {}
