"""The roles against three real SSH servers, one of which loses its link by the change.

Each host has its own network, mounts and name, and its own /var/lib/nettop. The controller is in a
fourth namespace with a bridge.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from changes_netns import expire, no_guard, run
from hang import HANG, until

from nettop.fleet.ansible import write_collection

SSHD, BIN = "/usr/sbin/sshd", Path(sys.executable).parent
PLAYBOOK = shutil.which("ansible-playbook", path=f"{BIN}:{os.environ['PATH']}")
pytestmark = [
    pytest.mark.package,
    pytest.mark.netns,
    pytest.mark.skipif(
        not (os.path.exists(SSHD) and shutil.which("ssh") and PLAYBOOK),
        reason="needs an SSH server and client, and ansible-core (pip install 'nettop[dev]')",
    ),
]
HOSTS = ("alpha", "beta", "gamma")
BASE = f"nt-fleet-{os.getpid()}"
SERVE = (
    'hostname "$2"; mkdir -p /run/sshd /var/lib/nettop; mount --bind "$1/shadow" /etc/shadow; '
    'mount --bind "$1/$2" /var/lib/nettop; exec /usr/sbin/sshd -D -f "$1/config" -E "$1/log.$2"'
)
SLOW, FAST = "1500", "1400"  # the MTU before and after the change


def mtu(host: str) -> str:
    return run("ip", "netns", "exec", f"{BASE}-{host}", "cat", "/sys/class/net/eth0/mtu").strip()


class Controller:
    """Runs playbooks of the collection in the namespace of the bridge."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ, "HOME": str(folder), "ANSIBLE_HOME": str(folder / "ansible"),
            "ANSIBLE_REMOTE_TEMP": str(folder / "remote"),  # not in the home of the hosts' root
            "ANSIBLE_ASYNC_DIR": str(folder / "async"),
            "ANSIBLE_COLLECTIONS_PATH": str(folder), "ANSIBLE_NOCOLOR": "true",
            "ANSIBLE_PIPELINING": "true", "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(folder / "cp"),
            "PATH": f"{BIN}:/usr/bin:/usr/sbin:/bin",
        }  # fmt: skip

    def play(
        self, name: str, *options: str, **values: object
    ) -> tuple[int, dict[str, dict[str, int]], str]:
        """Exit code, statistics by host, and the whole output."""
        done = subprocess.run(
            ["ip", "netns", "exec", f"{BASE}-ctl", str(PLAYBOOK), f"nettop.nettop.{name}",
             "-i", str(self.folder / "inventory.yml"), "-e", json.dumps(values), *options],
            env=self.environment, capture_output=True, text=True, check=False, timeout=HANG,
        )  # fmt: skip
        recap = done.stdout.partition("PLAY RECAP")[2]
        stats = {
            line.split()[0]: {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", line)}
            for line in recap.splitlines()
            if "ok=" in line
        }
        return done.returncode, stats, done.stdout + done.stderr


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    folder = tmp_path_factory.mktemp("fleet")
    write_collection(str(folder / "ansible_collections/nettop/nettop"))
    for name in ("host", "user"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name))
    (folder / "shadow").write_text("root:*:20000:0:99999:7:::\n")
    (folder / "config").write_text(
        f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\nPidFile none\n"
        "Port 22\nUsePAM no\nStrictModes no\nPermitRootLogin yes\n"
        "Subsystem sftp internal-sftp\n"
    )
    common = {
        "ansible_user": "root", "ansible_become": False, "ansible_port": 22,
        "ansible_python_interpreter": sys.executable,
        "ansible_ssh_private_key_file": str(folder / "user"),
        "ansible_ssh_common_args": "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
        "-o LogLevel=ERROR",
        "audit_program": str(BIN / "nettop"), "audit_folder": str(folder / "audit"),
        "audit_seconds": 1, "tune_program": str(BIN / "nettop"), "tune_seconds": 1,
        "tune_confirm": 600, "undo_program": str(BIN / "nettop"), "undo_confirm": 600,
    }  # fmt: skip
    addresses = {name: {"ansible_host": f"10.81.0.{at}"} for at, name in enumerate(HOSTS, 1)}
    (folder / "inventory.yml").write_text(json.dumps({"all": {"hosts": addresses, "vars": common}}))
    servers = []
    try:
        run("ip", "netns", "add", f"{BASE}-ctl")
        inside = ("ip", "-n", f"{BASE}-ctl", "link")
        run(*inside, "add", "bridge0", "type", "bridge")
        for at, name in enumerate(HOSTS, 1):
            netns = f"{BASE}-{name}"
            run("ip", "netns", "add", netns)
            (folder / name).mkdir()
            run(*inside, "add", name, "type", "veth", "peer", "name", "eth0", "netns", netns)
            run(*inside, "set", name, "master", "bridge0", "up")
            run("ip", "-n", netns, "addr", "add", f"10.81.0.{at}/24", "dev", "eth0")
            run("ip", "-n", netns, "link", "set", "eth0", "up")
            words = [
                "ip",
                "netns",
                "exec",
                netns,
                "unshare",
                "--uts",
                "--mount",
                "sh",
                "-euc",
                SERVE,
            ]
            servers.append(subprocess.Popen([*words, "sh", str(folder), name]))
        run(*inside, "set", "lo", "up")
        run(*inside, "set", "bridge0", "up")
        run("ip", "-n", f"{BASE}-ctl", "addr", "add", "10.81.0.254/24", "dev", "bridge0")
        logs = [folder / f"log.{name}" for name in HOSTS]
        until(lambda: all(log.exists() and "Server listening" in log.read_text() for log in logs))
        yield Controller(folder)
    finally:
        for server in servers:
            server.kill()
            server.wait()
        for name in (*HOSTS, "ctl"):
            pids = ("ip", "netns", "pids", f"{BASE}-{name}")
            left = subprocess.run(pids, capture_output=True, text=True, check=False).stdout
            for pid in map(int, left.split()):  # guards and sessions of hosts that are gone
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            subprocess.run(["ip", "netns", "del", f"{BASE}-{name}"], check=False)


