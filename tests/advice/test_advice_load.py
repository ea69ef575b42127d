"""Rule files: what is wrong with one is said with file, line and key."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from nettop.advice.judge.inline_facts import facts
from nettop.advice.judge.rule_tests import check
from nettop.advice.rules.load import RuleError, load, read
from nettop.facts import Facts
from nettop.files import bounds

GOOD = """\
title    = "{nic} is slow"
severity = "warning"
over     = "nic"
when     = "nic.mtu < limits.least"
why      = "why"

[limits]
least = 1000

[[source]]
doc   = "a book"
place = "page 1"

[[fix]]
set = "link.mtu@{nic}"
to  = "1500"

[[test]]
finds = true
nic   = { mtu = 900 }

[[test]]
finds = false
nic   = { mtu = 1500 }
"""


def write(folder: Path, text: str, name: str = "slow-nic.toml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_file_is_parsed_again_when_its_text_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command, screen and test of a process loads all rules."""
    path = write(tmp_path / "mtu", GOOD)
    first = read(path)
    parse = Mock(side_effect=bounds.tables)
    monkeypatch.setattr(bounds, "tables", parse)
    assert read(path) is first
    parse.assert_not_called()
    path.write_text(GOOD.replace("1000", "1001"))
    assert read(path)[0].limits == {"least": 1001}
    parse.assert_called_once()


