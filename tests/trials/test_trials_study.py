"""Studies: every file is sound; points are sorted into what a pair allows; reports show both."""

import re
import threading
import tomllib
from dataclasses import replace
from typing import Any

import pytest
from folded import folded

from nettop import settings, trials
from nettop.trials import checks, repeat, report, study
from nettop.trials.result import Check, Loss, Measured, Options, Side, TrialResult
from nettop.trials.run import TrialError

PAIR = repeat.Pair("eth0", 1500, 0.2, frozenset({0, 1}), frozenset({0, 1}), interrupts=False)
MINIMAL: dict[str, Any] = {
    "title": "t", "paper": "p", "place": "Table 1", "tool": "bulk", "figure": "bits_per_second",
    "unit": "Mbit/s", "scale": 1e6, "encodes": ["n-tso"], "point": [{"name": "a", "published": 5}],
}  # fmt: skip


def test_every_published_table_that_was_asked_for_is_there() -> None:
    wanted = {
        *(f"cern-{n}" for n in range(1, 7)), *(f"nasa-{n}" for n in range(2, 7)),
        "nasa-appendix-b", *(f"valente-{n}" for n in (*range(11, 26), *range(27, 35))),
        "manchester-1-3", "manchester-4-6", "manchester-5", "manchester-8", "manchester-9",
        "nst-pktgen", "nst-trafgen", "nst-iperf",
    }  # fmt: skip
    assert wanted <= set(study.names())


@folded("name", study.names())
def test_a_study_is_sound(name: str) -> None:
    found = study.load(name)
    assert found.tool in trials.names()
    assert found.encodes
    assert len({p.name for p in found.points}) == len(found.points)
    for point in found.points:
        repeat.options_of(found, point, Options(), 10.0)
        for setting in point.settings:
            settings.parse(setting.replace("{nic}", "eth0"))


@folded("name", study.names())
def test_a_tuned_point_changes_settings(name: str) -> None:
    found = study.load(name)
    trials = {point.name: point for point in found.points}
    for point in found.points:
        if found.conditions.get("tuning") == "tuned" or ", tuned" in point.name:
            assert trials[point.of or point.name].settings, point.name


def test_points_share_a_set_of_settings_with_what_is_harmful_in_it() -> None:
    shared = {"harmful": "SACK off", "sysctl.net.ipv4.tcp_sack": "0"}
    points = [{"name": "a", "published": 5, "set": "tuned"}, {"name": "b", "published": 4}]
    tuned, plain = study.parse("s", {**MINIMAL, "sets": {"tuned": shared}, "point": points}).points
    assert (tuned.settings, tuned.harmful) == ({"sysctl.net.ipv4.tcp_sack": "0"}, "SACK off")
    assert not plain.settings
    with pytest.raises(study.StudyError, match="there are no settings 'tuned' in sets"):
        study.parse("s", {**MINIMAL, "point": points})


