"""Run the studies between two namespaces and write docs/records/studies; root. By hand.

    study_pages.py [ID ...] [--seconds 2] [--repeats 1] [--pages]

Each study runs between two network namespaces of its own (veth, MTU 9000): with the rate that
study_links.toml names, by tbf, or the round trip of the study, by netem where the kernel has it and
by tests/support/delay_line.py elsewhere.
Its result is kept in docs/records/studies/results, from which all pages and figures are written;
`--pages` runs nothing. Without IDs all studies run, in about 40 minutes.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "support"))

import delay_line
import study_points
import study_shared
from veth import Pair, pair

from nettop.reports.draw import svg
from nettop.reports.kinds.study import report as drawn
from nettop.terms import formulas
from nettop.trials import checks, repeat, report, study

HERE = Path(__file__).parent
FOLDER = HERE.parent / "docs" / "records" / "studies"
RESULTS = FOLDER / "results"
LINKS = tomllib.loads((HERE / "study_links.toml").read_text(encoding="utf-8"))
NOTES: dict[str, str] = LINKS["notes"]
LATER = "not measured yet"
OF_RUNS = ("rtt_ms", "seconds_at_most", "emulated", "congestion")  # no page has them without a run
# the colours of a page, fixed for a picture in light and in dark documents
COLOURS = {"--ink": "#808890", "--faint": "#9aa2ab", "--c0": "#3b8fd4", "--c1": "#d9722e",
           "--c2": "#1fa67e", "--c3": "#b55f8f", "--c4": "#a8870f", "--c5": "#5fb0dd",
           "--c6": "#8a8a8a", "--c7": "#9a75cc"}  # fmt: skip


@contextmanager
def shaped(place: Pair, name: str, rtt: float) -> Iterator[list[str]]:
    """Give both ends the link of the study and this round trip; what emulates them, in words."""
    said = []
    mtu = LINKS["mtu"].get(name, 9000)
    ends = (place.near, place.far)
    with ExitStack() as stack:
        if rtt and not all(netem(end, rtt) for end in ends):
            stack.enter_context(delay_line.path(place.near[-1], place.far[-1], rtt, mtu))
            said.append(f"a round trip of {rtt:g} ms by a delay line in user space")
        elif rtt:
            said.append(f"a round trip of {rtt:g} ms by netem")
        for end in ends:
            subprocess.run([*end, "ip", "link", "set", "eth0", "mtu", f"{mtu}"], check=True)
        if rate := LINKS["rate"].get(name):
            for end in ends:
                limited(end, rate, parent="parent 1:1" if "netem" in "".join(said) else "root")
            said.append(f"a link of {rate}/s by tbf")
        yield said


def limited(end: Sequence[str], rate: str, parent: str) -> None:
    """Limit what this end sends: each packet with preamble, checksum and gap, as on a wire.

    TCP makes packets of several segments whatever ethtool says; the shaper would add one overhead.
    """
    subprocess.run([*end, *"ip link set eth0 gso_max_segs 1".split()], check=True)
    words = f"qdisc add dev eth0 {parent} stab overhead 24 tbf rate {rate} burst 64kb latency 20ms"
    subprocess.run([*end, "tc", *words.split()], check=True)


def netem(end: Sequence[str], rtt: float) -> bool:
    """Whether the kernel delays what this end sends by half a round trip."""
    words = f"qdisc add dev eth0 root handle 1: netem delay {rtt / 2:g}ms limit 200000"
    done = subprocess.run([*end, "tc", *words.split()], check=False, capture_output=True)
    return not done.returncode


def run(name: str, args: argparse.Namespace) -> None:
    """Run one study, once for each round trip of its points; its result becomes a file."""
    paths = {point.name: point.rtt_ms or 0.0 for point in study.load(name).points}
    measured = {rtt: run_path(name, rtt, args) for rtt in sorted(set(paths.values()))}
    documents = [document for document, _ in measured.values()]
    found = documents[0]
    rows = {rtt: {r["point"]: r for r in one["rows"]} for rtt, (one, _) in measured.items()}
    found["rows"] = [rows[paths[r["point"]]][r["point"]] for r in found["rows"]]
    if rate := LINKS["rate"].get(name):
        possible(study.load(name), found["rows"], 1e9 * int(rate.removesuffix("gbit")))
    words = dict.fromkeys(word for _, said in measured.values() for word in said)
    if words:
        found["conditions"]["here"]["emulated"] = ", ".join(words)
    if loss_based(name, any(paths.values())):
        found["conditions"]["here"]["congestion"] = "cubic"
    args.into.mkdir(exist_ok=True)
    (args.into / f"{name}.json").write_text(json.dumps(found, ensure_ascii=False) + "\n")
    count = sum("measured" in row for row in found["rows"])
    print(f"{name}: {count} of {len(found['rows'])}", flush=True)


def loss_based(name: str, far: bool) -> bool:
    """Whether TCP crosses a queue or a round trip: it has the congestion control of the papers."""
    return (far or name in LINKS["rate"]) and study.load(name).tool != "capture"


def possible(of: study.Study, rows: Sequence[dict[str, Any]], speed: float) -> None:
    """Void the rates of TCP above what the emulated link carries: a queue was emptied."""
    packets = {point.name: point.mtu or LINKS["mtu"].get(of.id, 9000) for point in of.points}
    for row in rows if of.tool != "capture" else ():
        if "unit" in row:  # no rate
            continue
        most = checks.SLACK * formulas.tcp_goodput(speed, packets[row["point"]])
        if row.get("measured", 0) * of.scale > most:
            value = row.pop("measured")
            row["skipped"] = f"void: {value:.4g} {of.unit} is more than the link carries"


def run_path(name: str, rtt: float, args: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """The result of a study over a path with this round trip; what was emulated."""
    with ExitStack() as stack:
        place = stack.enter_context(pair("study"))
        state = stack.enter_context(tempfile.TemporaryDirectory())
        emulated = stack.enter_context(shaped(place, name, rtt))
        seconds = LINKS["seconds"].get(name, args.seconds)
        argv = [*place.near, sys.executable, "-m", "nettop", "study", "run", name, "--to", place.to,
                "--peer", " ".join(place.far), "--seconds", f"{seconds:g}", "--repeats",
                str(args.repeats), "--warmup", f"{args.warmup:g}", "--no-ends",
                "--json"]  # fmt: skip
        argv += ["--only", args.only] if args.only else []
        argv += ["--congestion", "cubic"] if loss_based(name, bool(rtt)) else []
        done = subprocess.run(argv, capture_output=True, text=True,
                              env={**os.environ, "XDG_STATE_HOME": state}, check=False)  # fmt: skip
    named = done.stdout.replace(" ".join(place.far), "the other host")
    try:
        return json.loads(named), emulated
    except ValueError:
        raise SystemExit(f"{name}: {done.stderr}") from None


def pages() -> None:
    """Write the page and the figures of each kept result, and the README."""
    found = {}
    for name in study.names():
        file = RESULTS / f"{name}.json"
        if file.exists():
            found[name] = told(name, json.loads(file.read_text(encoding="utf-8")))
    for name, result in found.items():
        result["notes"] += study_points.notes(name, found, LINKS["direction"], LINKS["before"])
        kept = json.dumps(result, ensure_ascii=False)
        (RESULTS / f"{name}.json").write_text(f"{kept}\n", encoding="utf-8")
    common, lines = study_shared.shared(found), []
    for name in study.names():
        if name in found:
            lines.append(page(name, found[name], common))
        else:
            one = study.load(name)
            points = f"0 of {len(one.points)}"
            lines.append(f"| {name} | {one.paper}, {one.place} | not run yet | {points} | |")
    head = (HERE / "study_readme.md").read_text(encoding="utf-8")
    said = study_shared.words(common)
    text = head.format(**study_points.summary(found), shared=said) + "\n".join(lines) + "\n"
    (FOLDER / "README.md").write_text(text, encoding="utf-8")


def told(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """The kept result with what its study says now of the paper, and what was special here."""
    one = study.load(name)
    paper = {"unit", "suspect", "incomparable", "against"}
    trips = {point.rtt_ms for point in one.points}
    trip = found["conditions"]["here"].get("rtt_ms") if len(trips) == 1 else None
    found["rows"] = [
        ruled(
            one,
            point,
            {key: value for key, value in current(point, row).items() if key not in paper}
            | repeat.cell(point),
            trip,
        )
        for row, point in zip(found["rows"], one.points, strict=True)
    ]
    here = [
        text for names, text in NOTES.items() if any(map(partial(fnmatch, name), names.split()))
    ]
    later = any(row.get("skipped") == LATER for row in found["rows"])
    kept = [text for text in one.notes if not (later and text.startswith("Here: "))]
    found |= {"title": one.title, "place": one.place, "requires": list(one.requires),
              "notes": [*kept, *(f"Here: {text}" for text in here)]}  # fmt: skip
    found["conditions"]["published"] = dict(one.conditions)
    if not any("measured" in row or "offered" in row for row in found["rows"]):
        for key in OF_RUNS:
            found["conditions"]["here"].pop(key, None)
    return found


def ruled(
    of: study.Study, point: study.Point, row: dict[str, Any], trip: float | None
) -> dict[str, Any]:
    """The row by the rules of today: its conditions, and whether it is void or not compared.

    `trip` is the round trip of all points; None: that of a point is not known.
    """
    path, unit = point.figure or of.figure, row.get("unit", of.unit)
    if "measured" in row and "points" in row:
        row |= repeat.spacing(path, row["points"])
        found = re.fullmatch(r"details\.points\.(\d+)\.(\w+)", path)
        if found and "samples" not in row:
            row["measured"] = row["points"][int(found[1])][found[2]] / (point.scale or of.scale)
    if slow := re.fullmatch(
        r"void: offered (\S+) (.)b/s of .*: (the sender .*)", row.get("skipped", "")
    ):
        # both rates have a column
        offered = float(slow[1]) * {"M": 1e6, "G": 1e9}[slow[2]]
        row |= {
            "asked": of_trial(of, point)["rate"],
            "offered": offered,
            "skipped": f"void: {slow[3]}",
        }
    if point.rtt_ms and "measured" in row and "asked" not in row:
        row |= repeat.round_trip(point, trip or 0.0)
        if trip is None:
            del row["offered"]
    for kind in ("skipped", "incomparable"):
        for key, reason in LINKS[kind].items():
            names, _, points = key.partition(": ")
            if any(map(partial(fnmatch, of.id), names.split())) and fnmatch(point.name, points):
                kept = row.get(kind, "").startswith("void: ")
                row[kind] = row[kind] if kept else reason
    why = report.missed(row) or row.get("skipped", "").removeprefix("void: ")
    why = "another round trip" if why.startswith("a round trip of ") else why
    if "measured" in row and why:
        value = row.pop("measured")
        row["skipped"] = f"void: {why} ({value:.4g} {unit})"
    return row


def current(point: study.Point, row: dict[str, Any]) -> dict[str, Any]:
    """The row; without what was measured, where the settings of its point are others by now."""
    if row.get("settings", {}) == dict(point.settings):
        return row
    kept = {"settings": dict(point.settings)} if point.settings else {}
    return {"point": row["point"], **kept, "skipped": LATER}


def of_trial(of: study.Study, point: study.Point) -> Mapping[str, Any]:
    """The options of the trial of a point."""
    trials = {one.name: one.options for one in of.points}
    return {**of.options, **trials[point.of or point.name]}


def brief(reason: str) -> str:
    """A reason without its figures, which are on the page."""
    return re.sub(r" \([^()]*\)$", "", reason)


def page(name: str, found: Mapping[str, Any], common: study_shared.Shared) -> str:
    """Write one page; its row of the README."""
    figures = drawn(found).figures
    text = study_shared.page(found, common)
    measured = [row for row in found["rows"] if "measured" in row]
    for old in (*FOLDER.glob(f"{name}.svg"), *FOLDER.glob(f"{name}-[0-9].svg")):
        old.unlink()
    for number, figure in enumerate(figures if measured else ()):
        ending = f"-{number + 1}" if number else ""
        picture = svg(figure, f"s{number}")
        for variable, colour in COLOURS.items():
            picture = picture.replace(f"var({variable})", colour)
        (FOLDER / f"{name}{ending}.svg").write_text(picture, encoding="utf-8")
        text += f"\n![{figure.title}]({name}{ending}.svg)\n"
        text += f"\n{figure.note}\n" if figure.note else ""
    (FOLDER / f"{name}.md").write_text(text, encoding="utf-8")
    emulated = found["conditions"]["here"].get("emulated", "")
    void = any(row.get("skipped", "").startswith("void: ") for row in found["rows"])
    how = f"emulated: {emulated}" if emulated else "run"
    later = any(row.get("skipped") == LATER for row in found["rows"])
    how = how if measured else "void" if void else LATER if later else "impossible"
    why = Counter(brief(row["skipped"]) for row in found["rows"] if "skipped" in row)
    missing = "; ".join(
        f"{count} point{'s' * (count > 1)}: {reason}" for reason, count in why.most_common(3)
    )
    return (
        f"| [{name}]({name}.md) | {found['paper']}, {found['place']} | {how} "
        f"| {len(measured)} of {len(found['rows'])} | {missing} |"
    )


def main() -> None:
    """Run what is named, then write all pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--warmup", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", default="", help="points whose name contains this")
    parser.add_argument("--into", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--pages", action="store_true")
    args = parser.parse_args()
    if not args.pages:
        for name in args.ids or study.names():
            run(name, args)
    if args.into == RESULTS:
        pages()


if __name__ == "__main__":
    main()
