"""What every command prints with --json is what the documented schema says, field by field."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fleet_hosts
import pytest
from folded import folded
from jsonschema import Draft202012Validator
from sentences import no_fault

from nettop import commands
from nettop.box.incident import Incident, save
from nettop.changes import Result, data
from nettop.changes.entry import JournaledChange
from nettop.cli import main
from nettop.commands import schema
from nettop.commands.journal import document
from nettop.host.archive import RecordedMoment
from nettop.trials import results

HERE = Path(__file__).parents[1]
HOST = str(HERE / "hosts/netns-send.host")
OTHER = str(HERE / "hosts/guest-idle.host")
SAMPLES = HERE / "results"  # stored by real runs of `nettop test, prove, sweep, tune, study`
BOX, INCIDENT = "{tmp}/box", "20270115T080000Z-rule"
SACK = "sysctl.net.ipv4.tcp_sack"

RUNS = {
    "advise": ["advise", "--all", "--replay", HOST],
    "watch": ["watch", "--for", "3", "--replay", HOST],
    "explain": ["explain", "test-remembers-the-last", "--replay", HOST],
    "why": ["why", "--replay", HOST],
    "why --to": ["why", "--to", "10.77.1.2:80", "--replay", HOST],
    "rules list": ["rules", "list"],
    "rules show": ["rules", "show", "rx-ring-overrun", "app-on-other-node"],
    "rules check": ["rules", "check", "rules/rings"],
    "rules test": ["rules", "test", "rules/rings"],
    "get": ["get", "link.mtu@lo", SACK, "sysctl.net.ipv4.tcp_rmem", "feature.rx-gro@lo"],
    "set": ["set", SACK, "0", "--dry-run", "--keep"],
    "apply": ["apply", "loss-recovery-crippled@host", "--dry-run", "--root", "{tmp}/root"],
    "confirm": ["confirm"],
    "undo": ["undo", "--all"],
    "journal": ["journal"],
    "mute": ["mute", "rx-ring-overrun"],
    "snapshot": ["snapshot", "--replay", HOST],
    "record": ["record", "{tmp}/some.host", "--replay", OTHER],
    "export": ["export", f"{SACK}=0", "--replay", HOST],
    "compare": ["compare", HOST, OTHER],
    "fleet": ["fleet", HOST, OTHER, "{tmp}/fleet", BOX],
    "journey": ["journey", "--replay", "tests/collect/slow-reader.host"],
    "profile": ["profile", "--replay", "tests/collect/two-thousand-rules.host.gz"],
    "rate": ["rate", "lo", "--seconds", "0.2"],
    "limits": ["limits", "--rtt", "20ms"],
    "test list": ["test", "list"],
    "test": [
        "test",
        "bulk",
        "--to",
        "127.0.0.1",
        "--peer",
        "env",
        "--seconds",
        "1",
        "--warmup",
        "0",
    ],
    "study list": ["study", "list"],
    "study show": ["study", "show", "nasa-2"],
    "incidents list": ["incidents", "--box", BOX],
    "incidents show": ["incidents", "show", INCIDENT, "--box", BOX],
    "incidents export": ["incidents", "export", INCIDENT, "{tmp}/x.host.gz", "--box", BOX],
    "incidents prune": ["incidents", "prune", INCIDENT, "--box", BOX],
    "results list": ["results", "list"],
    "results learned": ["results", "learned", "sysctl.net.ipv4.tcp_rmem"],
    "results show": ["results", "show", "{prove}"],
    "results compare": ["results", "compare", "{one}", "{two}"],
}
EARLIER = {"count": 3, "inside": 1, "failed": True}
FROM_STORE = {
    "test": "test",
    "prove": "prove",
    "sweep": "sweep",
    "tune": "tune",
    "study": "study run",
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has the stored results, and a journal of their own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    store = tmp_path / "state/nettop/results"
    store.mkdir(parents=True)
    for sample in SAMPLES.glob("*.json"):
        (store / sample.name).write_bytes(sample.read_bytes())
    monkeypatch.setenv("NETTOP_STATE", str(tmp_path / "journal"))
    files = {"proc/sys/net/ipv4/tcp_sack": "0\n", "proc/sys/kernel/osrelease": "6.1.0\n",
             "proc/stat": "cpu  1 0 1 1 0 0 0 0 0 0\ncpu0 1 0 1 1 0 0 0 0 0 0\n"}  # fmt: skip
    for name, text in files.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    box = tmp_path / "box"
    box.mkdir()
    incident = Incident("rule", "eth0", "critical", "it fails", 5.0, 1.8e9)
    save(box / f"{INCIDENT}.host.gz", incident, [RecordedMoment(5.0, 1.8e9, {})], 1 << 20)
    fleet_hosts.write(tmp_path / "fleet", 12, 4, 1)
    fleet_hosts.write(tmp_path / "fleet/later", 12, 4, 2)
    return tmp_path


def faults(name: str, found: Any) -> list[str]:
    """What the document has that the schema does not, and the other way round."""
    check = Draft202012Validator(schema.of(name, schema.load()))
    return [f"{error.json_path}: {error.message[:300]}" for error in check.iter_errors(found)]


def words(name: str, home: Path) -> list[str]:
    """The command line, its names of results and processes filled in."""
    stored = sorted(path.stem for path in SAMPLES.glob("*.json"))
    pick = {kind: next((s for s in stored if f"-{kind}" in s), "") for kind in FROM_STORE}
    named = {
        "{tmp}": str(home), "{prove}": pick["prove"], "{one}": pick["test"], "{two}": pick["prove"],
    }  # fmt: skip
    return [re.sub(r"\{\w+\}", lambda hit: named[hit[0]], word) for word in RUNS[name]]


@pytest.mark.parametrize("name", RUNS)
def test_a_command_prints_what_the_schema_says(
    name: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*words(name, home), "--json"])
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines, err
    assert name == "watch" or len(lines) == 1
    for line in lines:
        assert faults(name, json.loads(line)) == []


def test_predictions_and_their_calibration_are_described(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["advise", "--replay", str(HERE.parent / "rules/demo.host.gz"), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert faults("advise", found) == []
    predicted = {**found["findings"][0]["predicted"], "earlier": EARLIER}
    found["findings"][0]["predicted"] = predicted
    assert faults("advise", found) == []
    proof = json.loads(next(SAMPLES.glob("*-prove.json")).read_text())
    del proof["id"], proof["kind"]
    more = {"predicted": predicted, "measured": 5e8, "inside": True, "finding": "a-rule@eth0"}
    assert faults("prove", {"schema": 1, **proof, **more}) == []
    results.keep("prove", {**proof, **more})
    main(["results", "learned", "--json"])
    learned = json.loads(capsys.readouterr().out)
    assert [one["rule"] for one in learned["rules"]] == ["a-rule"]
    assert faults("results learned", learned) == []


@folded("path", sorted(SAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_stored_results_are_what_the_schema_says(path: Path) -> None:
    found = json.loads(path.read_text())
    del found["id"]
    assert faults(FROM_STORE[found.pop("kind")], {"schema": 1, **found}) == []


def test_every_kind_of_result_has_a_sample() -> None:
    assert {json.loads(p.read_text())["kind"] for p in SAMPLES.glob("*.json")} == FROM_STORE.keys()


def undescribed(with_json: set[str], page: schema.Page) -> Iterator[str]:
    """Commands with --json that the schema lacks, and the other way round. Each says what to do."""
    described = {name.partition(" ")[0] for name in page["commands"]}
    for name in sorted(with_json - described):
        yield f"nettop {name} --json: describe each field in src/nettop/schema.json"
    for name in sorted(described - with_json):
        yield f"src/nettop/schema.json describes `nettop {name}`, which has no --json: remove it"
    for name in sorted(page["commands"].keys() - RUNS.keys() - set(FROM_STORE.values())):
        yield f"nettop {name} --json: add its command line to RUNS of tests/commands/test_schema.py"


def test_every_command_with_json_is_described_and_run(capsys: pytest.CaptureFixture[str]) -> None:
    found = set()
    for name in set(commands.names()) - {"schema"}:  # schema prints JSON with and without it
        main([name, "--help"])
        if "--json" in capsys.readouterr().out:
            found.add(name)
    no_fault(undescribed(found, schema.load()))
    assert [one.partition(":")[0] for one in undescribed(found | {"new"}, schema.load())] == [
        "nettop new --json"
    ]


def properties(node: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every property of the page, by name."""
    for name, one in node.get("properties", {}).items() if isinstance(node, dict) else ():
        yield name, one
    for one in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from properties(one)


