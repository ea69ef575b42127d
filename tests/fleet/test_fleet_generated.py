"""500 generated hosts with planted differences: all are named, none is invented."""

import json
import subprocess
import sys
from collections.abc import Sequence
from html.parser import HTMLParser
from itertools import takewhile
from pathlib import Path
from random import Random

import fleet_hosts
import pytest
from thinned import thinned

from nettop.fleet.differing import Fleet, gathered, natural
from nettop.fleet.reading import readings
from nettop.fleet.report import WIDTH, Document, document, text
from nettop.terms.text import cells

SEEDS = (1, 2, 3)


def fleet(*paths: Path) -> Fleet:
    left: list[str] = []
    result = gathered(readings([str(path) for path in paths], lambda file, why: left.append(why)))
    assert left == []
    return result


def report(*paths: Path) -> Document:
    return document(fleet(*paths), [])


def outliers(values: Document) -> fleet_hosts.Planted:
    return {(r["host"], r["setting"]): (r["value"], r["usual"]) for r in values["settings"]}


@pytest.mark.parametrize("seed", thinned(SEEDS, 4))
def test_every_planted_difference_is_named_and_no_other(tmp_path: Path, seed: int) -> None:
    planted = fleet_hosts.write(tmp_path / "hosts", 500, 25, seed)
    values = report(tmp_path / "hosts")
    both = " or ".join(sorted(fleet_hosts.KERNELS))
    planted = {
        key: (value, both if key[1] == "kernel" else usual)
        for key, (value, usual) in planted.items()
    }
    assert outliers(values) == planted
    assert len(values["hosts"]) == 500
    sizes = [len(group["hosts"]) for group in values["groups"]]
    assert sum(sizes) == 500
    assert min(sizes[:6]) > 70


def test_a_kernel_that_one_host_has_is_named(tmp_path: Path) -> None:
    for number in range(0, 60, 6):
        host = fleet_hosts.document(number, Random(number))
        if number == 30:
            host["system"]["kernel"] = "6.99.0-rc1"
        (tmp_path / f"{number}.json").write_text(json.dumps(host))
    assert outliers(report(tmp_path)) == {
        ("web030", "kernel"): ("6.99.0-rc1", fleet_hosts.KERNELS[0])
    }


def test_a_setting_that_one_host_lacks_or_that_only_one_has_is_named(tmp_path: Path) -> None:
    """Not where a host has no setting of that kind: nettop was not allowed to read them there."""
    for number in range(0, 60, 6):
        host = fleet_hosts.document(number, Random(number))
        settings = host["system"]["settings"]
        nic = min((one["name"] for one in host["system"]["interfaces"]), key=natural)
        settings |= {"sysctl.net.netfilter.nf_conntrack_max": "262144", f"ring.rx-mini@{nic}": "64"}
        if number == 12:
            del settings["sysctl.net.netfilter.nf_conntrack_max"]
        if number == 30:
            settings["sysctl.net.core.rps_sock_flow_entries"] = "32768"
        if number == 36:
            settings[f"coalesce.rx-usecs@{nic}"] = "3"  # adaptive moderation hides it elsewhere
        if number == 42:
            host["system"]["settings"] = {
                name: value for name, value in settings.items() if not name.startswith("ring.")
            }
        (tmp_path / f"{number}.json").write_text(json.dumps(host))
    assert outliers(report(tmp_path)) == {
        ("web012", "sysctl.net.netfilter.nf_conntrack_max"): ("absent", "262144"),
        ("web030", "sysctl.net.core.rps_sock_flow_entries"): ("32768", "absent"),
    }


@pytest.mark.parametrize("value", ["9000 12000 18000", "100 200 300"])
def test_a_value_far_from_those_that_the_memory_explains_is_named(
    tmp_path: Path, value: str
) -> None:
    """The usual values all differ a little, so each of them is on one host only."""
    for number in range(0, 60, 6):
        host = fleet_hosts.document(number, Random(number))
        if number == 30:
            host["system"]["settings"]["sysctl.net.ipv4.tcp_mem"] = value
        (tmp_path / f"{number}.json").write_text(json.dumps(host))
    found = outliers(report(tmp_path))
    assert {key: value for key, (value, _) in found.items()} == {
        ("web030", "sysctl.net.ipv4.tcp_mem"): value
    }


def test_the_hosts_of_a_small_group_are_named(tmp_path: Path) -> None:
    for number in range(0, 60, 6):
        host = fleet_hosts.document(number, Random(number))
        if number == 30:
            host["system"]["interfaces"][0]["driver"] = "other"
        (tmp_path / f"{number}.json").write_text(json.dumps(host))
    lines = list(text(report(tmp_path)))
    (at,) = [at for at, line in enumerate(lines) if "other" in line]
    assert "1 host " in lines[at]
    assert lines[at + 1].strip() == "web030"


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_few_hosts_have_a_usual_value_from_three_on(tmp_path: Path, count: int) -> None:
    for number in range(count):
        host = fleet_hosts.document(6 * number, Random(number))
        if number == 0:
            host["system"]["settings"]["sysctl.net.core.rmem_max"] = "1"
        (tmp_path / f"{number}.json").write_text(json.dumps(host))
    assert len(outliers(report(tmp_path))) == (count >= 3)


