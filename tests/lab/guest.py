"""Inside the guest: load drivers, lay out the network, then become the command (or a shell)."""

import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def sh(*words: str) -> None:
    """Run one command; its failure is told and does not stop the rest."""
    subprocess.run(words, check=False)


def nics(driver: str) -> list[str]:
    """The driver's interfaces of this namespace, by PCI address: names may be anything."""
    found = []
    for name in os.listdir("/sys/class/net"):
        device = f"/sys/class/net/{name}/device"
        if not os.path.exists(device):
            continue
        path = os.path.realpath(device)
        used = os.path.basename(os.path.realpath(f"{device}/driver"))
        if used == driver:
            address = [part for part in path.split("/") if part.count(":") == 2][-1]
            found.append((address, name))
    return [name for _, name in sorted(found)]


def up(name: str, address: str, *, peer: bool = False) -> None:
    """Give an interface its address and bring it up."""
    where = ["-n", "peer"] if peer else []
    sh("ip", *where, "addr", "add", address, "dev", name)
    sh("ip", *where, "link", "set", name, "up")


def carrier(name: str, seconds: float = 20) -> bool:
    """Wait for the link."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if Path(f"/sys/class/net/{name}/carrier").read_text().strip() == "1":
                return True
        except OSError:
            pass
        time.sleep(0.3)
    return False


def wake() -> None:
    """The cores that a topology boots without (`maxcpus=`): many at once starve few real ones."""
    for switch in sorted(Path("/sys/devices/system/cpu").glob("cpu[0-9]*/online")):
        if switch.read_text().strip() == "0":
            switch.write_text("1")


def lay_out(plan: dict[str, Any]) -> dict[str, str]:
    """Pairs, singles and bonds of the topology; what the tests are told: role → value."""
    told: dict[str, str] = {}
    wake()
    sh("ip", "link", "set", "lo", "up")
    sh("ip", "netns", "add", "peer")
    sh("ip", "-n", "peer", "link", "set", "lo", "up")
    for module in plan["modules"]:
        sh("modprobe", module)
    for folder in plan.get("hide", ()):
        sh("mount", "-t", "tmpfs", "none", folder)
    time.sleep(1)
    for pair in plan.get("pair", ()):
        ours = nics(pair["driver"])
        if pair.get("reverse"):
            ours.reverse()
        near, far = ours[:2]
        sh("ip", "link", "set", far, "netns", "peer")
        up(near, f"{pair['network']}.1/24")
        up(far, f"{pair['network']}.2/24", peer=True)
        told[f"{pair['driver']}"] = near
        told[f"{pair['driver']}_peer"] = far
        told[f"{pair['driver']}_to"] = f"{pair['network']}.2"
        told[f"{pair['driver']}_here"] = f"{pair['network']}.1"
        carrier(near)
    for single in plan.get("single", ()):
        near = nics(single["driver"])[-1]
        up(near, single["address"])
        told[single["driver"]] = near
        told["tap_to"] = plan.get("tap", "").split("/")[0]
    for bond in plan.get("bond", ()):
        ours = nics(bond["driver"])
        for side, members, peer in ((1, ours[:2], False), (2, ours[2:4], True)):
            where = ["-n", "peer"] if peer else []
            options = "type bond mode active-backup miimon 100".split()
            sh("ip", *where, "link", "add", "bond7", *options)
            for member in members:
                if peer:
                    sh("ip", "link", "set", member, "netns", "peer")
                sh("ip", *where, "link", "set", member, "down")
                sh("ip", *where, "link", "set", member, "master", "bond7")
            sh("ip", *where, "link", "set", "bond7", "up")
            vlan = f"bond7.{bond['vlan']}"
            options = f"link bond7 name {vlan} type vlan id {bond['vlan']}".split()
            sh("ip", *where, "link", "add", *options)
            up(vlan, f"{bond['network']}.{side}/24", peer=peer)
        told["bond"] = "bond7"
        told["bond_to"] = f"{bond['network']}.2"
        told["bond_here"] = f"{bond['network']}.1"
        told["members"] = " ".join(ours[:2])
        carrier("bond7")
        time.sleep(5)
    return told


def main() -> None:
    """Lay out and become the command."""
    name, out, *command = sys.argv[1:]
    told = lay_out(tomllib.loads((HERE / "topology" / f"{name}.toml").read_text()))
    for role, value in told.items():
        os.environ[f"LAB_{role.upper()}"] = value
    os.environ["NETTOP_STATE"] = f"{out}/state"
    if not command:
        print("\nThe lab. NICs here:", told, "\nThe other host: ip netns exec peer …\n", flush=True)
        command = ["bash", "-i"]
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