@folded(
    ("change", "sentence"),
    [
        ({"colour": "red"}, "unknown key 'colour'"),
        ({"options": {"speed": 1}}, "unknown key 'speed'"),
        ({"options": {"to": "x"}}, "unknown key 'to'"),
        ({"point": [{"name": "a"}]}, "name and published are needed"),
        ({"point": [{"name": "a", "published": 1, "x": 2}]}, "point 'a': unknown key 'x'"),
    ],
)
def test_a_bad_study_is_one_sentence(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(study.StudyError, match=re.escape(sentence)):
        study.parse("s", {**MINIMAL, **change})
    lacking = {key: value for key, value in MINIMAL.items() if key != "paper"}
    with pytest.raises(study.StudyError, match="paper is missing"):
        study.parse("s", lacking)


@folded(
    ("point", "why"),
    [
        (study.Point("a", 1, mtu=9000), "needs MTU 9000"),
        (study.Point("a", 1, rtt_ms=72.9), "needs a path of 72.9 ms; this one has 0.20 ms"),
        (study.Point("a", 1, rtt_ms=0.14), "needs a path of 0.14 ms; this one has 0.20 ms"),
        (study.Point("a", 1, rtt_ms=0.16), ""),
        (study.Point("a", 1, rtt_ms=0.195), ""),
        (study.Point("a", 1, options={"neighbour": 3}), "there is no CPU 3 here"),
        (study.Point("a", 1, skip="harmful"), "harmful"),
        (study.Point("a", 1, options={"cpu_there": (13,)}), "no CPU 13 there"),
        (study.Point("a", 1, options={"sizes": (8000,)}), "larger MTU"),
        (study.Point("a", 1, interrupts=True), "interrupts have a core; eth0 is virtual"),
        (study.Point("a", 1, mtu=1500, options={"cpu_here": (1,)}), ""),
    ],
)
def test_what_a_pair_cannot_do_is_named(point: study.Point, why: str) -> None:
    found = study.parse("s", MINIMAL)
    options = repeat.options_of(found, point, Options(), 10.0)
    said = repeat.obstacle(point, options, PAIR)
    assert why in said
    assert bool(why) is bool(said)


def test_a_smaller_packet_is_made_by_the_segment_size_and_long_runs_are_cut() -> None:
    found = study.parse("s", {**MINIMAL, "options": {"seconds": 90.0, "streams": 5}})
    options = repeat.options_of(found, study.Point("a", 1, mtu=1500), Options(), 10.0)
    assert (options.mss, options.seconds, options.streams) == (1460, 10.0, 5)


def result(rate: float | None) -> TrialResult:
    measured = Measured(bits_per_second=rate, details={"knees": [{"k": 3.0}]})
    return TrialResult("bulk", Options(), measured, Side(), Side(), {}, (), 0.0)


@folded("name", study.names())
def test_a_note_says_whether_the_paper_says_it_or_the_repetition_does_it(name: str) -> None:
    for note in study.load(name).notes:
        assert note.startswith(("Paper: ", "Here: ", "Computed: "))
        assert note.endswith(".")


def test_a_figure_is_found_by_its_path() -> None:
    found = study.parse("s", MINIMAL)
    point = found.points[0]
    assert repeat.figure(found, point, result(5e8))["measured"] == 500
    deep = replace(point, figure="details.knees.0.k", scale=1.0)
    assert repeat.figure(found, deep, result(1.0))["measured"] == 3.0
    with pytest.raises(TrialError, match=r"no details\.knees\.1\.k"):
        repeat.figure(found, replace(point, figure="details.knees.1.k"), result(1.0))


def test_the_spacing_and_the_round_trip_that_were_offered_stand_beside_the_requested() -> None:
    found = study.parse("s", {**MINIMAL, "tool": "udp-sweep", "figure": "details.points.0.wire"})
    swept = [{"spacing_us": 0.0, "offered_us": 4.8, "wire": 2e9},
             {"spacing_us": 4.0, "offered_us": 4.3, "wire": 3e9}]  # fmt: skip
    sweep = replace(result(1.0), measured=Measured(details={"points": swept}))
    row = repeat.figure(found, found.points[0], sweep)
    assert (row["measured"], row["asked"], row["offered"]) == (2000, 0.0, 4.8)
    with pytest.raises(TrialError, match=r"^void: a spacing of 4.3 µs, not 4 µs$"):
        repeat.figure(found, replace(found.points[0], figure="details.points.1.wire"), sweep)
    far = repeat.round_trip(study.Point("a", 1, rtt_ms=72.9), 98.5)
    assert report.missed(far) == "a round trip of 98.5 ms, not 72.9 ms"
    assert not report.missed(repeat.round_trip(study.Point("a", 1, rtt_ms=72.9), 91.581))
    assert not repeat.round_trip(study.Point("a", 1), 0.1)
    shown = [report._offered({"point": "a", **one}) for one in (row, far, {"asked": 2e6})]
    assert shown == ["4.8 µs / back to back", "98.5 ms / 72.9 ms", "not recorded / 2 Mb/s"]
    assert report._paced({"rows": [far, {**far, "asked": 4.04}]})
    assert not report._paced({"rows": [far, far]}), "the round trip of the path is a condition"


def test_a_point_that_says_nothing_is_void_and_the_offered_rate_stands_beside_the_asked() -> None:
    found = study.parse("s", {**MINIMAL, "figure": "loss.percent", "scale": 1.0})
    lossy = Measured(sent_bits_per_second=9e6, loss=Loss(1000, 990))
    asked = replace(result(None), measured=lossy, options=Options(rate=9e6))
    row = repeat.figure(found, found.points[0], asked)
    assert (row["measured"], row["asked"], row["offered"]) == (1.0, 9e6, 9e6)
    rare = replace(found.points[0], published=0.002)
    with pytest.raises(TrialError, match=r"^void: 1,000 packets cannot show a loss of 0\.002 %$"):
        repeat.figure(found, rare, asked)
    for check in checks.VOID:
        wrong = replace(asked, checks=(Check(check, ok=False, because="slow"),))
        with pytest.raises(TrialError, match=r"^void: slow$"):
            repeat.figure(found, found.points[0], wrong)
    rows: list[Any] = [{"point": "a", "published": 5, **row}, {"point": "b", "published": 1}]
    shown = report.text({"study": "s", "title": "t", "paper": "p", "place": "x", "unit": "%",
                         "conditions": {}, "requires": [], "notes": [], "rows": rows})  # fmt: skip
    assert re.search(r"measured +offered / requested +ratio", shown)
    assert "9 Mb/s / 9 Mb/s" in shown


def test_a_point_reads_another_figure_of_an_earlier_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    more = {"figure": "retransmits", "unit": "segments", "scale": 1.0, "published": 0}
    points = [{"name": "a", "published": 400}, {"name": "a, lost", "of": "a", **more},
              {"name": "b", "published": 1}, {"name": "b, lost", "of": "b", **more}]  # fmt: skip
    found = study.parse("s", {**MINIMAL, "point": points})
    runs: list[TrialResult] = []

    def run(*_: object) -> TrialResult:
        if len(runs) == 2:
            raise TrialError("it broke")
        runs.append(replace(result(5e8), measured=Measured(bits_per_second=5e8, retransmits=7)))
        return runs[-1]

    monkeypatch.setattr(repeat, "look", lambda *_: PAIR)
    monkeypatch.setattr("nettop.trials.results.keep", lambda *_: None)
    monkeypatch.setattr("nettop.trials.run.run", run)
    first, lost, *_ = repeat.run(found, Options(), only="a")["rows"]
    assert (len(runs), first["measured"], lost["measured"]) == (1, 500, 7)
    rows = repeat.run(found, Options())["rows"]
    said = [row.get("measured", row.get("skipped")) for row in rows]
    assert said == [500, 7, "it broke", "it broke"]
    with pytest.raises(study.StudyError, match="there is no earlier trial 'b'"):
        study.parse("s", {**MINIMAL, "point": [points[3], points[2]]})


def test_a_study_runs_what_it_can_and_says_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        {"name": "one", "published": 400},
        {"name": "jumbo", "published": [1, 3], "mtu": 9000},
        {"name": "two", "published": "none"},
    ]
    found = study.parse("s", {**MINIMAL, "point": points, "conditions": {"nic": "<old>"}})
    monkeypatch.setattr(repeat, "look", lambda *_: PAIR)
    monkeypatch.setattr("nettop.trials.results.keep", lambda *_: None)
    seen = []

    def run(tool: str, options: Options, *_: object) -> TrialResult:
        seen.append(tool)
        if len(seen) == 2:
            raise TrialError("it broke")
        return result(5e8)

    monkeypatch.setattr("nettop.trials.run.run", run)
    document = repeat.run(found, Options(), cancel=threading.Event())
    rows = document["rows"]
    assert rows[0]["measured"] == 500
    assert rows[1]["skipped"] == "needs MTU 9000 at both ends; it is 1500"
    assert rows[2]["skipped"] == "it broke"
    assert seen == ["bulk", "bulk"]
    for form in (report.text, report.markdown):
        said = form(document)
        for part in ("one", "400", "500", "1.25", "needs MTU 9000", "1 – 3", "it broke"):
            assert part in said
    assert report.published(1_488_095.2) == "1,488,095.2"
    assert report.published([40_000, 1e6]) == "40,000 – 1,000,000"


