"""What nettop prints for others does what it does itself: commands, script, files and playbook.

Every kind of setting that a network namespace has. Each is made with `nettop set`, and what the
system's own tools then say is what must be said again after every other way.
"""

import re
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playground import Playground, commands, plug_in

pytestmark = [pytest.mark.netns, pytest.mark.needs("ethtool", "tc", "taskset", "ps")]
ODD = "a{{b}};'$x`"  # nothing in a name may mean anything to a shell, to YAML or to Jinja
WANTED = {
    "sysctl.net.ipv4.tcp_rmem": "4096 131072 67108864",
    "sysctl.net.ipv4.conf.v/100.rp_filter": "2",
    "sysctl.net.ipv4.ip_local_reserved_ports": "5001,5201-5203",
    "feature.rx-gro@va": "on",
    "feature.tx-checksum-ip-generic@va": "off",
    "link.mtu@va": "9000",
    "link.txqueuelen@va": "5000",
    "link.gso-max-size@va": "32768",
    "link.promisc@va": "on",
    f"link.txqueuelen@{ODD}": "70",
    "rps.cpus@va/rx-0": "0-1",
    f"rps.cpus@{ODD}/rx-0": "0",
    "rps.flow-cnt@va/rx-1": "4096",
    "xps.cpus@va/tx-1": "1",
    "xps.rxqs@va/tx-2": "0,3",
    "napi.defer-hard-irqs@va": "2",
    "napi.gro-flush-timeout@va": "20000",
    "napi.threaded@va": "on",
    "qdisc.root@va": "pfifo limit 500",
    "qdisc.root@vc": "pfifo",  # which has another limit there
    "qdisc.leaves@vd": "pfifo limit 70",
    "channels.rx@vd": "2",
    "route.initcwnd@10.78.0.0/24": "20",
    "route.rto_min@10.78.0.0/24": "5",
    "route.quickack@10.78.0.0/24": "on",
    "route.initcwnd@default": "30",
    "route.initrwnd@10.79.0.0/24": "40",
    "route.initcwnd@default6": "20",
}
# ansible takes half a second for each: one for every kind of task
PLAYED = {
    "sysctl.net.ipv4.conf.v/100.rp_filter",
    "feature.rx-gro@va",
    f"link.txqueuelen@{ODD}",
    f"rps.cpus@{ODD}/rx-0",
    "qdisc.leaves@vd",
    "channels.rx@vd",
    "route.initrwnd@10.79.0.0/24",
}
PAIRS = """
set -e
ip link add vc numtxqueues 2 type veth peer name vd numtxqueues 2 numrxqueues 4
ip link add name "$1" type veth peer name ve
ip link add v.100 type veth peer name vf
for one in vc vd ve "$1"; do ip link set "$one" up; done
ip address add 10.78.0.1/24 dev vd
ip -6 address add fd00::1/64 dev vd nodad
ip -6 route add default via fd00::2 dev vd proto ra metric 1024 expires 1700
ip route add default via 10.78.0.2 dev vd src 10.78.0.1 mtu 1400
ip route add 10.79.0.0/24 nexthop via 10.78.0.2 dev vd nexthop via 10.78.0.3 dev vd weight 5
tc qdisc replace dev vc root pfifo limit 300
tc qdisc replace dev vd root handle 1: mq
"""
SHOWN = """
set -e
for one in va vb vc vd "$1"; do
  ip -details link show dev "$one"; ethtool -k "$one"; ethtool -l "$one"; tc qdisc show dev "$one"
  cd "/sys/class/net/$one"
  grep -r . queues/*/*ps_* gro_flush_timeout napi_defer_hard_irqs threaded || :
done
ip route show
ip -6 route show default
sysctl net.ipv4.tcp_rmem net.ipv4.ip_local_reserved_ports net.ipv4.conf.v/100.rp_filter
ps -o ni= -p "$2"
taskset -p "$2"
"""
# what the kernel numbers anew whenever it is made
_LEFT = (r"expires 1\d{3}sec", "expires soon")
_NUMBERED = (r"(qdisc \w+|parent) [0-9a-f]+:", r"\1 :")


class Shown(NamedTuple):
    """What the tools said before and after, and the commands that nettop told."""

    before: str
    after: str
    told: list[str]


class Host(Playground):
    """The playground with more interfaces, and a process to be moved."""

    @property
    def process(self) -> dict[str, str]:
        """What is of this moment only."""
        return {f"nice.value@{self.holder.pid}": "3", f"process.affinity@{self.holder.pid}": "0"}

    def shown(self) -> str:
        said = self.see("sh", "-c", SHOWN, "sh", ODD, str(self.holder.pid))
        rows = re.sub(*_LEFT, re.sub(*_NUMBERED, said)).splitlines()
        return "\n".join(sorted(row for row in rows if "link/ether" not in row))  # udev gives it

    def export(self, how: str, but: Collection[str] = ()) -> tuple[str, list[str]]:
        """The text, and the settings that were left out."""
        wanted = {one: value for one, value in (WANTED | self.process).items() if one not in but}
        pairs = [f"{setting}={value}" for setting, value in wanted.items()]
        code, out, err = self.plain("export", "--format", how, *pairs)
        assert code == (4 if err else 0), err
        return out, re.findall(r"nettop: the format \S+ cannot express (.+)", err)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    made = Host("export", tmp_path_factory.mktemp("state"))
    try:
        plug_in(made)
        made.see("sh", "-c", PAIRS, "sh", ODD)
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module")
def shown(host: Host) -> Shown:
    """Before, after nettop did it; and it is as before again."""
    before, told = host.shown(), []
    for setting, value in (WANTED | host.process).items():
        (made,) = host.nettop("set", setting, value)["changes"]
        if made["state"] == "pending":
            (made,) = host.nettop("confirm")["changes"]
        assert made["state"] == "applied", made
        told.append(made["shell"])
    after = host.shown()
    undone = host.nettop("undo", "--all")["changes"]
    assert {made["state"] for made in undone} == {"undone", "pending"}
    assert {made["state"] for made in host.nettop("confirm")["changes"]} == {"undone"}
    assert host.shown() == before
    return Shown(before, after, told)