def test_any_toml_is_understood_in_a_rule_of_the_users(tmp_path: Path) -> None:
    exempt = '[[unless]]\nwhen = "nic.mtu > 8000"\nsay = """see\n[[source]]\nof it"""\n'
    write(tmp_path / "mtu", GOOD.replace("[[source]]", f"{exempt}\n[[source]]"))
    (rule,) = load([tmp_path])
    assert len(rule.unless) == 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("title ", "titel ", ":1: titel: unknown key (did you mean title?)"),
        ('why      = "why"\n', "", "why: missing"),
        ('severity = "warning"', 'severity = "warn"', ":2: severity: 'warn' is none of"),
        ('over     = "nic"', 'over     = "nics"', "did you mean nic?"),
        ("nic.mtu <", "nic.mtuu <", ":4: when: unknown field nic.mtuu (did you mean mtu?)"),
        ("limits.least", "limits.last", "unknown limit limits.last (did you mean least?)"),
        ("nic.mtu < limits.least", "nic.mtu", ":4: when: a condition must be true or false"),
        ("least = 1000", 'least = "1000"', ":8: limits.least: neither number nor list"),
        ("[[source]]\n", "[[sorce]]\n", "sorce: unknown key (did you mean source?)"),
        ('doc   = "a book"\n', "", "source[0]: a source has either paper or doc"),
        ('to  = "1500"', "to  = 1500", ":16: fix[0].to: must be an expression in quotes"),
        ('to  = "1500"', "to  = \"'fq'\"", ":16: fix[0].to: \"'fq'\" is a text"),
        ('to  = "1500"', 'to  = "nic.up"', "is a yes/no, link.mtu@{nic} a number"),
        ('to  = "1500"', 'to  = { lan = "1" }', "'lan' is none of"),
        ('to  = "1500"', "", "a fix has set and to, or advice"),
        ("{nic} is", "{nik} is", ":1: title: unknown name 'nik'"),
        ("link.mtu@{nic}", "link.mtu@{pid}", "{pid} has no meaning in a rule over nic"),
        ("why      =", "hold = -1\nwhy      =", ":5: hold: must be a number from 0"),
        ("why      =", 'links = ["nics"]\nwhy      =', ":5: links: 'nics' is none of"),
        ("why      =", 'profiles = ["lan"]\nwhy      =', ":5: profiles: 'lan' is none of"),
        ("why      =", 'show = "nic.mtu"\nwhy      =', ":5: show: must be a list of texts"),
        ("why      =", 'unless = [{ when = "nic.up" }]\nwhy      =', "when and say are both"),
        ("why      =", "why      = 5 #", ":5: why: not a text"),
        ("why      =", "why", "slow-nic.toml"),
        ("[[fix]]", '[[competing]]\ndoc = "x"\n[[fix]]', "competing[0]: because is missing"),
        ("finds = true", "find = true", "test[0]: unknown key find (did you mean finds?)"),
        ("mtu = 900", "mtuu = 900", "test[0]: nic.mtuu: no such field (did you mean mtu?)"),
        ("mtu = 900", 'mtu = "900"', "test[0]: nic.mtu: a number is required"),
        ("finds = false", "finds = true", "add a [[test]] with `finds = false`"),
        ("finds = true", "finds = false", "add a [[test]] with `finds = true`"),
        ("finds = true", 'finds = true\nprofile = "lan"', "profile 'lan' is none of"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(RuleError) as error:
        check(path)
    assert said in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_tests_stand_last(tmp_path: Path) -> None:
    text = GOOD + '\n[[fix]]\nadvice = "late"\n'
    with pytest.raises(RuleError, match=r":26: all \[\[test\]\] must come last"):
        read(write(tmp_path, text))


CASES = """\
severity = "warning"
over     = "nic"
title    = "{nic} is $how"
why      = "why"

[limits]
least = 1000

[[source]]
doc   = "a book"
place = "page 1"

[[test]]
finds = false
nic   = { mtu = 1500 }

[[case]]
id    = "slow-nic"
words = { how = "slow" }
when  = "nic.mtu < limits.least"
[[case.fix]]
advice = "Pay $$5: it is $how."
[[case.test]]
finds = true
nic   = { mtu = 900 }

[[case]]
id       = "long-nic"
words    = { how = "long" }
severity = "info"
when     = "nic.mtu > limits.most"
[case.limits]
most = 9000
[[case.source]]
doc = "another book"
[[case.fix]]
set = "link.mtu@{nic}"
to  = "9000"
[[case.test]]
finds = true
title = "eth0 is long"
nic   = { mtu = 9001 }
"""


def test_cases_are_rules_that_share_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "mtu", CASES, "mtu-wrong.toml")
    long, slow = load([tmp_path])
    assert [(one.id, one.surface, one.path) for one in (slow, long)] == [
        ("slow-nic", "mtu", str(path)), ("long-nic", "mtu", str(path))
    ]  # fmt: skip
    assert (slow.severity, long.severity) == ("warning", "info")
    assert (slow.limits, long.limits) == ({"least": 1000}, {"least": 1000, "most": 9000})
    assert [one["doc"] for one in long.words.sources] == ["a book", "another book"]
    assert slow.words.title.form() == "{nic} is slow"
    assert str(slow.words.fixes[0].advice.form()) == "Pay $5: it is slow."  # type: ignore[union-attr]
    assert [(one.rule, one.finds, one.why) for one in check(path)] == [
        ("slow-nic", False, ""), ("slow-nic", True, ""),
        ("long-nic", False, ""), ("long-nic", True, ""),
    ]  # fmt: skip
    (mine,) = load([tmp_path], {"long-nic": {"most": 1}})[:1]
    assert mine.limits["most"] == 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("nic.mtu > limits", "nic.mtuu > limits", ":31: case long-nic: when: unknown field"),
        ("most = 9000", 'most = "x"', ":33: case long-nic: limits.most: neither number"),
        ('to  = "9000"', "to  = 9000", ":38: case long-nic: fix[0].to: must be"),
        ('doc = "another book"', "", ":34: case long-nic: source[1]: a source has either"),
        ("why      =", "whi      =", ":4: case slow-nic: whi: unknown key"),
        ("over     =", 'id = "x"\nover =', "case slow-nic: id: unknown key"),
        ('id    = "slow-nic"', "", "case None: id: a case has the id of its rule"),
        ('id    = "slow-nic"', 'id = "Slow"', "lower-case words with dashes"),
        ('id    = "slow-nic"', 'id = "long-nic"', "case long-nic: id: a case has the id"),
        ('how = "long"', "hew = 5", ":29: case long-nic: words: must be a table of texts"),
        ('how = "long"', 'hew = "x"', ":29: case long-nic: words: $how has no word"),
        ("[[case]]", "[case]", "mtu-wrong.toml:17: "),
        ("[[case.source]]", "[[source]]", ":34: what is common stands before the first [[case]]"),
        ("nic   = { mtu = 900 }\n", 'nic   = { mtu = 900 }\n[[case.fix]]\nadvice = "a"\n',
         ":26: all [[test]] must come last in the file or case"),
        ("mtu = 9001", "mtu = 8001", "does not find"),
        ("mtu = 9001 }\n", "mtu = 9001 }\n" + 63 * "[[case]]\n", "more than 64 cases, the"),
        (CASES, "case = []", "mtu-wrong.toml: case: write [[case]]"),
        (CASES, "case = [3]", "mtu-wrong.toml: case: write [[case]]"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_case_is_said(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in CASES
    path = write(tmp_path, CASES.replace(old, new, 1), "mtu-wrong.toml")
    try:
        told = [one.why for one in check(path) if one.why]
        load([tmp_path])
    except RuleError as error:
        told = [str(error)]
    assert said in " ".join(told)


def test_a_name_is_words_with_dashes(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="lower-case words"):
        read(write(tmp_path, GOOD, "Slow_NIC.toml"))


def test_two_rules_of_one_folder_cannot_share_an_id(tmp_path: Path) -> None:
    write(tmp_path / "a", GOOD)
    write(tmp_path / "b", GOOD)
    with pytest.raises(RuleError, match="the id slow-nic is taken by"):
        load([tmp_path])


def test_limits_are_overridden_by_the_configuration(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    (rule,) = load([tmp_path], {"slow-nic": {"least": 2000}})
    assert rule.limits == {"least": 2000}


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"slow-nik": {"least": 1}}, "limits.slow-nik: no such rule (did you mean slow-nic?)"),
        ({"slow-nic": {"last": 1}}, "limits.slow-nic.last: the rule has no such limit"),
        ({"slow-nic": {"least": "x"}}, "limits.slow-nic.least cannot be 'x'"),
        ({"slow-nic": {"least": True}}, "limits.slow-nic.least cannot be True"),
        ({"slow-nic": {"least": ["a"]}}, "limits.slow-nic.least cannot be"),
        ({"slow-nic": 5}, "limits.slow-nic must be a table"),
    ],
)
def test_limits_that_cannot_be(tmp_path: Path, limits: Any, said: str) -> None:
    write(tmp_path, GOOD)
    with pytest.raises(RuleError) as error:
        load([tmp_path], limits)
    assert said in str(error.value)