def test_every_field_says_what_it_means() -> None:
    page = schema.load()
    Draft202012Validator.check_schema(page)
    silent = {n for n, one in properties(page) if not one.get("description") and "$ref" not in one}
    assert silent == set()


def test_a_field_that_is_not_described_is_found() -> None:
    assert faults("mute", {"schema": 1, "muted": []}) == []
    assert faults("mute", {"schema": 1, "muted": [], "more": 1})
    assert faults("mute", {"schema": 1})
    assert faults("mute", {"schema": 2, "muted": []})


@folded(
    ("setting", "text", "value"),
    [
        ("ring.rx@eth0", "4096", 4096),
        ("sysctl.net.ipv4.tcp_rmem", "4096 131072 6291456", [4096, 131072, 6291456]),
        ("sysctl.net.ipv4.tcp_congestion_control", "cubic", "cubic"),
        ("sysctl.net.core.flow_limit_cpu_bitmap", "10", "10"),
        ("nice.value@12", "-5", -5),
        ("feature.rx-gro@eth0", "on", "on"),
        ("irq.affinity@eth0/rx-0", "3", "3"),
        ("rps.cpus@eth0/rx-0", "0-3,8", "0-3,8"),
        ("rps.flow-cnt@eth0/rx-0", "4096", 4096),
        ("process.affinity@12", "0", "0"),
        ("no.such@thing", "5", "5"),
    ],
)
def test_numbers_are_numbers_and_cpu_lists_are_text(
    setting: str, text: str, value: int | str | list[int]
) -> None:
    assert data(setting, text) == value