def test_the_commands_that_are_told_do_the_same(host: Host, shown: Shown) -> None:
    script, left = host.export("shell")
    assert left == []
    for line in shown.told:
        host.see("sh", "-c", line)
    assert host.shown() == shown.after
    host.see("sh", "-c", script, "sh", "undo")
    assert host.shown() == shown.before


def test_the_script_does_the_same_and_takes_it_back(host: Host, shown: Shown) -> None:
    script, _ = host.export("shell")
    for argument, then in (("apply", shown.after), ("undo", shown.before)):
        for _ in range(2):
            host.see("sh", "-c", script, "sh", argument)
            assert host.shown() == then


def test_the_files_of_systemd_do_the_same(host: Host, shown: Shown) -> None:
    script, _ = host.export("shell")
    text, left = host.export("systemd")
    rest = {f"link.txqueuelen@{ODD}": "70"} | host.process  # such a name would match others there
    assert left == list(rest)
    parts = re.split(r"(?m)^# ---- (.+)\n", text)
    files = dict(zip(parts[1::2], parts[2::2], strict=True))
    try:
        for path, body in files.items():
            host.see("sh", "-c", 'printf %s "$1" > "$2"', "sh", body, path)
        for path in files:
            if path.endswith(".conf"):
                host.see("sysctl", "-q", "-p", path)
        links = [re.search(r"10-nettop-(.*)\.link", path) for path in files]
        for nic in [one[1] for one in links if one]:
            host.see("udevadm", "test-builtin", "net_setup_link", f"/sys/class/net/{nic}")
        for words in (words for body in files.values() for words in commands(body)):
            host.see(*words)
        for setting, value in rest.items():
            host.nettop("set", setting, value)
        assert host.shown() == shown.after
    finally:
        host.see("rm", *files)
    host.see("sh", "-c", script, "sh", "undo")
    assert host.shown() == shown.before


def test_the_lines_of_sysctl_do_the_same(host: Host, shown: Shown) -> None:
    script, _ = host.export("shell")
    text, left = host.export("sysctl")
    assert left == [one for one in WANTED | host.process if not one.startswith("sysctl.")]
    host.see("sh", "-c", 'printf %s "$1" | sysctl -q -p -', "sh", text)

    def parameters(said: str) -> list[str]:
        return [row for row in said.splitlines() if row.startswith("net.")]

    assert parameters(host.shown()) == parameters(shown.after)
    host.see("sh", "-c", script, "sh", "undo")
    assert host.shown() == shown.before


@pytest.mark.package
@pytest.mark.needs("ansible-playbook")
def test_the_playbook_does_the_same_and_takes_it_back(
    host: Host, shown: Shown, tmp_path: Path
) -> None:
    rest, _ = host.export("shell", PLAYED)
    text, left = host.export("ansible", set(WANTED) - PLAYED)
    assert left == list(host.process)
    book = tmp_path / "book.yml"
    book.write_text(text)
    host.environment |= {"HOME": str(tmp_path), "ANSIBLE_PIPELINING": "1"}

    def play(*more: str) -> tuple[int, int]:
        """How many tasks were done, and how many changed something."""
        words = ["ansible-playbook", "-c", "local", "-i", "localhost,", str(book), *more]
        words += ["-e", f"ansible_python_interpreter={sys.executable}"]
        said = host.see(*words)
        recap = re.search(r"ok=(\d+) +changed=(\d+) +unreachable=0 +failed=0", said)
        assert recap, said
        return int(recap[1]), int(recap[2])

    assert play() == (len(PLAYED), len(PLAYED))
    assert play() == (len(PLAYED), 0)
    host.see("sh", "-c", rest)
    assert host.shown() == shown.after
    host.see("sh", "-c", rest, "sh", "undo")
    sysctls = sum(one.startswith("sysctl.") for one in PLAYED)  # out of the file, and out of force
    assert play("--tags", "undo") == (len(PLAYED) + sysctls,) * 2
    assert host.shown() == shown.before
    assert host.see("sh", "-c", "cat /etc/sysctl.d/*").strip() == ""


def test_what_the_host_would_refuse_is_not_exported(host: Host) -> None:
    code, out, err = host.plain("export", "link.mtu@va=70000")
    assert (code, out) == (4, "")
    assert "cannot exceed 65535" in err
