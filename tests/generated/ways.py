"""Random configurations of a host: does `nettop why --to` agree with a real packet?

`ways.py [COUNT] [FIRST]`, as root. Three namespaces: a client behind the host, the host, a server
beyond it. The host gets settings at random, harmless ones and faults; a connection is tried (or a
datagram that asks for an answer), the way is walked, and the connection is tried again. It agrees
if the packet arrives exactly where nothing stops it. `doubt`: it does not arrive, and the way names
something that may decide it; `beyond`: a gateway decides it, which the host cannot know. Each
disagreement is printed with what stages it; the exit code is 1 if there is one. `--record FOLDER`
writes the answers of each host, which `test_ways.py` judges again.
"""

import argparse
import gzip
import json
import os
import re
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "support")]

from generated.way_stage import (
    BEYOND,
    CLIENT,
    CLIENTS,
    FORMS,
    HOST,
    INSIDE,
    LONG,
    NOBODY,
    OUTSIDE,
    PORTS,
    SERVER,
    SERVES,
    WAIT,
    Rule,
    apart,
    attempt,
    clear,
    filtered,
    lay_out,
    run,
    serving,
)  # fmt: skip

from nettop.commands import _way
from nettop.facts.way import HIDDEN, SUSPECT, Flow
from nettop.host.recording import Record
from nettop.host.source import Live, Source

RECORDED: Final = Path(__file__).parent / "ways"
TABLES: Final = ("addresses", "links", "qdiscs", "sockets_tcp", "sockets_udp")  # no process
# Settings: `{a|b}` draws one, words in capitals are places of the drawn host, `; ` separates
# commands, `# ` is a command of the server. Lines with 4 or 6 are of that family alone.
SETTINGS: Final = """
ip F route add KIND TO
ip F route add KIND TO metric {1|50|2000}; ip F route add TO via VIA
ip F route add KIND default
ip F rule add to TO KIND priority {10|40000}
ip F rule add from {INSIDE|CLIENT|OUTSIDE} KIND priority 20
ip F rule add iif {lo|eth1|eth0} KIND priority 20
ip F rule add oif {eth0|eth1} KIND priority 20
ip F rule add ipproto {tcp|udp} dport {7000|7001} KIND priority 20
ip F rule add fwmark {0|7} KIND priority 20
ip F rule add to TO lookup 50 priority 30; ip F route add {TO|default} via VIA table 50
ip F rule add to TO lookup 50 priority 30; ip F route add KIND default table 50
ip F rule add lookup main suppress_prefixlength {0|31|63} priority 100
ip F rule add lookup main suppress_prefixlength 0 priority 100; ip F rule del priority 32766
ip F rule add uidrange 1000-2000 KIND priority 20
ip F rule add goto 300 priority 20; ip F rule add KIND priority 21; ip F rule add priority 300
ip F route replace TO dev {eth0|eth1}
ip F route replace TO via {VIA|NOBODY|CLIENT}
ip F route replace TO via NOBODY dev eth0 onlink
ip F route replace TO via VIA src {INSIDE|OUTSIDE}
ip nexthop add id 9 {blackhole|via VIA dev eth0}; ip F route replace TO nhid 9
ip F addr flush dev {eth0|eth1} scope global
ip addr del INSIDE/WIDE dev eth0; ip addr add INSIDE/ALONE dev eth0
ip addr del INSIDE/WIDE dev eth0; ip addr add INSIDE/WIDE dev eth0 noprefixroute nodad
ip addr add TO dev lo
ip link set {eth0|eth1|lo} down
# ip link set eth0 down
# ip link set eth0 arp off
ip link set eth0 arp off
ip link set eth0 mtu {1280|9000}
ip neigh replace {VIA|TO} lladdr 02:00:00:00:00:99 dev eth0
ip neigh replace VIA lladdr 02:00:00:00:00:02 dev eth0 nud {permanent|noarp|stale}
tc qdisc add dev {eth0|eth1} root {blackhole|pfifo limit 100|fq_codel|prio|sfq}
tc qdisc add dev {eth0|eth1} root tbf rate 1mbit burst {60|20k} latency 10ms
tc qdisc add dev eth0 root handle 1: htb default 7; tc class add dev eth0 parent 1: classid 1:7 htb rate 9mbit
ip xfrm policy add dst TO dir out action {block|allow}
ip xfrm policy add dst TO dir {in|fwd} action block
ip xfrm policy add src INSIDE dir out proto {tcp|udp} action block
ip xfrm policy add dst TO dir out tmpl dst BARE proto esp mode transport
ip link add br0 type bridge; ip link set br0 up; ip link set eth0 master br0
ip link add p0 type veth peer p1; ip link set p0 up; ip F route replace TO dev p0
ip link add mv0 link eth0 type macvlan mode {bridge|private}; ip link set mv0 up; ip F route replace TO dev mv0
4 ip rule add uidrange 0-0 KIND priority 20
4 sysctl -qw net.ipv4.conf.{all|eth1|eth0}.rp_filter={0|1|2}
4 sysctl -qw net.ipv4.conf.{eth0|eth1}.forwarding={0|1}
4 sysctl -qw net.ipv4.conf.{all|eth1}.accept_local={0|1}
4 sysctl -qw net.ipv4.conf.all.arp_ignore={1|2|8}
4 sysctl -qw net.ipv4.conf.all.rp_filter=1; ip route add CLIENT dev eth0
4 sysctl -qw net.ipv4.conf.eth1.rp_filter=1; ip route add CLIENT via VIA
6 sysctl -qw net.ipv6.conf.{eth0|eth1}.disable_ipv6=1
6 sysctl -qw net.ipv6.conf.{eth0|eth1}.forwarding={0|1}
6 sysctl -qw net.ipv6.bindv6only={0|1}
6 ip addr replace INSIDE/64 dev eth0 preferred_lft 0 nodad
"""  # noqa: E501
BINDS: Final = ("", "", "", "0.0.0.0", "::", "v6only", "127.0.0.1", "%eth1", "%eth0", "none",
                *INSIDE.values(), *OUTSIDE.values())  # fmt: skip


