"""Which files `nettop fleet` takes, what it says of others, and that none harms it."""

import gzip
import json
import os
import shutil
import sys
from itertools import product
from pathlib import Path
from random import Random
from string import ascii_uppercase
from typing import Any

import fleet_hosts
import pytest

from nettop.box.incident import Incident, save
from nettop.cli import main
from nettop.files import bounds
from nettop.fleet.differing import letters
from nettop.host.archive import RecordedMoment, load, parse
from nettop.host.recording import Replay

HOSTS = Path(__file__).parents[1] / "hosts"
Captured = pytest.CaptureFixture[str]


def host(folder: Path, name: str = "web.json", **changes: object) -> Path:
    """A document of one host with these top-level fields."""
    path = folder / name
    path.write_text(json.dumps({**fleet_hosts.document(0, Random(1)), **changes}))
    return path


def report(capsys: Captured, *paths: Path) -> tuple[dict[str, Any], str]:
    assert main(["fleet", *map(str, paths), "--json"]) == 0
    out, err = capsys.readouterr()
    values: dict[str, Any] = json.loads(out)
    return values, err


def incident(path: Path, name: bytes = b"db1\n") -> Path:
    """An incident made of a recording; its host has this name."""
    _, moments = parse(load(str(HOSTS / "vm-vmxnet3-drops.host")))
    whole = {**moments[0].changed, "/proc/sys/kernel/hostname": name}
    one = Incident("rx-ring-overrun", "enp0s12", "critical", "it loses packets", 0.0, 1.8e9)
    save(path, one, [RecordedMoment(0.0, 1.8e9, whole), *moments[1:3]], 1 << 24)
    return path


def test_a_recording_gives_the_findings_of_advise(capsys: Captured) -> None:
    path = HOSTS / "vm-vmxnet3-drops.host"
    values, _ = report(capsys, path)
    main(["advise", "--replay", str(path), "--json"])
    advise = json.loads(capsys.readouterr().out)
    ids = {f"{row['rule']}@{target}" for row in values["rules"]
           for targets in row["hosts"].values() for target in targets}  # fmt: skip
    assert ids == {one["id"] for one in advise["findings"]} != set()
    assert values["hosts"][0]["host"] == "vm-vmxnet3-drops"  # its own name is a pseudonym
    assert values["hosts"][0]["at"] == advise["system"]["at"]
    assert values["groups"][0]["kernel"] == advise["system"]["kernel"]


def test_a_recording_and_the_document_of_it_are_the_same_host(
    tmp_path: Path, capsys: Captured
) -> None:
    path = HOSTS / "vm-vmxnet3-drops.host"
    main(["advise", "--replay", str(path), "--json"])
    (tmp_path / "vm-vmxnet3-drops.json").write_text(capsys.readouterr().out)
    values, _ = report(capsys, path, tmp_path)
    assert [one["host"] for one in values["hosts"]] == ["vm-vmxnet3-drops"]
    assert values["changed"] == []


def test_a_packed_document_is_recognised_by_its_content(tmp_path: Path, capsys: Captured) -> None:
    path = host(tmp_path)
    (tmp_path / "other").write_bytes(gzip.compress(path.read_bytes().replace(b"web000", b"web001")))
    values, err = report(capsys, tmp_path)
    assert [one["host"] for one in values["hosts"]] == ["web000", "web001"]
    assert err == ""


def test_an_incident_says_what_began_and_ends_no_finding(tmp_path: Path, capsys: Captured) -> None:
    shutil.copy(HOSTS / "vm-vmxnet3-drops.host", tmp_path / "db1.host")
    path = incident(tmp_path / "20270115T080000Z-x.host.gz")
    values, _ = report(capsys, tmp_path)
    (row,) = values["incidents"]
    assert (row["host"], row["id"], row["at"]) == ("db1", "rx-ring-overrun@enp0s12", 1.8e9)
    assert [one["host"] for one in values["hosts"]] == ["db1"]
    assert values["changed"] == []
    assert values["rules"]
    alone, _ = report(capsys, path)
    assert [one["host"] for one in alone["hosts"]] == ["db1"]
    assert "incident" in alone["hosts"][0]["shortfall"]


