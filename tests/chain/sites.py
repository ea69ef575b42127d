"""The places of the chain: a controller, an address to measure to, and three hosts.

Each host is a systemd of its own with its own network, mounts, name, users, /root, /home, /opt and
/var/lib, an SSH server, a journal and Debian's node_exporter. nettop is installed in /opt as a user
installs it: a virtual environment and the wheel. Ansible and Prometheus run in the network
namespace of the controller, whose bridge joins the hosts.
"""

import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from systemd_machine import SYSTEMD, Machine

HOSTS: Final = ("alpha", "beta", "gamma")
ADDRESS: Final = {name: f"10.81.0.{at}" for at, name in enumerate(HOSTS, 1)}
TARGET: Final = "10.81.0.253"  # the address to which the canary measures
CONTROLLER: Final = "10.81.0.254"
USER: Final = "admin"  # who logs in on the hosts, and becomes root by sudo
NETTOP: Final = "/opt/nettop/bin/nettop"
PYTHON: Final = "/usr/bin/python3"
NEEDS: Final = (
    "ansible-playbook", "ansible-galaxy", "ansible-lint", "chromium", "ethtool", "ip",
    "prometheus", "prometheus-node-exporter", "promtool", "ssh", "ssh-keygen", "sshd", "sudo", "tc",
    "unshare", SYSTEMD, PYTHON,
)  # fmt: skip
# a warning with losses or without; a window of 64 KiB fills this short path all the same
FAULT: Final = "net.ipv4.tcp_window_scaling"
BASE: Final = f"nt-chain-{os.getpid()}"
# Every packet of the path to TARGET costs as much as 3,000 bytes more, so that packets that TCP
# segments itself are slower than those that are segmented behind it; nothing is ever dropped.
COST: Final = (
    "qdisc add dev target root stab overhead 3000 linklayer ethernet "
    "tbf rate 400mbit burst 256kb limit 64mb"
)
SSH_CONFIG: Final = """\
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
Port 22
UsePAM no
StrictModes no
PermitRootLogin yes
Subsystem sftp internal-sftp
"""
SERVE: Final = (
    'hostname target; mkdir -p /run/sshd "$1/etc"; cp -a /etc/. "$1/etc"; '
    'mount --bind "$1/etc" /etc; cp "$1/shadow" /etc; '
    'exec /usr/sbin/sshd -D -f "$1/config" -E "$1/log.target"'
)
# the links come from the namespace of the bridge, once this one exists
NETWORK: Final = "ip link set lo up"
PREPARE: Final = """
for place in /var/lib /var/log /opt /root /home; do mount -t tmpfs -o mode=755 none $place; done
mkdir -p /run/sshd /opt/nettop /home/{user} /var/lib/prometheus/node-exporter
mount --bind {folder}/nettop /opt/nettop
mkdir /run/etc
cp -a /etc/. /run/etc
mount --bind /run/etc /etc  # files mounted one by one would go when others write them anew
cp {folder}/passwd {folder}/shadow /etc
echo '{user} ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/nettop
chown {user} /home/{user}
mkdir -p /run/systemd/journald.conf.d
cd /run/systemd/journald.conf.d
printf '[Journal]\\nStorage=volatile\\nReadKMsg=no\\nAudit=no\\n' > a.conf
cd /etc/systemd/system
cp /lib/systemd/system/prometheus-node-exporter.service .
cat > systemd-journald.socket <<'END'
[Unit]
DefaultDependencies=no
[Socket]
ListenStream=/run/systemd/journal/stdout
ListenDatagram=/run/systemd/journal/socket
PassCredentials=yes
END
cat > systemd-journald.service <<'END'
[Unit]
DefaultDependencies=no
[Service]
Type=notify
Sockets=systemd-journald.socket
ExecStart=/lib/systemd/systemd-journald
END
cat > ssh.service <<'END'
[Unit]
DefaultDependencies=no
[Service]
ExecStart=/usr/sbin/sshd -D -e -f {folder}/config
KillMode=process
END
# a host that serves somebody: 250 packets a second
cat > traffic.service <<'END'
[Unit]
DefaultDependencies=no
[Service]
ExecStart={folder}/traffic {controller}
Restart=always
END
cd /
"""
TRAFFIC: Final = f"""\
#!{PYTHON}
import socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    while True:
        for _ in range(25):
            sender.sendto(bytes(100), (sys.argv[1], 9))
        time.sleep(0.1)
"""
SERVICES: Final = (
    "systemd-journald.socket", "systemd-journald.service", "ssh.service",
    "prometheus-node-exporter.service", "traffic.service",
)  # fmt: skip


