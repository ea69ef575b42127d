"""`--format` of the commands that measure, and of stored results."""

import shutil
import sys
from importlib import util
from pathlib import Path

import pytest

from nettop.cli import main
from nettop.trials import results, run

RESULTS = Path(__file__).parents[1] / "results"
PROVE = "20261120-141820-prove"


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of results that the commands read."""
    folder = tmp_path / "results"
    shutil.copytree(RESULTS, folder)
    monkeypatch.setattr(results, "folder", lambda: folder)
    return folder


def test_a_stored_result_becomes_a_page(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["results", "show", PROVE, "--format", "html"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("<!doctype html>")
    assert out.rstrip().endswith("</html>")
    assert "Proof: sysctl.net.ipv4.tcp_rmem" in out


def test_two_stored_results_become_one_page_or_csv(
    stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["results", "compare", PROVE, PROVE, "--format", "html"]) == 0
    assert "first: before" in capsys.readouterr().out
    assert main(["results", "compare", PROVE, PROVE, "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("figure,series,x,y,low,high")
    other = "20261120-141836-sweep"
    assert main(["results", "compare", PROVE, other, "--format", "html"]) == 3
    assert "have no common figure" in capsys.readouterr().err


def test_a_result_of_another_version_is_one_sentence(
    stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (stored / "20260101-000000-prove.json").write_text('{"kind": "prove", "finding": "x"}')
    assert main(["results", "show", "20260101-000000-prove", "--format", "html"]) == 3
    assert "written by another version: it has no field 'verdict'" in capsys.readouterr().err
    (stored / "20260101-000001-fleet.json").write_text('{"kind": "fleet"}')
    assert main(["results", "show", "20260101-000001-fleet", "--format", "csv"]) == 3
    assert "no report of a result of kind 'fleet'" in capsys.readouterr().err
    (stored / "20260101-000002-sweep.json").write_text(
        '{"kind": "sweep", "setting": "x", "verdict": "better", "best": "1", "margin": "much",'
        ' "kept": false, "rows": [{"value": "2"}]}'
    )
    assert main(["results", "show", "20260101-000002-sweep", "--format", "html"]) == 3
    assert "could not convert string to float: 'much'" in capsys.readouterr().err


def test_lists_have_no_report(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["results", "list"], ["study", "list"], ["test", "list"]):
        assert main([*words, "--format", "html"]) == 2
        assert "text or JSON" in capsys.readouterr().err


def test_json_has_two_spellings(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["results", "show", PROVE, "--json"]) == 0
    short = capsys.readouterr().out
    assert main(["results", "show", PROVE, "--format", "json"]) == 0
    assert capsys.readouterr().out == short


def test_without_matplotlib_nothing_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(*_: object) -> object:
        raise AssertionError("it measured")

    monkeypatch.setattr(util, "find_spec", lambda _name: None)
    monkeypatch.setattr("nettop.commands._report.find_spec", lambda _name: None)
    monkeypatch.setattr(run, "run", measured)
    assert main(["test", "bulk", "--to", "127.0.0.1", "--format", "html"]) == 3
    assert "pip install 'nettop[report]'" in capsys.readouterr().err


def test_a_page_is_not_written_to_a_terminal(
    stored: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["results", "show", PROVE, "--format", "html"]) == 2
    assert "> report.html" in capsys.readouterr().err


def test_a_matplotlibrc_of_the_folder_is_not_obeyed(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert main(["results", "show", PROVE, "--format", "html"]) == 0
    page = capsys.readouterr().out
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\nlines.linewidth: 40\n")
    monkeypatch.chdir(tmp_path)
    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    assert main(["results", "show", PROVE, "--format", "html"]) == 0
    assert capsys.readouterr().out == page