BAD = {
    "empty": (b"", "empty"),
    "text": (b"hello\n", "not a recording"),
    "list": (b"[1, 2]", "not a recording"),
    "another document": (b'{"schema": 1, "rows": []}', "neither a recording nor a document"),
    "findings are no list": (b'{"findings": {}}', "neither a recording nor a document"),
    "cut": (b'{"findings": [', "Expecting value"),
    "deep": (b'{"findings": ' + b"[" * 100_000, "levels"),
    "nested": (b'{"findings": [' + b'{"a":' * 80 + b"1" + b"}" * 80 + b"]}", "levels"),
    "digits": (b'{"findings": [' + b"9" * 5000 + b"]}", "digits"),
    "no UTF-8": (b'{"findings": ["\xff\xfe"]}', "not UTF-8"),
    "damaged gzip": (gzip.compress(b'{"findings": []}' * 50)[:40], "cut or damaged"),
    "moment": (b"-- @1.0 wall 1.0 --\n-- @x --\n", "not a moment"),
    "nothing in it": (b"-- @1.0 wall 1.0 --\n", ""),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_left_out_with_one_sentence(
    name: str, tmp_path: Path, capsys: Captured
) -> None:
    data, because = BAD[name]
    (tmp_path / "bad").write_bytes(data)
    assert main(["fleet", str(tmp_path)]) == 3
    assert "Traceback" not in capsys.readouterr().err
    host(tmp_path)
    values, err = report(capsys, tmp_path)
    assert [one["host"] for one in values["hosts"]] == ["web000"]
    (row,) = values["left_out"]
    assert row["file"].endswith("/bad")
    assert because in row["because"]
    assert err.count("\n") == 1


def test_a_document_above_its_bound_is_not_unpacked(tmp_path: Path, capsys: Captured) -> None:
    most = bounds.BOUNDS["fleet-document"].most
    with gzip.open(tmp_path / "bomb.json.gz", "wb", 1) as out:
        out.write(b'{"findings": [')
        for _ in range(most // 1_000_000 + 1):
            out.write(b" " * 1_000_000)
    assert main(["fleet", str(tmp_path)]) == 3
    assert "8 MiB" in capsys.readouterr().err


def test_no_file_blocks(tmp_path: Path, capsys: Captured) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside/up").symlink_to(tmp_path)
    host(tmp_path / "inside")
    values, _ = report(capsys, tmp_path)
    assert [one["host"] for one in values["hosts"]] == ["web000"]
    assert {Path(one["file"]).name for one in values["left_out"]} == {"pipe", "loop", "zero"}


def test_an_empty_or_missing_folder_is_named(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["fleet", str(tmp_path / "empty"), str(tmp_path / "none")]) == 3
    err = capsys.readouterr().err
    assert "empty: no file in it" in err
    assert "none: No such file or directory" in err


def test_hidden_files_are_not_read(tmp_path: Path, capsys: Captured) -> None:
    host(tmp_path, ".draft.json")
    (tmp_path / ".git").mkdir()
    host(tmp_path / ".git")
    host(tmp_path)
    values, err = report(capsys, tmp_path)
    assert (len(values["hosts"]), values["left_out"], err) == (1, [], "")


HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e\ud800"


def test_names_of_a_host_can_harm_neither_terminal_nor_page(
    tmp_path: Path, capsys: Captured
) -> None:
    values = fleet_hosts.document(0, Random(1))
    values["host"] = HOSTILE
    values["system"]["kernel"] = HOSTILE
    values["system"]["interfaces"][0] = dict.fromkeys(
        ("name", "kind", "driver", "firmware"), HOSTILE
    )
    values["system"]["settings"] = {HOSTILE: HOSTILE}
    values["findings"] = [fleet_hosts.finding(HOSTILE, HOSTILE, HOSTILE)]
    (tmp_path / f"{HOSTILE[25:29]}.json").write_text(json.dumps(values))
    for number in range(3):
        host(tmp_path, f"{number}.json", host=f"h{number}", findings=[])
    for form in ("text", "html", "json"):
        assert main(["fleet", str(tmp_path), "--format", form]) == 0
        out = capsys.readouterr().out
        assert not {"\x1b", "\u202e"} & set(out)
        assert form == "json" or "alert(1)" in out
        if form == "html":
            assert "<script>" not in out


@pytest.mark.parametrize("at", ["1e300", "-1e300", "1e17", "-5", '"x"', "null", "true"])
def test_a_time_of_any_size_is_printed(at: str, tmp_path: Path, capsys: Captured) -> None:
    path = host(tmp_path)
    raw = json.loads(path.read_text())
    raw["system"]["at"] = "AT"
    path.write_text(json.dumps(raw).replace('"AT"', at))
    for form in ("text", "html", "json"):
        assert main(["fleet", str(path), "--format", form]) == 0
        out = capsys.readouterr().out
        assert "Infinity" not in out
        assert "NaN" not in out


@pytest.mark.parametrize("value", [None, 5, "x", [], {}, [None, 3, {}], {"a": 1}, [[]]])
def test_fields_of_other_types_are_ignored(value: object, tmp_path: Path, capsys: Captured) -> None:
    path = host(tmp_path)
    whole = json.loads(path.read_text())
    for field in ("host", "system", "shortfall"):
        path.write_text(json.dumps({**whole, field: value}))
        report(capsys, path)
    for field in ("interfaces", "settings", "kernel", "at"):
        path.write_text(json.dumps({**whole, "system": {**whole["system"], field: value}}))
        report(capsys, path)
    for field in ("rule", "target", "severity", "title", "changes", "evidence", "host"):
        finding = {**fleet_hosts.finding("r", "t", "f"), field: value}
        path.write_text(json.dumps({**whole, "findings": [finding, value]}))
        report(capsys, path)


def test_a_document_without_inventory_still_has_findings(tmp_path: Path, capsys: Captured) -> None:
    path = host(tmp_path, findings=[fleet_hosts.finding("r", "t", "f")])
    values = json.loads(path.read_text())
    del values["system"]
    path.write_text(json.dumps(values))
    os.utime(path, (1.7e9, 1.7e9))
    report_values, _ = report(capsys, path)
    assert report_values["rules"][0]["hosts"] == {"web000": ["t"]}
    assert report_values["hosts"][0]["at"] == 1.7e9


def test_findings_of_the_other_end_are_not_of_this_host(tmp_path: Path, capsys: Captured) -> None:
    own, other = (fleet_hosts.finding(name, "t", "f") for name in ("own", "other"))
    path = host(tmp_path, findings=[{**own, "host": "web000"}, {**other, "host": "peer"}])
    values, _ = report(capsys, path)
    assert [row["rule"] for row in values["rules"]] == ["own"]


def test_a_page_is_not_written_to_a_terminal(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["fleet", str(host(tmp_path)), "--format", "html"]) == 2
    assert "send it to a file" in capsys.readouterr().err


def test_a_long_recording_is_judged_by_its_last_minute() -> None:
    from nettop.fleet import reading

    _, moments = parse(load(str(HOSTS / "guest-udp-loss.host")))
    text = b"a\n" + b"".join(
        b"-- @%d.0 wall %d.0 --\n" % (at, 1_800_000_000 + at)
        + b"".join(b"-- %b --\n%b" % (name.encode(), body or b"!gone\n")
                   for name, body in moments[min(at, 1)].changed.items())
        for at in range(300)
    )  # fmt: skip
    steps = []

    class Counting(Replay):
        def wait(self, seconds: float) -> bool:
            steps.append(self.now())
            return super().wait(seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "Replay", Counting)
        state = reading.recorded(text, "x.host", lambda name: name).state
    assert 50 < len(steps) <= 61
    assert state.at == 1_800_000_299.0


# The letters of groups, as columns of a spreadsheet.


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "A"), (25, "Z"), (26, "AA"), (27, "AB"), (52, "BA"), (701, "ZZ"), (702, "AAA")],
)
def test_the_letters_of_a_group(number: int, name: str) -> None:
    assert letters(number) == name


def test_the_letters_of_1000_groups_are_in_order() -> None:
    names = ["".join(one) for size in (1, 2, 3) for one in product(ascii_uppercase, repeat=size)]
    assert [letters(number) for number in range(1000)] == names[:1000]
