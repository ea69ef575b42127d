"""What is on the way: a slow link, a pod, a link that goes down; and a writer and a reader.

link FROM TO [NAME=VALUE…]   a slow path between two namespaces: tun0 in both, 10.95.0.1 and .2,
                             fd95::1 and ::2; options as in limits/programs.py
write ADDRESS PORT [NAME=VALUE…] · read PORT [NAME=VALUE…]   the writer and reader of that file
pod NAME ADDRESS GATEWAY COMMAND…  run in a network namespace of its own, behind a veth NAME
flaps IF UP DOWN             a link that is up and down, so many seconds each
"""

import os
import subprocess
import sys
import time

from live.programs.shared import kind, server


@kind
def link(*words: str) -> None:
    """Delay, lose, reorder or police packets on the way."""
    if not os.fork():
        for number, space in enumerate(words[:2], 1):
            made = f"ip -n {space} addr add 10.95.0.{number}/24 dev tun0"
            while subprocess.run(made.split(), check=False, capture_output=True).returncode:
                time.sleep(0.05)  # not there yet
            for rest in (f"addr add fd95::{number}/64 dev tun0 nodad",
                         "link set tun0 up txqueuelen 5000"):  # fmt: skip
                subprocess.run(["ip", "-n", space, *rest.split()], check=True)
        os._exit(0)
    _become("LINK", *words[:2], os.devnull, *words[2:])  # nobody asks how many were lost


@kind
def write(*words: str) -> None:
    """Write to a connection."""
    _become("WRITE", *words)


@server
def read(*words: str) -> None:
    """Read from connections."""
    _become("READ", *words)


@kind
def pod(name: str, address: str, gateway: str, *command: str) -> None:
    """As a container: what ends with this program is the namespace and the veth."""
    wait = ["unshare", "-n", "sh", "-c", 'read go; exec "$@"', "sh", *command]
    child = subprocess.Popen(wait, stdin=subprocess.PIPE)
    own, inner = os.readlink("/proc/self/ns/net"), f"/proc/{child.pid}/ns/net"
    while os.readlink(inner) == own:
        time.sleep(0.01)
    within = f"nsenter -t {child.pid} -n "
    for line in (
        f"ip link add {name} type veth peer name eth0 netns {child.pid}",
        f"ip addr add {gateway}/24 dev {name}",
        f"ip link set {name} up",
        f"{within}ip addr add {address}/24 dev eth0",
        f"{within}ip link set lo up",
        f"{within}ip link set eth0 up",
        f"{within}ip route add default via {gateway}",
    ):
        subprocess.run(line.split(), check=True)
    child.communicate(b"\n")


@kind
def flaps(name: str, up: str, down: str) -> None:
    """A loose plug."""
    while True:
        for state, seconds in (("up", up), ("down", down)):
            subprocess.run(["ip", "link", "set", name, state], check=False)
            time.sleep(float(seconds))


def _become(program: str, *words: str) -> None:
    from live.limits import programs

    os.execv(sys.executable, [sys.executable, "-c", getattr(programs, program), *words])
