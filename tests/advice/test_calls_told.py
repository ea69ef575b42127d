"""No call that fails at a rate is passed over: each error has a finding, whatever its words."""

import tomllib

from call_lines import called

from nettop.advice.judge.inline_facts import facts
from nettop.advice.judge.judge import Judge
from nettop.advice.rules.load import load
from nettop.config import rules_folder
from nettop.terms.dataclass import picked

FIELDS = "id kind call error means events per_s share opened"


def test_each_call_that_fails_most_times_has_a_finding() -> None:
    judge = Judge(load([rules_folder()]), muted=(), window=0.0)
    text = (rules_folder() / "failed-calls.toml").read_text("utf-8")
    for entry in tomllib.loads(text)["call"]:
        where = {"ip6": "2001:db8::9 53", "unix": "unix -"}.get(entry.get("family"), "10.0.0.9 53")
        for name in entry["calls"]:
            argument = entry.get("argument", "any").split()[0]
            given = (
                f";{argument}=8," if entry.get("family") == "unix" or "argument" in entry else ""
            )
            given += ";" if given else ""
            failed = f"{name}{given} {entry['errno']} 86 7 here {where} app\n"
            one = called(f"{failed}{name}{given} 0 14 7 here {where} app\n")
            if entry["kind"] == "normal" or name == "datagram":
                continue
            assert one is not None, failed
            told = {key: value for key, value in picked(one, FIELDS).items() if value is not None}
            seen = facts({"calls": [{"per_s": 28.7, **told}]}, "server", 1000.0)
            assert "calls-fail" in {found.rule for found in judge.judge(seen).findings}, failed