@pytest.mark.parametrize("key", ["yields", "after"])
def test_a_rule_that_names_no_rule_is_left_out_and_reported(tmp_path: Path, key: str) -> None:
    write(tmp_path, GOOD)
    write(tmp_path, GOOD.replace("[limits]", f'{key} = ["slow-nik"]\n\n[limits]'), "other.toml")
    told: list[str] = []
    assert [rule.id for rule in load([tmp_path], tell=told.append)] == ["slow-nic"]
    (fault,) = told
    assert fault.endswith(f"{key}: no such rule slow-nik (did you mean slow-nic?)")
    with pytest.raises(RuleError, match="no such rule slow-nik"):
        load([tmp_path])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('wanted = [["link.mtu@eth0", "9000"]]', "wants [['link.mtu@eth0', '1500']], not"),
        ('advice = "call the vendor"', "advises []"),
        ('title = "fast"', "its title is 'eth0 is slow'"),
        ('target = "eth1"', "does not find"),
    ],
)
def test_expectations_that_are_not_met(tmp_path: Path, line: str, said: str) -> None:
    text = GOOD.replace("finds = true", f"finds = true\n{line}")
    failed = [outcome for outcome in check(write(tmp_path, text)) if not outcome.passed]
    assert len(failed) == 1
    assert said in failed[0].why


def test_a_reason_for_silence_is_compared(tmp_path: Path) -> None:
    text = GOOD.replace("finds = false", 'finds = false\nsilent = "not known"')
    failed = [outcome for outcome in check(write(tmp_path, text)) if not outcome.passed]
    assert len(failed) == 1
    assert failed[0].why.startswith("is silent for another reason: needs")


@pytest.mark.parametrize(
    "why",
    [
        '"a \\"quoted\\" word"',
        "'plain'",
        '"""\nover = \\"\\"\\" \nwhen = "" or "two"\\\n\n"""',
        "'''\nwhen = \"nothing\"\n'''",
    ],
)
def test_prose_in_any_form_moves_no_line(tmp_path: Path, why: str) -> None:
    text = GOOD.replace('"why"', why)
    assert read(write(tmp_path, text))[0].over == "nic"
    path = write(tmp_path, text.replace("least = 1000", "least = {}"))
    line = path.read_text().split("\n").index("least = {}") + 1
    with pytest.raises(RuleError, match=f":{line}: limits.least"):
        read(path)
    path = write(tmp_path, text.replace("least = 1000", "least = 10 00"))
    with pytest.raises(RuleError, match=f"at line {line}"):
        read(path)


def test_a_fix_without_a_setting_is_reported_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("[[test]]", "[[fix]]\n\n[[test]]", 1))
    line = path.read_text().split("\n").index("[[test]]") - 1
    with pytest.raises(RuleError, match=rf":{line}: fix\[1\]: "):
        check(path)


@pytest.mark.parametrize(("fact", "form"), [
    ('nic = { features = ["rx-gro"] }', "nic.features: a table is required"),
    ("nic = { private_flags = true }", "nic.private_flags: a table is required"),
    ('path = { stages = "ring" }', "path.stages: a list of tables is required"),
])  # fmt: skip
def test_a_fact_of_another_form_is_a_sentence(tmp_path: Path, fact: str, form: str) -> None:
    path = write(tmp_path, GOOD.replace("nic   = { mtu = 900 }", fact))
    with pytest.raises(RuleError, match=form):
        check(path)


def test_earlier_facts_and_recordings(tmp_path: Path) -> None:
    text = GOOD.replace("nic.mtu < limits.least", "worst(nic.per_s.ring_drops, 60) > limits.least")
    more = "\nbefore = { nic = { per_s = { ring_drops = 2000 } } }\nago = 30"
    text = text.replace("nic   = { mtu = 900 }", "nic = { mtu = 900 }" + more)
    path = write(tmp_path, text)
    assert all(outcome.passed for outcome in check(path))
    late = write(tmp_path, text.replace("ago = 30", "ago = 90"))
    assert [o.number for o in check(late) if not o.passed] == [1]

    def recorded(name: str, profile: str | None) -> list[Facts]:
        assert (name, profile) == ("hosts/a.host", None)
        return [facts({"nic": {"mtu": 900}}, "server")]

    text = GOOD.replace("nic   = { mtu = 900 }", 'recorded = "hosts/a.host"')
    assert all(outcome.passed for outcome in check(write(tmp_path, text), recorded))
