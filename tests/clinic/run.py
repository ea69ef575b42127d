"""The clinic: mis-tuned and healthy hosts, and what nettop says of them.

    python tests/clinic/run.py [WARD…] [--only TEXT] [--cures] [--full] [--write] [--json FILE]
    python tests/clinic/run.py --generated COUNT [--first SEED] [--only TEXT] [--json FILE]
    python tests/clinic/run.py --page [--generated SEEDS] [--minutes M] [--again]
    python tests/clinic/run.py --host FAULT:SEED > x.host

Prints a scoreboard; exit code 1 when a diagnosis is not right. Wards that need a virtual machine
run inside the lab (`make lab`), which leaves its outcomes for the scoreboard in lab-out; so do
portions of generated hosts (`--json lab-out/here/generated-0.json`). `--write` puts all of them
into docs/clinic.md. `--page` plays what docs/clinic.md needs, goes on where an earlier run stopped,
and writes it once nothing is missing (`parts.py`); exit code 3: something still is.
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

from clinic import cure, parts, scoreboard, treated, ward
from clinic.scenario import scenarios, wards

HERE = Path(__file__).parent


def judge(args: argparse.Namespace, names: list[str]) -> list[dict[str, Any]]:
    """The rows of these wards' scenarios, a line of text each; `--json` has those so far."""
    rows: list[dict[str, Any]] = []
    for name in names:
        for scenario in scenarios(name):
            if args.only not in scenario.name:
                continue
            began = time.monotonic()
            fixes = args.cures or args.full
            outcome, fix = treated.play(scenario) if fixes else (ward.run(scenario), None)
            rows += [row | scoreboard.fixed(fix) for row in scoreboard.rows([outcome])]
            if args.json:
                args.json.write_text(json.dumps(rows, indent=1))
            mark = "ok " if outcome.right else "BAD"
            print(f"{mark} {name}: {scenario.name}: {outcome.verdict}"
                  f" ({time.monotonic() - began:.1f} s)", flush=True)  # fmt: skip
            if not outcome.right:
                seen, alarms = (
                    ", ".join(ids) or "nothing" for ids in (outcome.seen, outcome.alarms)
                )
                print(f"      seen {seen}; false alarms: {alarms}", flush=True)
            if fix is not None:
                told = " → ".join(fix.row()["told"])
                print(f"      fixed {', '.join(fix.fixed)}: {told}; still found:"
                      f" {', '.join(fix.remains) or '–'}; begins: {', '.join(fix.begins) or '–'};"
                      f" worse: {', '.join(fix.row()['worse']) or '–'}", flush=True)  # fmt: skip
    return rows


def brought(lab: Path, name: str) -> list[Any]:
    """What the virtual machines left under this name."""
    return [one for left in sorted(lab.glob(f"*/{name}")) for one in json.loads(left.read_text())]


def generated(args: argparse.Namespace) -> int:
    """Play generated hosts and print precision and recall."""
    from generated import score, tally

    counts = tally.Tally()

    def add(outcome: score.Outcome) -> None:
        counts.add((outcome,))
        for name in outcome.missed:
            if score.expected()[name].covered:
                seen = ", ".join(sorted(outcome.rules)) or "nothing"
                print(f"missed {outcome.seed}: {name}; seen {seen}", flush=True)
        for name in outcome.false:
            print(f"false {outcome.seed}: {name}", flush=True)
        for name, what in outcome.broken:
            print(f"broken {outcome.seed}: {name}: {what}", flush=True)

    for seed in range(args.first, args.first + args.generated):
        counts.seeds[str(seed)] += 1
        for outcome in parts.outcomes(seed, args.only):
            add(outcome)
        if args.json:
            args.json.write_text(json.dumps(counts.counts(), indent=1))
    print(scoreboard.aligned(counts.faults()), scoreboard.aligned(counts.rules()), sep="\n\n")
    print("", *counts.sums(), sep="\n")
    return int(bool(counts.false) or bool(counts.broken))


def whole_page(args: argparse.Namespace) -> int:
    """Play what is missing of the page; write it if nothing is."""
    if args.again:
        parts.forget_wrong(args.lab)
    missing = parts.play(args.lab, args.generated or 100, args.minutes)
    if missing:
        print(f"{missing} parts are still to be played: run the same command again")
        return 3
    rows = {(one["ward"], one["name"]): one for one in brought(args.lab, "clinic.json")}
    rows |= {(one["ward"], one["name"]): one for one in parts.rows(args.lab)}
    told = [*rows.values()]
    told += scoreboard.not_run(told, [one for name in wards() for one in scenarios(name)])
    tried = [tuple(line) for line in brought(args.lab, "cures.json")]
    (HERE.parents[1] / "docs" / "clinic.md").write_text(
        scoreboard.page(told, tried, parts.counts(args.lab))
    )
    print(scoreboard.aligned(scoreboard.table(told, "ward")))
    return 0


def one_host(words: str) -> int:
    """Print the recording of a generated host, named FAULT:SEED or KIND:SEED."""
    from generated import score
    from generated.archive import archive
    from generated.plant_host import FAULTS

    name, _, number = words.partition(":")
    made = score.sick if name in FAULTS else score.sound
    print(archive(made(name, int(number or 0))), end="")
    return 0


def main() -> int:
    """Run as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("wards", nargs="*", choices=[*wards(), []], help="default: those possible")
    parser.add_argument("--only", default="", help="scenarios whose name has this")
    parser.add_argument("--generated", type=int, metavar="COUNT", help="hosts a fault and kind")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="seed to begin with")
    parser.add_argument("--host", metavar="NAME:SEED", help="print one generated host")
    parser.add_argument("--cures", action="store_true", help="apply each fix and look again")
    parser.add_argument("--full", action="store_true", help="apply, sweep and ask the peers too")
    parser.add_argument("--write", action="store_true", help="write docs/clinic.md")
    parser.add_argument("--page", action="store_true", help="play what is missing; write the page")
    parser.add_argument("--minutes", type=float, default=1e9, help="of --page: stop after these")
    parser.add_argument("--again", action="store_true", help="of --page: what was not right too")
    parser.add_argument("--json", type=Path, help="outcomes for a later scoreboard")
    parser.add_argument("--lab", type=Path, default=Path("lab-out"), help="what `make lab` left")
    args = parser.parse_args()
    if args.host:
        return one_host(args.host)
    if args.generated and not args.page:
        return generated(args)
    if os.geteuid() != 0:
        print("clinic: skipped: root is needed for network namespaces")
        return 0
    if args.page:
        return whole_page(args)
    names = args.wards or [name for name in wards() if not name.startswith("vm")]
    played = judge(args, names)
    tried = cure.all_of(names, args.only) if args.full else []
    known = {(one["ward"], one["name"]): one for one in brought(args.lab, "clinic.json")}
    rows = [*{**known, **{(one["ward"], one["name"]): one for one in played}}.values()]
    rows += scoreboard.not_run(rows, [one for name in wards() for one in scenarios(name)])
    tried += [tuple(line) for line in brought(args.lab, "cures.json")]
    print(scoreboard.text(rows, tried))
    if args.write:
        counts = [
            json.loads(left.read_text()) for left in sorted(args.lab.glob("*/generated*.json"))
        ]
        (HERE.parents[1] / "docs" / "clinic.md").write_text(scoreboard.page(rows, tried, counts))
    right = {"first", "quiet"}
    return int(not all(one["verdict"] in right and not one["alarms"] for one in played))


if __name__ == "__main__":
    sys.exit(main())