def test_a_remark_of_many_points_stands_once_below_the_table() -> None:
    rows = [{"point": f"p{n}", "published": 5, "skipped": why} for n, why in
            enumerate(["no rings", "no rings", "no rings", "a|b c", "a|b c"])]  # fmt: skip
    document = {"study": "s", "title": "t", "paper": "p", "place": "x", "unit": "%", "rows": rows,
                "conditions": {}, "requires": (), "notes": ()}  # fmt: skip
    said = report.markdown(document)
    assert said.count("no rings") == 1
    assert said.endswith("| (1) |\n| p3 | 5 | – |  | a\\|b c |\n| p4 | 5 | – |  | a\\|b c |\n\n"
                         "- (1): no rings\n")  # fmt: skip


def test_every_point_that_is_a_change_names_a_point_of_its_study() -> None:
    changed = [
        point for name in study.names() for point in study.load(name).points if point.against
    ]
    assert len(changed) > 100
    nasa = {point.name: point.against for point in study.load("nasa-2").points}
    assert nasa["gro off, MTU 9000"] == "gro on, MTU 9000"
    first, *others = study.load("nasa-3").points
    assert first.against == ""
    assert {point.against for point in others} == {first.name}


def test_a_baseline_that_is_no_point_is_told() -> None:
    table = tomllib.loads((study.folder() / "nasa-3.toml").read_text())
    with pytest.raises(study.StudyError, match="nasa-3: there is no point 'nothing'"):
        study.parse("nasa-3", {**table, "baseline": "nothing"})