# beta has no link while its MTU is the new one
FRAGILE = (
    "while sleep 0.2; do read now </sys/class/net/eth0/mtu; wanted=up; "
    'if [ "$now" = "$2" ]; then wanted=down; fi; if [ "$wanted" != "${state:-up}" ]; then '
    'ip -n "$1" link set beta "$wanted"; state=$wanted; fi; done'
)


@pytest.fixture
def fragile(controller: Controller) -> Iterator[None]:
    inside = ["ip", "netns", "exec", f"{BASE}-beta", "sh", "-c", FRAGILE, "sh", f"{BASE}-ctl", FAST]
    with subprocess.Popen(inside) as loop:
        yield
        loop.kill()


def test_the_audit_collects_a_document_of_each_host(controller: Controller) -> None:
    code, stats, output = controller.play("audit")
    assert code == 0, output
    assert all(stats[name]["changed"] == 0 for name in HOSTS)
    for name in HOSTS:
        document = json.loads((controller.folder / f"audit/hosts/{name}.json").read_text())
        assert document["host"] == name
    assert "gamma" in (controller.folder / "audit/fleet.html").read_text()


def test_a_host_that_loses_its_link_comes_back_and_stops_the_rollout(
    controller: Controller, fragile: None
) -> None:
    wanted = {"tune_settings": {"link.mtu@eth0": FAST}, "nettop_serial": 1}
    code, stats, output = controller.play("rollout", "--check", "--limit", "alpha", **wanted)
    assert (code, stats["alpha"]["changed"], mtu("alpha")) == (0, 1, SLOW), output
    with ThreadPoolExecutor() as beside:
        rollout = beside.submit(controller.play, "rollout", **wanted)
        until(lambda: mtu("beta") == FAST or rollout.done())
        expire(controller.folder / "beta")  # nobody can confirm: its guard reverts it
        code, stats, output = rollout.result()
    no_guard(controller.folder / "beta")
    assert code != 0
    assert "beta" in stats, output
    assert stats["alpha"]["changed"] >= 1, output
    assert stats["beta"]["failed"] + stats["beta"]["unreachable"] == 1, output
    assert "gamma" not in stats
    assert {name: mtu(name) for name in HOSTS} == {"alpha": FAST, "beta": SLOW, "gamma": SLOW}
    # a second run changes nothing, and an undo takes back what there is
    code, stats, output = controller.play("rollout", "--limit", "alpha", **wanted)
    assert (code, stats["alpha"]["changed"], mtu("alpha")) == (0, 0, FAST), output
    code, stats, output = controller.play("undo", "--limit", "alpha")
    assert (code, stats["alpha"]["changed"], mtu("alpha")) == (0, 1, SLOW), output


def test_a_misspelt_rule_is_a_failure_and_not_a_host_without_the_finding(
    controller: Controller,
) -> None:
    wanted = {"tune_rules": ["loss-recovry-crippled"]}
    code, _, output = controller.play("rollout", "--check", "--limit", "alpha", **wanted)
    assert code != 0
    assert "did you mean loss-recovery-crippled?" in output
