"""A patient of the clinic becomes a recorded host: the doctor is then judged without its machine.

    python tests/clinic/record.py SCENARIO NAME [--out DIR]

SCENARIO is a part of one scenario's name. Its host is made and loaded as the clinic does it (a ward
of the lab boots the lab) and recorded as tests/hosts/NAME.host, which every test of recorded hosts
then reads; a scenario of recorded.toml that says `like = "NAME"` asks what nettop makes of it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from clinic import ward
from clinic.scenario import Scenario, scenarios, wards
from hosts.record import in_a_namespace, record

TESTS = Path(__file__).parents[1]


def named(part: str) -> Scenario:
    """The only scenario with this in its name; SystemExit when there is none, or several."""
    live = [name for name in wards() if not name.startswith("recorded")]
    found = [one for name in live for one in scenarios(name) if part in one.name]
    if len(found) != 1:
        names = "; ".join(one.name for one in found) or "none"
        raise SystemExit(f"one scenario must have {part!r} in its name; these have: {names}")
    return found[0]


def booted(topology: str, part: str, name: str, out: Path) -> int:
    """The same command inside the lab; what it recorded is brought to `out`."""
    with tempfile.TemporaryDirectory() as folder:
        boot = [sys.executable, str(TESTS / "lab/boot.py"), topology, "--out", folder]
        again = [sys.executable, __file__, part, name, "--out", folder]
        code = subprocess.run([*boot, "--", *again], check=False).returncode
        made = Path(folder, f"{name}.host")
        if made.exists():
            (out / made.name).write_bytes(made.read_bytes())
    return code


def main() -> int:
    """Record as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("scenario")
    parser.add_argument("name")
    parser.add_argument("--out", type=Path, default=TESTS / "hosts")
    args = parser.parse_args()
    patient = named(args.scenario)
    topology = patient.ward.removeprefix("vm-") if patient.ward.startswith("vm-") else None
    if topology not in (None, os.environ.get("NETTOP_LAB")):
        return booted(str(topology), args.scenario, args.name, args.out)
    in_a_namespace()
    with (
        ward.patient(patient) as place,
        place.running(patient.words("load"), float(patient.told.get("settle", 1.5))),
    ):
        seconds = float(patient.told.get("seconds", 4))
        record(args.name, f"{patient.name}.", args.out, seconds, inside=" ".join(place.here[3:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