class Drawn(NamedTuple):
    """What is asked of a host, and how it is staged."""

    family: int
    to: str
    port: int
    arrives: bool  # the client sends, not the host
    udp: bool
    commands: tuple[str, ...]
    rules: tuple[Rule, ...]
    binds: tuple[str, ...]  # listeners of the host, one for each port

    @property
    def flow(self) -> Flow:
        """As the command line asks."""
        origin, on = (CLIENTS[self.family], "eth1") if self.arrives else ("", "")
        return Flow(self.to, self.port, origin, on, 0, "udp" if self.udp else "tcp")


def drawn(seed: int) -> Drawn:
    """The host of a seed."""
    draw = Random(f"way {seed}")
    family = draw.choice((4, 4, 6))
    side = draw.choice(("out", "out", "through", "in", "local"))
    near, far = (OUTSIDE, INSIDE), (SERVES, BEYOND)
    to = draw.choice({"out": (*far, *far, NOBODY), "through": far}.get(side, near))[family]
    forwards = "net.ipv4.ip_forward" if family == 4 else "net.ipv6.conf.all.forwarding"
    behind = "10.97.0.0/24" if family == 4 else "fd97::/64"
    commands = [
        f"ip -{family} route add {behind} via {SERVES[family]}",
        f"sysctl -qw {forwards}={int(side != 'through' or draw.random() < 0.85)}",
    ]
    lines = [line for line in SETTINGS.splitlines()
             if line and (not line[0].isdigit() or line[0] == str(family))]  # fmt: skip
    for _ in range(draw.choice((0, 1, 1, 2, 3))):
        commands += _commands(draw, draw.choice(lines).removeprefix(f"{family} "), family, to)
    return Drawn(
        family, to, draw.choice(PORTS), side in ("in", "through"), draw.random() < 0.2,
        tuple(commands), tuple(_rules(draw, family)), tuple(draw.choice(BINDS) for _ in PORTS),
    )  # fmt: skip


def _commands(draw: Random, line: str, family: int, to: str) -> list[str]:
    """The commands of a setting."""
    wide, alone = ("24", "32") if family == 4 else ("64", "128")
    words = {
        "F": f"-{family}", "TO": f"{to}/{alone}", "BARE": to, "VIA": SERVES[family],
        "NOBODY": NOBODY[family], "CLIENT": CLIENTS[family], "INSIDE": INSIDE[family],
        "OUTSIDE": OUTSIDE[family], "WIDE": wide, "ALONE": alone,
        "KIND": draw.choice(("blackhole", "unreachable", "prohibit")),
    }  # fmt: skip
    line = re.sub(r"\{([^}]*)\}", lambda found: draw.choice(found[1].split("|")), line)
    return re.sub(r"\b[A-Z]+\b", lambda found: words[found[0]], line).split("; ")


