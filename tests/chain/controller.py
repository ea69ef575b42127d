"""Ansible in the namespace of the controller: its inventory, and playbooks of the collection."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chain.sites import ADDRESS, NETTOP, PYTHON, TARGET, USER, at_controller, run

TO_CONFIRM: Final = 40  # seconds; a loaded controller needs some for its next connection
QUIET: Final = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
# the services of a host, in one play
SERVICES: Final = """\
- name: The services of nettop
  hosts: all
  gather_facts: false
  become: true
  roles:
    - role: nettop.nettop.box
    - role: nettop.nettop.metrics
"""


@dataclass(frozen=True, slots=True)
class Played:
    """What a playbook did: its exit code, the counts of each host, the whole output."""

    code: int
    hosts: dict[str, dict[str, int]]
    output: str

    def changed(self) -> dict[str, int]:
        """The number of changed tasks of each host."""
        return {name: counts["changed"] for name, counts in self.hosts.items()}

    def well(self) -> Played:
        """This, if the playbook succeeded on every host; AssertionError with the output if not."""
        assert self.code == 0, self.output
        return self


class Controller:
    """Runs playbooks from the folder with the collection and the inventory."""

    def __init__(self, folder: Path, nettop: str) -> None:
        """`nettop`: its command on the controller."""
        self.folder, self.nettop = folder, nettop
        self.collection = folder / "ansible_collections/nettop/nettop"
        (folder / "services.yml").write_text(SERVICES)
        (folder / "inventory.yml").write_text(json.dumps(_inventory(folder, nettop)))
        self.environment = {
            **os.environ, "HOME": str(folder), "ANSIBLE_HOME": str(folder / "ansible"),
            # `~` is the home of the user in /etc/passwd, here too; $HOME here is the folder
            "ANSIBLE_REMOTE_TEMP": "$HOME/.ansible/tmp",
            "ANSIBLE_COLLECTIONS_PATH": str(folder), "ANSIBLE_NOCOLOR": "true",
            "ANSIBLE_PIPELINING": "true", "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(folder / "cp"),
            "LANG": "C.UTF-8", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }  # fmt: skip
        run(nettop, "fleet", "--ansible", str(self.collection))

    def lint(self) -> str:
        """What ansible-lint says with its production profile; AssertionError for a complaint."""
        done = subprocess.run(
            ["ansible-lint", "--offline", "--profile", "production", "--nocolor"],
            cwd=self.collection, env=self.environment, capture_output=True, text=True, check=False,
            timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stderr.strip().splitlines()[-1]

    def play(self, name: str, *options: str, **values: object) -> Played:
        """Play a playbook of the collection, or a file of the folder."""
        what = str(self.folder / name) if name.endswith(".yml") else f"nettop.nettop.{name}"
        words = ["ansible-playbook", what, "-i", str(self.folder / "inventory.yml")]
        done = subprocess.run(
            at_controller(*words, "-e", json.dumps(values), *options), env=self.environment,
            capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip
        recap = done.stdout.partition("PLAY RECAP")[2]
        hosts = {
            line.split()[0]: {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", line)}
            for line in recap.splitlines()
            if "ok=" in line
        }
        return Played(done.returncode, hosts, done.stdout + done.stderr)


def _inventory(folder: Path, nettop: str) -> dict[str, object]:
    common = {
        "ansible_user": USER, "ansible_port": 22, "ansible_python_interpreter": PYTHON,
        "ansible_ssh_private_key_file": str(folder / "user"), "ansible_ssh_common_args": QUIET,
        "audit_program": nettop, "audit_folder": str(folder / "audit"), "audit_seconds": 2,
        "audit_sudo": True,
        "tune_program": NETTOP, "tune_seconds": 3, "tune_confirm": TO_CONFIRM,
        "undo_program": NETTOP, "undo_confirm": TO_CONFIRM,
        "box_program": NETTOP, "box_before": "60s", "box_after": "5s", "box_on": ["warning"],
        "metrics_program": NETTOP,
    }  # fmt: skip
    hosts = {name: {"ansible_host": address} for name, address in ADDRESS.items()}
    return {"all": {"hosts": hosts, "vars": common}}


def proof(folder: Path) -> dict[str, object]:
    """The variables by which the canary measures a change."""
    return {
        "tune_prove_to": TARGET,
        "tune_prove_peer": f"ssh -i {folder}/user {QUIET} root@{TARGET}",
        "tune_prove_options": ["--seconds", "2"],
    }
