"""What `make test` tells at its end, and what counts as left behind on the host."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import untouched
from everything import mended, summary, together
from slow import SLOW


def test_the_summary_counts_names_and_gives_reasons() -> None:
    tallies = [
        {"passed": {"": ["a", "b"]}, "skipped": {"needs root": ["c", "d"], "no mpstat": ["e"]}},
        {"passed": {"": ["f"]}, "failed": {"": ["g"]}, "error": {"": ["h"]}, "rerun": {"": ["i"]}},
        {},
    ]
    assert summary(tallies, checks=0, rules=0) == [
        "3 passed, 2 failed, 3 skipped, 1 tried twice; make check passed; nettop rules test passed",
        "  failed: g",
        "  failed: h",
        "  tried twice: i",
        "  skipped    2: needs root",
        "  skipped    1: no mpstat",
    ]


def test_a_test_that_passes_alone_was_tried_twice_and_one_that_fails_again_failed() -> None:
    first = {"passed": {"": ["a"]}, "failed": {"": ["b", "c"]}, "error": {"": ["d"]},
             "rerun": {"": ["b"]}}  # fmt: skip
    again = {"passed": {"": ["b", "d"]}, "failed": {"": ["c"]}, "rerun": {"": ["c"]}}
    assert summary([mended(first, again)], checks=0, rules=0) == [
        "3 passed, 1 failed, 0 skipped, 3 tried twice; make check passed; nettop rules test passed",
        "  failed: c",
        "  tried twice: b",
        "  tried twice: c",
        "  tried twice: d",
    ]


def test_a_check_that_failed_is_told() -> None:
    assert summary([{}], checks=2, rules=0)[0].endswith(
        "make check failed; nettop rules test passed"
    )
    assert summary([{}], checks=0, rules=1)[0].endswith(
        "make check passed; nettop rules test failed"
    )


def test_commands_run_side_by_side_and_what_the_others_print_comes_at_the_end(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "fifo")  # opening it waits for the other command
    codes = together(
        ["sh", "-c", f"echo first; cat {tmp_path}/fifo"],
        ["sh", "-c", f"echo second; echo wrong >&2; echo third > {tmp_path}/fifo; exit 3"],
    )
    assert codes == [0, 3]
    assert capfd.readouterr().out == "first\nthird\nsecond\nwrong\n"


def test_what_is_marked_slow_is_there() -> None:
    tests = Path(__file__).parents[1]
    for name in " ".join(SLOW.values()).split():
        assert (tests / name).is_dir() or list(tests.rglob(f"{name}.py")), name


def test_what_changed_came_or_went_is_told_and_a_process_that_ended_is_not() -> None:
    before = {"/proc/sys/fs/file-max": "100", "link eth0": "up", "process 7": "sh"}
    after = {"/proc/sys/fs/file-max": "900", "process 9": "sleep 60"}
    assert untouched.differences(before, after) == [
        "/proc/sys/fs/file-max: 100 → 900",
        "link eth0: up → absent",
        "process 9: absent → sleep 60",
    ]


def test_the_taint_of_the_kernel_and_the_links_are_looked_at() -> None:
    state = untouched.state()
    assert "/proc/sys/kernel/tainted" in state
    assert "link lo" in state


def test_no_test_finds_what_its_user_has() -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "NETTOP_STATE"):
        assert "/nettop-home-" in os.environ[name]
