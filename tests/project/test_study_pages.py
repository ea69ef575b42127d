"""docs/records/studies: each study has a page of its kept result, and a row on how it ran."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nettop.trials import report, study

FOLDER = Path(__file__).parents[2] / "docs" / "records" / "studies"


@pytest.mark.parametrize("name", study.names())
def test_a_study_has_its_result_its_page_and_its_row(name: str) -> None:
    rows = (FOLDER / "README.md").read_text().splitlines()
    result = FOLDER / "results" / f"{name}.json"
    if not result.exists():
        assert sum(row.startswith(f"| {name} |") and "| not run yet |" in row for row in rows) == 1
        return
    found = json.loads(result.read_text())
    page = (FOLDER / f"{name}.md").read_text()
    assert page.startswith(report.markdown(found).rstrip("\n"))
    assert [row["point"] for row in found["rows"]] == [p.name for p in study.load(name).points]
    (row,) = [row for row in rows if row.startswith(f"| [{name}]({name}.md) |")]
    measured = sum("measured" in one for one in found["rows"])
    assert f"| {measured} of {len(found['rows'])} |" in row
    assert ("| impossible |" in row) is (measured == 0)
    assert (FOLDER / f"{name}.svg").exists() is (measured > 0)
    if measured < len(found["rows"]):
        assert row.rsplit("|", 2)[1].strip(), "what is missing has a reason"
