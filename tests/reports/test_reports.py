"""Reports of stored results: what stands in a page, that it asks for nothing, and all samples."""

import csv as csv_reader
import io
import json
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from folded import folded

from nettop import reports
from nettop.reports import compared, draw, html
from nettop.reports.figure import csv_text
from nettop.trials import report as trials_report

RESULTS = sorted((Path(__file__).parents[1] / "results").glob("*.json"))
ASKS = {"script", "link", "img", "iframe", "object", "embed", "audio", "video", "base", "form"}


class Page(HTMLParser):
    """The elements, ids, references and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href", "srcset", "data", "action"):
                self.references.append(value or "")

    def handle_data(self, data: str) -> None:
        self.words += data


def load(path: Path) -> dict[str, Any]:
    """One stored result."""
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def of_kind(kind: str) -> dict[str, Any]:
    """The first stored result of a kind."""
    return next(document for document in map(load, RESULTS) if document["kind"] == kind)


def page_of(document: Mapping[str, object]) -> Page:
    """The parsed page of a result."""
    return Page(html.page(reports.report(document), draw.svg))


def cells(document: Mapping[str, object]) -> list[dict[str, str]]:
    """The rows of its CSV."""
    return list(csv_reader.DictReader(io.StringIO(csv_text(reports.report(document)))))


def test_every_kind_of_result_has_a_report() -> None:
    assert {load(path)["kind"] for path in RESULTS} == set(reports.names())


@folded("path", RESULTS, ids=lambda path: path.stem)
def test_a_page_asks_for_nothing_is_complete_and_has_the_colours_of_the_page_alone(
    path: Path,
) -> None:
    document = load(path)
    text = html.page(reports.report(document), draw.svg)
    page = Page(text)
    assert not page.tags & ASKS
    assert all(reference.startswith("#") for reference in page.references)
    assert "url(http" not in text
    assert "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text
    assert len(page.ids) == len(set(page.ids))
    assert "svg" in page.tags
    report = reports.report(document)
    for part in (report.title, report.answer, *report.commands):
        assert part in page.words
    for table in report.tables:
        assert all(cell in page.words for row in table.rows for cell in row)
    for number, figure in enumerate(report.figures):
        svg = draw.svg(figure, f"f{number}")
        assert not any(colour in svg for colour in (draw.INK, draw.FAINT, *draw.SERIES))
        assert "var(--c0)" in svg
        if number == 0:  # the same result gives the same page
            assert draw.svg(figure, "f0") == svg


def test_every_run_of_both_states_is_in_the_csv() -> None:
    document = of_kind("prove")
    rows = cells(document)
    for name, runs in (("before", document["a"]), ("after", document["b"])):
        measured = [float(row["y"]) * 1e9 for row in rows if row["series"] == name]
        assert measured == pytest.approx(runs, rel=1e-8)
        assert {row["y_label"] for row in rows if row["series"] == name} == {"Gbit/s"}
    median = next(row for row in rows if row["x"] == "median")
    low, high = document["interval"]
    assert float(median["y"]) == pytest.approx(100 * document["median_difference"])
    assert (float(median["low"]), float(median["high"])) == pytest.approx((100 * low, 100 * high))


def test_every_run_of_a_sweep_is_in_the_csv_by_its_value() -> None:
    document = of_kind("sweep")
    rows = [row for row in cells(document) if row["series"] == "run"]
    for value in document["rows"]:
        runs = [float(row["y"]) * 1e9 for row in rows if row["x"] == value["value"]]
        assert runs == pytest.approx(value["figures"], rel=1e-8)


def test_every_bin_of_a_latency_histogram_is_in_the_csv() -> None:
    document = next(one for one in map(load, RESULTS) if one["kind"] == "test" and "latency" in one)
    rows = [row for row in cells(document) if row["figure"] == "Round trip times"]
    assert [(float(row["x"]), float(row["y"])) for row in rows] == [
        (at, count) for at, count in document["latency"]["histogram"]
    ]


def study(points: list[tuple[str, object, float | None]]) -> dict[str, Any]:
    """A study with these points: name, published, measured."""
    rows = [
        {"point": name, "published": published}
        | ({"skipped": "no"} if value is None else {"measured": value})
        for name, published, value in points
    ]
    return {**of_kind("study"), "rows": rows}


def test_points_over_a_count_are_curves() -> None:
    document = study(
        [
            ("none, MTU 1500, 1 stream", 127, 100.0),
            ("none, MTU 1500, 4 streams", 375, 300.0),
            ("kernel, MTU 1500, 1 stream", 203, None),
            ("kernel, MTU 1500, 4 streams", [400, 420], None),
        ]
    )
    (figure,) = reports.report(document).figures
    assert (figure.mark, figure.x) == ("line", "streams")
    assert [one.colour for one in figure.series] == [0, 0, 1]
    assert [draw._label(figure, number) for number in range(3)] == [
        "none, MTU 1500", "_", "kernel, MTU 1500, published",
    ]  # fmt: skip
    assert [(one.name, one.dashed, [(p.x, p.y) for p in one.points]) for one in figure.series] == [
        ("none, MTU 1500", False, [(1.0, 100.0), (4.0, 300.0)]),
        ("none, MTU 1500, published", True, [(1.0, 127.0), (4.0, 375.0)]),
        ("kernel, MTU 1500, published", True, [(1.0, 203.0), (4.0, 410.0)]),
    ]


def test_points_with_names_are_bars_and_words_have_none() -> None:
    document = study([("gro on", 15100, 14000.0), ("gro off", "negligible", 13000.0)])
    (figure,) = reports.report(document).figures
    assert figure.mark == "bar"
    assert [[(p.x, p.y) for p in one.points] for one in figure.series] == [
        [("gro on", 15100.0)], [("gro on", 14000.0), ("gro off", 13000.0)],
    ]  # fmt: skip


def test_a_sweep_of_two_settings_repeats_both() -> None:
    document = of_kind("sweep")
    rows = [{"value": f"{a} × {b}", "figures": [1.0], "median": 1.0}
            for a, b in ((1, 5), (1, 6), (2, 5), (2, 6))]  # fmt: skip
    (command,) = reports.report(
        {**document, "setting": "ring.rx@a × sysctl.net.ipv4.tcp_sack", "rows": rows}
    ).commands
    assert "sweep ring.rx@a --value 1 --value 2 --and sysctl.net.ipv4.tcp_sack" in command
    assert "--and-value 5 --and-value 6 --tool" in command


def test_a_name_can_neither_run_nor_break_the_page() -> None:
    name = "<script>alert(1)</script> $\\frac{1}{0}$ \x1b[31m \u202e"
    document = {**of_kind("tune")}
    document["steps"] = [{**step, "finding": name} for step in document["steps"]]
    document["to"] = '"><img src=http://192.0.2.1/>'
    page = page_of(document)
    assert not page.tags & ASKS
    assert "\x1b" not in page.words
    assert "\u202e" not in page.words
    assert "<script>alert(1)</script> $\\frac{1}{0}$" in page.words


def test_a_cell_is_no_formula_of_a_spreadsheet() -> None:
    document = {**of_kind("tune")}
    document["steps"] = [{**step, "finding": '=HYPERLINK("x")'} for step in document["steps"]]
    assert cells(document)[0]["x"] == '\'=HYPERLINK("x")'
    negative = cells({**of_kind("prove"), "median_difference": -0.25})
    assert [row["y"] for row in negative if row["x"] == "median"] == ["-25"]


def test_two_results_of_a_kind_share_their_figures() -> None:
    first = of_kind("prove")
    second = {**first, "settings": {**first["settings"], "link.mtu@va": "9000"}}
    report = compared(first, second)
    assert [one.name for one in report.figures[0].series] == [
        "first: before", "first: after", "second: before", "second: after",
    ]  # fmt: skip
    assert report.tables[0].rows == (("link.mtu@va", "1500", "9000"),)


def test_a_figure_of_one_of_two_results_says_whose_it_is() -> None:
    tests = {str(one["tool"]): one for one in map(load, RESULTS) if one["kind"] == "test"}
    titles = [one.title for one in compared(tests["bulk"], tests["udp-latency"]).figures]
    assert "Round trip times, second result only" in titles
    assert "Busy time of the cores here" in titles


def test_the_gains_of_a_proof_are_those_of_its_verdict() -> None:
    """Their ends are those of the interval, also where a smaller figure is better."""
    document = {
        **of_kind("prove"), "metric": "p50", "a": [10.0, 20.0, 30.0], "b": [8.0, 25.0, 15.0],
        "interval": [-0.25, 0.75], "median_difference": 0.1, "confidence": 0.75,
    }  # fmt: skip
    gains, median = reports.report(document).figures[1].series
    assert [point.y for point in gains.points] == [10.0, -25.0, 75.0]
    assert (median.points[0].low, median.points[0].high) == (-25.0, 75.0)


def test_a_setting_under_test_is_no_condition() -> None:
    for kind in ("prove", "sweep"):
        document = of_kind(kind)
        names = (
            [change["setting"] for change in document["changes"]]
            if kind == "prove"
            else document["setting"].split(" × ")
        )
        assert not {name for name, _ in reports.report(document).facts} & set(names)
        assert set(names) & set(document["settings"]), "the result has it"


def test_results_of_two_kinds_have_no_common_report() -> None:
    with pytest.raises(ValueError, match="a prove and a sweep have no common figure"):
        compared(of_kind("prove"), of_kind("sweep"))


def test_the_cores_of_two_tests_stand_side_by_side() -> None:
    tests = [one for one in map(load, RESULTS) if one["kind"] == "test"]
    report = compared(tests[0], tests[0])
    figure = next(one for one in report.figures if one.title == "Busy time of the cores here")
    assert [point.x for point in figure.series[0].points] == [
        "first: 0", "first: 1", "second: 0", "second: 1",
    ]  # fmt: skip


def test_a_study_with_a_baseline_compares_both_changes() -> None:
    """The change here takes several runs of both that do not overlap."""
    document = study([("on", 200, 100.0), ("off", 100, 40.0), ("other", "negligible", 99.0)])
    for row, runs in zip(
        document["rows"], ([90.0, 105.0], [35.0, 45.0], [92.0, 106.0]), strict=True
    ):
        row.update({"samples": runs} | ({} if row["point"] == "on" else {"against": "on"}))
    report = reports.report(document)
    (table,) = report.tables
    assert table.head[-2:] == ("change in the paper", "change here")  # there is no remark
    assert [row[-2:] for row in table.rows] == [
        ("", ""), ("-50.0 %", "-60.0 %"), ("negligible", "not resolved"),
    ]  # fmt: skip
    for text in (trials_report.text(document), trials_report.markdown(document)):
        assert "change in the paper" in text
        assert "-60.0 %" in text


def test_one_run_of_each_shows_no_change() -> None:
    document = study([("on", 200, 100.0), ("off", 100, 40.0)])
    document["rows"][1]["against"] = "on"
    (table,) = reports.report(document).tables
    assert table.head[-1] == "change in the paper"
    assert trials_report.changes(document) == {"off": ("-50.0 %", "")}


def test_a_change_of_shares_is_a_difference_and_has_no_ratio() -> None:
    document = study([("on", 17, 2.0), ("off", 0, 9.0)]) | {"unit": "percent lost"}
    on, off = document["rows"]
    on |= {"samples": [1.0, 3.0]}
    off |= {"samples": [8.0, 10.0], "against": "on"}
    assert trials_report.changes(document) == {"off": ("-17 points", "+7 points")}
    assert trials_report.cells_of(on, "percent lost") == ("2", "", "")


@folded(("more", "remark"), [
    ({"suspect": True}, "not compared: the published value is doubtful"),
    ({"incomparable": "another MTU"}, "not compared: another MTU"),
])  # fmt: skip
def test_what_cannot_be_compared_has_no_ratio(more: dict[str, Any], remark: str) -> None:
    row = {"point": "a", "published": 50, "measured": 100.0}
    assert trials_report.cells_of(row) == ("100", "2.00", "")
    assert trials_report.cells_of(row | more) == ("100", "", remark)
    (figure,) = reports.report({**of_kind("study"), "rows": [row | more]}).figures
    assert (figure.title, [one.name for one in figure.series]) == ("Measured", ["measured"])


@pytest.mark.parametrize("many", [1, 20], ids=["upright", "lying"])
def test_a_zero_a_void_value_and_none_differ_in_the_picture(many: int) -> None:
    document = study([(f"{n} kpps", 5, value) for n, value in enumerate([0.0, None, None])])
    document["rows"][1]["skipped"] = "void: offered 1 Mb/s of 2 Mb/s"
    document["rows"] += study([(f"{n} Mbit/s", 5, 3.0) for n in range(many)])["rows"]
    (figure,) = reports.report(document).figures
    page = draw.svg(figure, "f")
    assert (page.count(">void</text>"), page.count(">0</text>")) == (1, 2)  # and of the axis
    assert [point.x for point in figure.series[1].points[:2]] == ["0 kpps", "1 kpps"]
    assert ",measured,1 kpps,,,,," in csv_text(reports.report(document))


def test_a_study_whose_baseline_was_not_run_has_no_measured_change() -> None:
    document = study([("on", 200, None), ("off", 100, 40.0)])
    document["rows"][1]["against"] = "on"
    assert trials_report.changes(document) == {"off": ("-50.0 %", "")}


@pytest.mark.parametrize("many", [2, 20], ids=["upright", "lying"])
def test_bars_of_zeros_begin_at_the_edge_of_the_axes(many: int) -> None:
    (figure,) = reports.report(study([(f"{n} kpps", 0, 0.0) for n in range(many)])).figures
    shown = Page(draw.svg(figure, "f")).words
    assert "−" not in shown
    assert "1.0" in shown