def test_three_values_of_about_equal_share_are_no_outliers(tmp_path: Path) -> None:
    for number in range(40):
        host = fleet_hosts.document(6 * number, Random(number))
        host["system"]["settings"]["sysctl.net.core.rmem_max"] = "112"[number % 3] + "00"
        host["system"]["settings"]["sysctl.net.core.wmem_max"] = "11123"[number % 5] + "00"
        (tmp_path / f"{number}.json").write_text(json.dumps(host))
    assert {name for _, name in outliers(report(tmp_path))} == {"sysctl.net.core.rmem_max"}


def test_half_of_the_hosts_are_no_outliers(tmp_path: Path) -> None:
    for number in range(40):
        host = fleet_hosts.document(6 * number, Random(number))
        if number % 2:
            host["system"]["settings"]["sysctl.net.core.rmem_max"] = "1"
        (tmp_path / f"{number}.json").write_text(json.dumps(host))
    assert outliers(report(tmp_path)) == {}


@pytest.mark.parametrize("seed", thinned(SEEDS, 4))
def test_a_setting_explains_the_findings_that_read_it(tmp_path: Path, seed: int) -> None:
    fleet_hosts.write(tmp_path, 120, 20, seed)
    rules = {"ring.rx": "ring-too-small", "nic.pcie.width": "slot-too-narrow",
             "sysctl.net.core.rmem_max": "buffer-differs"}  # fmt: skip
    explained = 0
    for row in report(tmp_path)["settings"]:
        rule = rules.get(row["setting"].partition("@")[0])
        assert [name.partition("@")[0] for name in row["explains"]] == ([rule] if rule else [])
        explained += bool(rule)
    assert explained > 3


def test_what_all_hosts_have_is_explained_by_no_setting(tmp_path: Path) -> None:
    for number in range(9):
        host = fleet_hosts.document(6 * number, Random(number))
        host["system"]["settings"]["sysctl.net.core.rmem_max"] = "1" if number == 4 else "2"
        host["findings"] = [fleet_hosts.finding("x", "host", "sysctl.net.core.rmem_max")]
        (tmp_path / f"{number}.json").write_text(json.dumps(host))
    assert [row["explains"] for row in report(tmp_path)["settings"]] == [[]]


def test_two_dates_show_what_changed(tmp_path: Path) -> None:
    planted: fleet_hosts.Planted = {}
    for day in ("monday", "friday"):
        planted = fleet_hosts.write(tmp_path / day, 60, 0 if day == "monday" else 12, 7)
    for path in (tmp_path / "friday").iterdir():
        host = json.loads(path.read_text())
        monday = json.loads((tmp_path / "monday" / path.name).read_text())
        # the same host: only what was planted differs
        if not any(name == host["host"] for name, _ in planted):
            host["findings"], host["system"]["settings"] = (
                monday["findings"], monday["system"]["settings"]
            )  # fmt: skip
            host["system"]["interfaces"] = monday["system"]["interfaces"]
        host["system"]["at"] = monday["system"]["at"] + 4 * fleet_hosts.DAY
        path.write_text(json.dumps(host))
    for paths in (("monday", "friday"), ("friday", "monday")):
        changed = report(*(tmp_path / name for name in paths))["changed"]
        assert {row["host"] for row in changed} == {name for name, _ in planted}
        for row in changed:
            assert row["to"] > row["from"]
            names = {one["setting"] for one in row["settings"]}
            assert {setting for host, setting in planted if host == row["host"]} <= names


def test_the_text_fits_80_columns_and_is_short(tmp_path: Path) -> None:
    fleet_hosts.write(tmp_path, 500, 60, 5)
    lines = list(text(report(tmp_path)))
    assert max(map(cells, lines)) <= WIDTH
    assert len(lines) < 120


def test_sixteen_lines_of_groups_are_told_and_how_many_more_there_are(tmp_path: Path) -> None:
    fleet_hosts.write(tmp_path, 5, 0, 1)
    document = report(tmp_path)
    document["groups"] = document["groups"] * 20
    lines = list(text(document))
    groups = list(takewhile(str.strip, lines[lines.index("Groups") + 1 :]))
    assert len(groups) == 17
    assert groups[-1].endswith("lines more; --json and --format html have all")


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.outside: list[tuple[str, str | None]] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.outside += [(tag, value) for name, value in attrs if name in ("src", "href", "onload")]


@pytest.mark.nightly
def test_500_hosts_take_little_time_and_memory(tmp_path: Path) -> None:
    fleet_hosts.write(tmp_path / "hosts", 500, 25, 9)
    page = tmp_path / "page.html"
    # of the process itself: getrusage() would report the memory of this one, which it is started by
    program = (
        "import sys, resource; from nettop.cli import main; code = main(sys.argv[1:]);"
        "used = resource.getrusage(resource.RUSAGE_SELF);"
        "most = next(one for one in open('/proc/self/status') if one.startswith('VmHWM:'));"
        "print(most.split()[1], used.ru_utime + used.ru_stime, file=sys.stderr); sys.exit(code)"
    )
    words = [sys.executable, "-c", program, "fleet", str(tmp_path / "hosts"), "--format", "html"]
    with page.open("wb") as out:
        done = subprocess.run(words, stdout=out, stderr=subprocess.PIPE, text=True, check=True)
    most, seconds = done.stderr.split()
    assert int(most) < 300 * 1024  # KiB
    assert float(seconds) < 15  # less than 1 s on an idle machine
    parsed = _Page()
    parsed.feed(page.read_text())
    assert parsed.outside == []
    assert not parsed.tags & {"script", "img", "link", "iframe", "object"}
    assert "web499" in page.read_text()