@pytest.mark.parametrize("state", ["applied", "rounded", "refused", "pending", "undone"])
def test_what_became_of_a_change_is_described(state: str, tmp_path: Path) -> None:
    made = Result("ring.rx@eth0", "256", "4000", state, 3, "4096", "ethtool …", "why", 1e9)
    assert faults("set", {"schema": 1, "changes": [made.json()], "notes": ["irqbalance"]}) == []
    bare = Result("irq.affinity@eth0/rx-0", "0", "1", state)
    assert faults("undo", {"schema": 1, "changes": [bare.json()]}) == []


def test_what_the_journal_says_is_described() -> None:
    full = JournaledChange(
        1, 1e9, "link.mtu@eth0", "1500", "9000", "pending", "9000", who="root", shell="ip link …",
        because="why", deadline=1e9, netns="4026531840",
        side_effects={"feature.tso@eth0": ("on", None)},
    )  # fmt: skip
    bare = JournaledChange(2, 1e9, "irq.affinity@eth0/rx-0", "0", "1")
    told = document(full, "somebody put it back"), document(bare)
    rows = [json.loads(json.dumps(one)) for one in told]
    assert faults("journal", {"schema": 1, "changes": rows, "notices": []}) == []


@pytest.mark.needs("root")
def test_a_setting_that_is_so_already(capsys: pytest.CaptureFixture[str]) -> None:
    main(["get", SACK, "--json"])
    now = json.loads(capsys.readouterr().out)[SACK]["value"]
    assert main(["set", SACK, str(now), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert faults("set", found) == []
    assert found["changes"][0]["state"] == "unchanged"
