"""The clinic: mis-tuned and healthy hosts, and what nettop says of them.

    python tests/clinic/run.py [WARD…] [--only TEXT] [--full] [--write] [--json FILE]
    python tests/clinic/run.py --generated COUNT [--only TEXT]
    python tests/clinic/run.py --host FAULT:SEED > x.host

Prints a scoreboard; exit code 1 when a diagnosis is not right. Wards that need a virtual machine
run inside the lab (`make lab`), which leaves its outcomes for the scoreboard in lab-out.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from clinic import cure, scoreboard, ward
from clinic.scenario import Outcome, scenarios, wards

HERE = Path(__file__).parent


def judge(names: list[str], only: str = "") -> list[Outcome]:
    """Run the scenarios of these wards, one line each."""
    outcomes = []
    for name in names:
        for scenario in scenarios(name):
            if only not in scenario.name:
                continue
            began = time.monotonic()
            outcome = ward.run(scenario)
            outcomes.append(outcome)
            mark = "ok " if outcome.right else "BAD"
            print(f"{mark} {name}: {scenario.name}: {outcome.verdict}"
                  f" ({time.monotonic() - began:.1f} s)", flush=True)  # fmt: skip
            if not outcome.right:
                seen, alarms = (
                    ", ".join(ids) or "nothing" for ids in (outcome.seen, outcome.alarms)
                )
                print(f"      seen {seen}; false alarms: {alarms}", flush=True)
    return outcomes


def brought(lab: Path, name: str) -> list[Any]:
    """What the virtual machines left under this name."""
    return [one for left in sorted(lab.glob(f"*/{name}")) for one in json.loads(left.read_text())]


def generated(count: int, only: str, one: str | None) -> int:
    """Play generated hosts and print precision and recall; or print the recording of `one`."""
    from generated import score
    from generated.archive import archive
    from generated.plant_host import FAULTS
    from generated.sound import KINDS

    if one:
        name, _, number = one.partition(":")
        made = score.sick if name in FAULTS else score.sound
        print(archive(made(name, int(number or 0))), end="")
        return 0
    tally = score.Tally()
    for seed in range(count):
        tally.add(score.judge(score.sound(kind, seed)) for kind in KINDS if only in kind)
        tally.add(score.judge(score.sick(name, seed), (name,)) for name in FAULTS if only in name)
    print(tally.text())
    if not only:
        print(score.both(count))
    return int(bool(tally.false))


def main() -> int:
    """Run as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("wards", nargs="*", choices=[*wards(), []], help="default: those possible")
    parser.add_argument("--only", default="", help="scenarios whose name has this")
    parser.add_argument("--generated", type=int, metavar="COUNT", help="hosts a fault and kind")
    parser.add_argument("--host", metavar="NAME:SEED", help="print one generated host")
    parser.add_argument("--full", action="store_true", help="apply, sweep and ask the peers too")
    parser.add_argument("--write", action="store_true", help="write README.md")
    parser.add_argument("--json", type=Path, help="outcomes for the scoreboard of another machine")
    parser.add_argument("--lab", type=Path, default=Path("lab-out"), help="what `make lab` left")
    args = parser.parse_args()
    if args.generated or args.host:
        return generated(args.generated or 0, args.only, args.host)
    if os.geteuid() != 0:
        print("clinic: skipped: root is needed for network namespaces")
        return 0
    names = args.wards or [name for name in wards() if not name.startswith("vm")]
    outcomes = judge(names, args.only)
    rows = scoreboard.rows(outcomes)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))
    tried = cure.all_of(names, args.only) if args.full else []
    rows += brought(args.lab, "clinic.json")
    rows += scoreboard.not_run(rows, [one for name in wards() for one in scenarios(name)])
    tried += [tuple(line) for line in brought(args.lab, "cures.json")]
    print(scoreboard.text(rows, tried))
    if args.write:
        (HERE / "README.md").write_text(scoreboard.page(rows, tried))
    return int(not all(outcome.right for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
