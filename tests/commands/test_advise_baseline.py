"""`advise --baseline` and `--format nagios`: what is new, and the line of a monitoring plugin."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from box_parts import finding
from folded import folded

from nettop.advice.judge.judge import Judgement
from nettop.advice.rules.rule import Finding
from nettop.cli import main
from nettop.commands import _baseline, _nagios, advise
from nettop.commands._baseline import Baseline, Known, key, since
from nettop.config import ConfigError
from nettop.frame.rates import Frame
from nettop.terms.errors import Refused

DEMO = str(Path(__file__).parents[2] / "rules/demo.host.gz")
# the grammar of performance data: 'label'=value[unit];[warn];[crit];[min];[max]
_DATA = re.compile(r"[a-z]+=\d+(\.\d+)?s?(;\d*;\d*;\d*)?")


def baseline(*findings: tuple[str, str], host: str = "web1", rules: str = "r") -> Baseline:
    known = tuple(Known(name, severity, f"{name} held") for name, severity in findings)
    return Baseline(host, 1e9, "0.1", rules, known)


def change(
    before: Baseline, now: Sequence[Finding], muted: Sequence[Finding] = (), **more: object
) -> _baseline.Since:
    judgement = Judgement(tuple(now), tuple(muted))
    return since(before, "web1", judgement, rules="r", **more)  # type: ignore[arg-type]


def test_only_what_was_not_there_is_new_and_the_rest_has_gone() -> None:
    before = baseline(("a@eth0", "warning"), ("b@eth0", "advice"))
    got = change(before, [finding("a", severity="warning"), finding("c")])
    assert [one.id for one in got.new] == ["c@eth0"]
    assert [one.id for one in got.gone] == ["b@eth0"]
    assert got.remarks == ()


def test_a_finding_that_became_more_severe_is_new_and_less_severe_is_not() -> None:
    before = baseline(("a@eth0", "warning"), ("b@eth0", "critical"))
    got = change(before, [finding("a"), finding("b", severity="advice")])
    assert [one.id for one in got.new] == ["a@eth0"]
    assert got.gone == ()


@folded(
    ("one", "other", "same"),
    [
        ("r@iperf3[440]", "r@iperf3[7]", True),
        ("r@10.0.0.1:60370>10.0.0.2:5201", "r@10.0.0.1:40000>10.0.0.2:5201", True),
        ("r@10.0.0.1:60370>10.0.0.2:5201", "r@10.0.0.1:60370>10.0.0.2:5202", False),
        ("r@10.0.0.1:60370>10.0.0.2:5201", "r@10.0.0.1:60370>10.0.0.3:5201", False),
        ("r@[2001:db8::1]:443>[2001:db8::2]:51000", "r@[2001:db8::1]:443>[2001:db8::2]:51", False),
        ("r@eth0/rx-0", "r@eth0/rx-1", False),
    ],
)
def test_numbers_of_one_run_do_not_make_a_finding_new(one: str, other: str, same: bool) -> None:
    assert (key(one) == key(other)) is same


def test_a_muted_finding_has_not_gone_and_neither_has_one_that_was_not_looked_at() -> None:
    before = baseline(("a@eth0", "warning"), ("b@eth1", "warning"))
    assert [one.id for one in change(before, [], [finding("a")]).gone] == ["b@eth1"]
    assert [one.id for one in change(before, [], interface="eth0").gone] == ["a@eth0"]
    assert change(before, [], judged=False).gone == ()


def test_another_host_and_other_rules_are_remarked() -> None:
    other = change(baseline(host="web2", rules="old"), [])
    assert other.remarks == (
        "the baseline is of another host, web2",
        "the baseline was made with other rules (nettop 0.1)",
    )
    assert change(baseline(rules=""), []).remarks == (
        "the baseline does not say with which rules it was made",
    )


def test_the_digest_is_of_the_files_and_the_thresholds(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("x = 1\n")
    first = _baseline.digest([str(tmp_path)], {})
    assert first == _baseline.digest([str(tmp_path)], {})
    assert first != _baseline.digest([str(tmp_path)], {"a": {"drops": 1}})
    (tmp_path / "a.toml").write_text("x = 2\n")
    assert first != _baseline.digest([str(tmp_path)], {})


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "3", '"text"', "{}", '{"findings": 3, "host": "a"}',
        '{"findings": [], "host": 3}', '{"findings": [], "host": "a", "system": {"at": "now"}}',
        '{"findings": [], "host": "a", "system": {"at": 1e300}}', '{"findings": [[]], "host": "a"}',
        '{"findings": [{"id": "a"}], "host": "a"}',
        '{"findings": [{"id": "a", "severity": "bad", "title": ""}], "host": "a"}',
        "[" * 5000, "\0" * 40,
    ],
)  # fmt: skip
def test_a_file_that_is_no_such_document_is_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "old.json"
    path.write_text(text)
    with pytest.raises(Refused, match="not a document of `nettop advise --json`") as refused:
        _baseline.read(str(path))
    assert refused.value.code == 2
    assert "\n" not in str(refused.value)


def test_a_baseline_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(Refused, match="cannot read the baseline") as refused:
            _baseline.read(str(path))
        assert refused.value.code == 3


def test_the_document_of_a_run_is_the_baseline_of_the_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "before.json"
    assert main(["advise", "--json", "--replay", DEMO]) == 1
    path.write_text(capsys.readouterr().out)
    words = ["advise", "--replay", DEMO, "--baseline", str(path)]
    assert main(words) == 0
    assert "Nothing new since 2026-11-20 17:10:29 UTC, 0 gone." in capsys.readouterr().out
    document = json.loads(path.read_text())
    old = {"id": "old@eth9", "severity": "info", "title": "it held"}
    path.write_text(json.dumps({**document, "findings": [old], "host": "web2"}))
    assert main([*words, "--json"]) == 1
    got = json.loads(capsys.readouterr().out)
    assert [one["id"] for one in got["findings"]] == ["rx-ring-overrun@ens2np0"]
    assert got["baseline"]["gone"] == [old]
    assert got["baseline"]["remarks"] == ["the baseline is of another host, web2"]
    assert main([*words, "--fail-on", "never"]) == 0
    out = capsys.readouterr().out
    assert "1 new since 2026-11-20 17:10:29 UTC, 1 gone." in out
    assert "✓ gone: old@eth9  it held\nthe baseline is of another host, web2\n" in out


def plugin(
    capsys: pytest.CaptureFixture[str], findings: Sequence[Finding], *, level: int = 1,
    lacking: str | None = None, before: Baseline | None = None,
) -> tuple[int, list[str]]:  # fmt: skip
    """The state and the lines, whose grammar is checked."""
    difference = None if before is None else change(before, findings)
    code = _nagios.report(findings, level, Frame(0.0, 0.0, {}), lacking, 5.0, difference)
    lines = capsys.readouterr().out.splitlines()
    text, _, data = lines[0].partition(" | ")
    assert text.startswith(f"NETTOP {_nagios.STATES[code]} - ")
    assert "|" not in text + data
    assert all(_DATA.fullmatch(part) for part in data.split(" "))
    assert not any("|" in line for line in lines[1:])
    assert len("\n".join(lines).encode()) <= _nagios.MOST
    return code, lines


@folded(
    ("severities", "level", "state"),
    [
        ((), 1, 0), (("critical",), 1, 2), (("warning",), 1, 1), (("warning", "critical"), 1, 2),
        (("advice", "info"), 1, 0), (("advice",), 2, 1), (("info",), 3, 1), (("critical",), -1, 0),
        (("warning",), 0, 0),
    ],
)  # fmt: skip
def test_the_state_follows_severity_and_level(
    capsys: pytest.CaptureFixture[str], severities: Sequence[str], level: int, state: int
) -> None:
    findings = [finding(f"r{n}", severity=name) for n, name in enumerate(severities)]
    assert plugin(capsys, findings, level=level)[0] == state


def test_the_first_line_has_thresholds_and_the_others_the_findings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, lines = plugin(capsys, [finding("a"), finding("b", severity="advice")])
    text = "NETTOP CRITICAL - 1 critical, 1 advice: a@eth0: a holds; b@eth0: b holds"
    data = "critical=1;;0;0 warning=0;0;;0 advice=1;;;0 info=0;;;0 time=5s"
    assert lines == [
        f"{text} | {data}",
        "critical a@eth0: a holds",
        "advice b@eth0: b holds",
    ]


def test_pipes_line_breaks_and_controls_cannot_break_the_format(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, lines = plugin(capsys, [finding("a", target="x|y\nOK | a=1\r\x1b[2J")])
    assert len(lines) == 2
    assert "x¦y OK ¦ a=1" in lines[0]
    assert "\x1b" not in "".join(lines)


def test_a_host_that_cannot_be_judged_is_unknown_unless_something_is_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, lines = plugin(capsys, [], lacking="no counters")
    assert code == 3
    assert "not enough to judge: no counters" in lines[0]
    assert plugin(capsys, [finding("a")], lacking="no counters")[0] == 2


def test_many_findings_are_cut_with_their_number(capsys: pytest.CaptureFixture[str]) -> None:
    _, lines = plugin(capsys, [finding(f"rule-{n}", target="e" * 90) for n in range(500)])
    assert lines[0].count("@") == _nagios.FEW
    assert lines[-1] == f"… and {500 - (len(lines) - 2)} lines more"
    assert plugin(capsys, [finding("a", target="é" * 5000)])[0] == 2


def test_with_a_baseline_only_new_findings_raise_the_state(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, lines = plugin(capsys, [], before=baseline(("a@eth0", "critical")))
    assert code == 0
    assert "nothing new since 2001-09-09 01:46:40 UTC" in lines[0]
    assert lines[1] == "gone: a@eth0: a@eth0 held"


@folded(
    "words",
    [
        "advise --format nagios --seconds soon", "advise --format nagios --typo",
        "advise --format=nagios more words", "advise --profile none --format nagios",
        "--netns a advise --format nagios --host b", "--typo advise --format nagios",
        "advice --format nagios", "watch --format nagios", "advise --format nagios --replay",
        "advise --format nagios --baseline /none --replay /none",
        "advise --format Nagios", "advise --format=NAGIOS", "advise --seconds 1 --format nagois",
        "advise --format naigos", "advise --format icinga", "advise --format 'nagios'",
    ],
)  # fmt: skip
def test_a_usage_error_is_unknown_in_one_line(
    capsys: pytest.CaptureFixture[str], words: str
) -> None:
    assert main(words.split()) == _nagios.UNKNOWN
    out, err = capsys.readouterr()
    assert re.fullmatch(r"NETTOP UNKNOWN - [^\n|]+\n", out)
    assert err == ""


def test_an_error_of_nettop_or_of_a_file_is_unknown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["advise", "--format", "nagios", "--replay", DEMO]
    for error in (ConfigError("config.toml: no | table\nhere"), KeyError("x"), OSError(5, "gone")):

        def fail(*_: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr(advise, "observe", fail)
        assert main(words) == _nagios.UNKNOWN
        out, err = capsys.readouterr()
        assert re.fullmatch(r"NETTOP UNKNOWN - [^\n|]+\n", out)
        assert err == ""


def test_what_is_refused_is_unknown_with_its_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "--format", "nagios", "--replay", "/none"]) == 3
    out = capsys.readouterr().out
    assert re.fullmatch(r"NETTOP UNKNOWN - [^\n|]+\n", out)
    assert main(["advise", "--format", "nagios", "--json", "--replay", DEMO]) == 3
    assert main(["advise", "--baseline", "x", "--peer", "ssh a"]) == 2
    capsys.readouterr()
    for form in ("json", "html", "text", "csv", ""):  # no plugin was meant
        assert main(["advise", "--format", form]) == 2
        assert capsys.readouterr().out == ""
