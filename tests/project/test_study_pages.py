"""docs/records/studies: each study has a page of its kept result, and a row on how it ran.

A page prints nothing that was not measured under the conditions of its point.
"""

import json
from pathlib import Path
from typing import Any

import study_shared
from folded import folded

from nettop.trials import checks, report, study

FOLDER = Path(__file__).parents[2] / "docs" / "records" / "studies"
RESULTS = {file.stem: json.loads(file.read_text()) for file in (FOLDER / "results").glob("*.json")}
COMMON = study_shared.shared(RESULTS)


def honest(cell: dict[str, Any], point: study.Point, trial: study.Point) -> None:
    """A measured cell shows the published value, at the rate asked, where it can be measured."""
    assert cell["published"] == json.loads(json.dumps(point.published))
    assert ("measured" in cell) is not bool(cell.get("skipped"))
    if point.rtt_ms and "asked" in cell:
        assert (cell["condition"], cell["asked"]) == ("round trip", point.rtt_ms)
    elif cell.get("condition") == "spacing":
        assert cell["asked"] in [one["spacing_us"] for one in cell["points"]]
    elif "asked" in cell:
        assert cell["asked"] == trial.options["rate"]
    if "asked" in cell:
        unknown = "offered" not in cell and cell["incomparable"]
        void = cell.get("skipped", "").startswith("void: ")
        least = checks.TRIP if cell.get("condition") == "round trip" else checks.REACHED
        assert unknown or void or checks.reached(cell["asked"], cell["offered"], least)
    elif "measured" in cell:
        assert "rate" not in trial.options, "the rate that was offered is not known"
    assert not ("measured" in cell and point.interrupts), "a veth pair has no interrupt core"
    assert cell.get("settings", {}) == dict(point.settings), "measured with other settings"


def test_what_pages_share_is_said_once_and_nothing_is_lost() -> None:
    readme = (FOLDER / "README.md").read_text()
    assert study_shared.words(COMMON) in readme
    for name, found in RESULTS.items():
        page = study_shared.page(found, COMMON)
        for text in report.sentences(found["requires"], found["notes"]):
            assert (text in page) is not (f"  - {text}" in readme), (name, text)
        for part, conditions in found["conditions"].items():
            for key, value in conditions.items():
                pair = f"{report.named(key)} {report.condition(value)}"
                assert pair in page or pair in readme, (name, part, pair)
        assert "the direction of the paper" in page


@folded("name", study.names())
def test_a_study_has_its_result_its_page_and_its_row(name: str) -> None:
    rows = (FOLDER / "README.md").read_text().splitlines()
    result = FOLDER / "results" / f"{name}.json"
    if not result.exists():
        assert sum(row.startswith(f"| {name} |") and "| not run yet |" in row for row in rows) == 1
        return
    found = json.loads(result.read_text())
    assert [note.count("the direction of the paper: ") for note in found["notes"]].count(1) == 1
    page = (FOLDER / f"{name}.md").read_text()
    assert page.startswith(study_shared.page(found, COMMON).rstrip("\n"))
    points = study.load(name).points
    assert [row["point"] for row in found["rows"]] == [point.name for point in points]
    trials = {point.name: point for point in points}
    if not any("measured" in row or "offered" in row for row in found["rows"]):
        assert not {"rtt_ms", "seconds_at_most", "emulated"} & set(found["conditions"]["here"])
    for cell, point in zip(found["rows"], points, strict=True):
        honest(cell, point, trials[point.of or point.name])
    (row,) = [row for row in rows if row.startswith(f"| [{name}]({name}.md) |")]
    measured = sum("measured" in one for one in found["rows"])
    assert f"| {measured} of {len(found['rows'])} |" in row
    none = ("| impossible |", "| void |", "| not measured yet |")
    assert any(word in row for word in none) is (measured == 0)
    assert (FOLDER / f"{name}.svg").exists() is (measured > 0)
    if measured < len(found["rows"]):
        assert row.rsplit("|", 2)[1].strip(), "what is missing has a reason"