def lacking() -> str:
    """The programs that the chain needs and this machine lacks, in a sentence; empty if none."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin:/sbin:/bin"
    absent = [name for name in NEEDS if shutil.which(name, path=path) is None]
    if os.geteuid() != 0:
        return "it needs root: it makes namespaces"
    return f"it needs {', '.join(absent)}" if absent else ""


def run(*words: str, seconds: float = 60) -> str:
    """The output of a command; AssertionError with its messages if it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=seconds)
    assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def at_controller(*words: str) -> list[str]:
    """The command in the network namespace of the controller."""
    return ["ip", "netns", "exec", f"{BASE}-ctl", *words]


def install(folder: Path, wheel: Path) -> None:
    """Install nettop with its metrics into `folder`, where it is /opt/nettop for the installer."""
    folder.mkdir()
    inside = (
        'mount -t tmpfs none /opt; mkdir /opt/nettop; mount --bind "$1" /opt/nettop; '
        f"{PYTHON} -m venv /opt/nettop; "
        '/opt/nettop/bin/pip install --quiet --disable-pip-version-check "$2[metrics]"'
    )
    words = ["unshare", "--mount", "sh", "-euc", inside, "sh", str(folder), str(wheel)]
    run(*words, seconds=600)


class Host:
    """One of the three hosts."""

    def __init__(self, name: str, machine: Machine) -> None:
        self.name = name
        self.machine = machine
        self.address = ADDRESS[name]
        machine.environment.pop("NETTOP_STATE", None)  # each has its own /var/lib/nettop

    def __call__(self, *words: str) -> str:
        """The output of a command as root on this host; AssertionError if it fails."""
        done = self.machine.run(*words)
        assert done.returncode == 0, (self.name, words, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout

    def fault(self, *, there: bool) -> None:
        """Set what the rules complain of, or set it back, as somebody who is not nettop."""
        self("sysctl", "-q", "-w", f"{FAULT}={int(not there)}")
        self("ethtool", "-K", "eth0", "tso", "off" if there else "on")

    def settings(self) -> tuple[str, str]:
        """Window scaling and segmentation offload as they are now, each `on` or `off`."""
        scaling = self("sysctl", "-n", FAULT).strip()
        rows = self("ethtool", "-k", "eth0").splitlines()
        offload = next(row for row in rows if "tx-tcp-segmentation:" in row).split()[1]
        return ("off", "on")[int(scaling)], offload


@contextmanager
def sites(folder: Path) -> Iterator[list[Host]]:
    """The hosts, once everything in them is up; it is all taken away afterwards."""
    _files(folder)
    with ExitStack() as stack:
        for place in ("ctl", "target"):
            run("ip", "netns", "add", f"{BASE}-{place}")
            stack.callback(_remove, f"{BASE}-{place}")
        inside = ("ip", "-n", f"{BASE}-ctl")
        run(*inside, "link", "add", "bridge0", "type", "bridge")
        hosts = []
        for name in HOSTS:
            place = shlex.quote(str(folder))
            more = PREPARE.format(folder=place, user=USER, controller=CONTROLLER)
            machine = Machine(folder, more, name=name, network=NETWORK)
            stack.callback(machine.end)
            hosts.append(Host(name, machine))
        for host in hosts:
            why = host.machine.comes_up()
            assert not why, f"systemd does not come up on {host.name}: {why}"
            host("hostname", host.name)  # systemd takes that of /etc at its start
            _join(inside, host.name, host.machine.first(), host.address)
        _target(inside, stack, folder)
        for name in ("lo", "bridge0"):
            run(*inside, "link", "set", name, "up")
        run(*inside, "addr", "add", f"{CONTROLLER}/24", "dev", "bridge0")
        for host in hosts:
            for service in SERVICES:
                host("systemctl", "start", service)
        yield hosts


def _files(folder: Path) -> None:
    """Keys, users and the configuration of the SSH servers."""
    for name in ("host", "user"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name))
    (folder / "config").write_text(SSH_CONFIG.format(folder=folder))
    (folder / "traffic").write_text(TRAFFIC)
    os.chmod(folder / "traffic", 0o755)
    passwd = Path("/etc/passwd").read_text()
    (folder / "passwd").write_text(f"{passwd}{USER}:x:1500:1500::/home/{USER}:/bin/sh\n")
    locked = ("root", USER, "prometheus")
    rows = "".join(f"{name}:*:20000:0:99999:7:::\n" for name in locked)
    (folder / "shadow").write_text(rows)
    os.chmod(folder / "shadow", 0o600)