def _rules(draw: Random, family: int) -> list[Rule]:
    """Rules of the packet filter, and of the translation of addresses."""
    rules = []
    hooks = ("prerouting", "input", "forward", "output", "postrouting")
    if draw.random() < 0.3:
        hook, match = draw.choice(hooks), draw.choice(("7000", "7001", "any", "udp", "tcp"))
        does, form = draw.choice(("drop", "drop", "accept")), draw.choice(FORMS)
        rules.append(Rule(hook, match, does, form=form))
        if rules[0].does == "accept" and draw.random() < 0.5:
            rules.append(Rule(hook, "policy", "drop"))
    if draw.random() < 0.2:
        hook = draw.choice(("prerouting", "output", "postrouting"))
        does = "masquerade" if hook == "postrouting" else draw.choice(("dnat", "dnat", "redirect"))
        to = draw.choice((SERVES, SERVES, BEYOND, NOBODY, INSIDE))[family]
        rules.append(Rule(hook, str(draw.choice(PORTS)), does, to))
    return rules


class Played(NamedTuple):
    """What the way says of a host, and what a packet met."""

    verdict: str  # agrees, disagrees, doubt, beyond
    met: str  # "open", or the error
    headline: str
    staged: tuple[str, ...]


def play(seed: int, folder: Path | None = None) -> Played:
    """Stage the host of a seed, walk the way, and try it."""
    made = drawn(seed)
    clear()
    lay_out()
    staged = [line for line in made.commands if _set(line)]
    if apart(HOST, lambda: filtered(made.rules)):
        staged += [f"nft {' '.join(rule)}" for rule in made.rules]
    client = CLIENT if made.arrives else HOST
    own = " ".join((*SERVES.values(), *BEYOND.values()))
    with serving(SERVER, (own, own)), serving(HOST, made.binds):
        apart(client, lambda: attempt(made.to, made.port, WAIT, udp=made.udp))
        found = apart(HOST, lambda: _walked(made, Live()))
        # where nothing stops it, a neighbour may have been asked too early
        wait = WAIT if found["stops"] else LONG
        met = apart(client, lambda: attempt(made.to, made.port, wait, udp=made.udp))
        verdict = _verdict(made, staged, met, found)
        if folder is not None and verdict == "agrees":
            apart(HOST, lambda: _record(made, seed, met, folder))
    return Played(verdict, met, found["headline"], tuple(staged))


def _set(line: str) -> bool:
    """Run one command of a setting; whether the kernel took it."""
    place = SERVER if line.startswith("# ") else HOST
    return run(f"ip netns exec {place} {line.removeprefix('# ')}", check=False)


def _walked(made: Drawn, source: Source) -> dict[str, object]:
    _, way = _way.ask_way(source, made.flow, TABLES)
    return {"headline": way.headline, "stops": way.decider is not None,
            "doubts": bool(way.of(HIDDEN) or way.of(SUSPECT))}  # fmt: skip


def _record(made: Drawn, seed: int, met: str, folder: Path) -> None:
    flow = made.flow
    asked = [flow.to, flow.port, flow.origin, flow.arrives, flow.mark, flow.protocol]
    source = Record(Live(), comment=json.dumps([*asked, met]))
    _walked(made, source)
    raw = source.archive().encode()
    (folder / f"{seed}.host.gz").write_bytes(gzip.compress(raw, mtime=0))


def _verdict(made: Drawn, staged: list[str], met: str, found: dict[str, object]) -> str:
    if found["stops"] != (met == "open"):
        return "agrees"
    text = "\n".join(staged[1:])
    nobody = made.to in NOBODY.values() and (" via " in text or "nhid" in text)
    if nobody or f"via {CLIENTS[made.family]}" in text:
        return "beyond"
    return "doubt" if found["doubts"] and not found["stops"] else "disagrees"


def main() -> int:
    """Play the hosts of so many seeds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("count", nargs="?", type=int, default=500)
    parser.add_argument("first", nargs="?", type=int, default=0)
    parser.add_argument("--record", type=Path)
    args = parser.parse_args()
    if os.geteuid() != 0:
        print("needs root: it makes network namespaces")
        return 75
    tally: Counter[str] = Counter()
    try:
        for seed in range(args.first, args.first + args.count):
            one = play(seed, args.record)
            tally[f"{one.verdict}, {'open' if one.met == 'open' else 'not'}"] += 1
            if one.verdict == "disagrees":
                print(
                    f"{seed}: met {one.met}; said: {one.headline}",
                    f"  {drawn(seed)._replace(commands=())}",
                    *(f"    {line}" for line in one.staged), sep="\n", flush=True,
                )  # fmt: skip
    finally:
        clear()
    print(", ".join(f"{number} {name}" for name, number in tally.most_common()))
    return int(any(name.startswith("disagrees") for name in tally))


if __name__ == "__main__":
    sys.exit(main())