def _join(inside: tuple[str, ...], name: str, netns: str, address: str) -> None:
    """A link from the bridge to eth0 of a namespace, by its name or the number of a process."""
    run(*inside, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", netns)
    run(*inside, "link", "set", name, "master", "bridge0", "up")
    enter = ["nsenter", f"--net=/proc/{netns}/ns/net"] if netns.isdigit() else None
    enter = enter or ["ip", "netns", "exec", netns]
    run(*enter, "ip", "addr", "add", f"{address}/24", "dev", "eth0")
    run(*enter, "ip", "link", "set", "eth0", "up")


def _target(inside: tuple[str, ...], stack: ExitStack, folder: Path) -> None:
    """The other end of the canary's measurement, behind a link where packets are dear."""
    space = f"{BASE}-target"
    _join(inside, "target", space, TARGET)
    run("ip", "-n", space, "link", "set", "lo", "up")
    run("tc", "-n", f"{BASE}-ctl", *COST.split())
    # the receiver bounds what is on the way, so that the dear link has no long queue
    bound = "net.ipv4.tcp_rmem=4096 131072 1048576"
    run("ip", "netns", "exec", space, "sysctl", "-q", "-w", bound)
    words = ["ip", "netns", "exec", space, "unshare", "--uts", "--mount", "sh", "-euc", SERVE]
    server = subprocess.Popen([*words, "sh", str(folder)])
    stack.callback(server.wait)
    stack.callback(server.kill)


def _remove(space: str) -> None:
    """A namespace and the processes that are left in it."""
    words = ("ip", "netns", "pids", space)
    left = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    for pid in map(int, left.split()):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    subprocess.run(["ip", "netns", "del", space], check=False)


@contextmanager
def cut_by_the_change(host: Host) -> Iterator[None]:
    """The link of this host is down while scaling is on there: the change costs the connection."""
    loop = (
        f"while sleep 0.2; do read now </proc/sys/{FAULT.replace('.', '/')}; wanted=up; "
        'if [ "$now" = 1 ]; then wanted=down; fi; if [ "$wanted" != "${state:-up}" ]; then '
        f'ip -n {BASE}-ctl link set {host.name} "$wanted"; state=$wanted; fi; done'
    )
    words = ["nsenter", f"--net=/proc/{host.machine.first()}/ns/net", "sh", "-c", loop]
    process = subprocess.Popen(words)
    try:
        yield
    finally:
        process.kill()
        process.wait()
        run("ip", "-n", f"{BASE}-ctl", "link", "set", host.name, "up")


def until(seconds: float, what: str, holds: Callable[[], object]) -> float:
    """Seconds until `holds` is true; AssertionError with `what` after so many seconds."""
    begun = time.monotonic()
    while not holds():
        assert time.monotonic() < begun + seconds, what
        time.sleep(0.5)
    return time.monotonic() - begun
