"""`nettop profile`, and what `why` says of a core and a thread that limit."""

import json
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

from nettop import collect
from nettop.cli import main
from nettop.commands import _witness, why
from nettop.facts import Facts
from nettop.facts.limits import Limit, words
from nettop.facts.limits.words import document
from nettop.host.recording import Replay, load
from nettop.host.source import Live

TESTS = Path(__file__).parents[1]
RULES = str(TESTS / "collect/two-thousand-rules.host.gz")
THREAD = str(TESTS / "hosts/vm-virtio-unsent.host")
CALL = "do_syscall_64;__sys_sendto;tcp_sendmsg"


def run(*args: str) -> int:
    return main(["profile", *args])


@pytest.mark.parametrize(
    ("args", "code", "sentence"),
    [
        (["77"], 2, "no sample of a core 77, nor of a process 77"),
        (["--json", "--format", "folded"], 2, "are two formats"),
        (["--seconds", "11"], 2, "samples are kept for 10 s"),
        (["eth0"], 2, "'eth0' is neither a CPU nor a process number"),
    ],
)
def test_a_wrong_request_is_one_sentence(
    args: list[str], code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*args, "--replay", RULES) == code
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ("!1 sampling needs root\n", "the cores cannot be sampled: sampling needs root"),
        ("5.000\nclock 99 0 0\n", "no sample was taken"),
        ("nonsense\n", "the cores cannot be sampled: not a profile"),
    ],
)
def test_what_cannot_be_sampled_is_one_sentence_and_exit_code_3(
    entry: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.host"
    file.write_text(f"a host\n-- @0.000 --\n-- bpf/profile --\n{entry}", encoding="utf-8")
    assert run("--replay", str(file)) == 3
    assert sentence in capsys.readouterr().err


def test_a_copy_of_proc_has_no_samples(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run("--root", str(tmp_path)) == 3
    assert "the cores cannot be sampled" in capsys.readouterr().err


def test_a_core_that_rests_is_only_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.host"
    file.write_text(
        "a host\n-- @0.000 --\n-- bpf/profile --\n5.000\nclock 99 0 0\n"
        "0 0 0 400 - do_idle swapper\n0 7 7 3 - do_idle;tcp_ack x\n1 7 7 30 nginx - x\n", "utf-8",
    )  # fmt: skip
    assert run("--replay", str(file)) == 0
    out = capsys.readouterr().out
    assert "1 core had little to do: 0\n" in out
    assert "core 1, 100 % busy\n  100 % program (nginx)\n" in out
    assert run("0", "--replay", str(file)) == 0
    assert "core 0, 1 % busy\n  100 % TCP (tcp_ack)\n" in capsys.readouterr().out


class Sampled(Replay):
    """A recording with samples of one thread and one core."""

    def __init__(self, path: str, lines: str) -> None:
        super().__init__(load(path))
        self.lines = f"5.000\nclock 99 0 0\n{lines}"

    def counted(self, what: str) -> str:
        if what != "profile":
            raise FileNotFoundError(2, "not in the recording")
        return self.lines


def of(path: str, lines: str = "") -> tuple[list[Limit], Facts]:
    source = Sampled(path, lines) if lines else Replay(load(path))
    _, facts = why.look(source, 1.0, None, {"profiles"})
    return [one for one in facts.limits if one.stage.stage == "thread"], facts


def test_below_a_thread_that_limits_is_what_it_does() -> None:
    (plain, *_), _ = of(THREAD)
    assert (plain.doing, words.doing(plain)) == (None, "")
    assert "doing" not in json.dumps(document(plain))
    tid = plain.stage.number
    assert plain.stage.name.endswith(f"[{tid}]")
    lines = (
        f"0 {tid} {tid} 60 - {CALL};rep_movs_alternative x\n0 {tid} {tid} 40 - {CALL};tcp_ack x\n"
    )
    (one, *_), facts = of(THREAD, lines)
    assert one.stage.number == tid
    said = f"thread {one.stage.name}: 60 % copy (rep_movs_alternative), 40 % TCP"
    assert f"  {said}" in why.text([one], every=True)
    (flow, *_) = [f for f in facts.flows if f.limit == "thread" and f.limit_doing]
    assert flow.limit_doing == one.doing
    assert "MSG_ZEROCOPY" in (flow.limit_relief or "")
    assert document(one)["limit"]["doing"] == one.doing  # type: ignore[index]
    core = next(core for core in facts.cores if core.cpu == 0)
    assert (core.work, core.work_share, core.doing) == ("copy", 60.0, one.doing)


def test_of_the_core_that_limits_only_its_own_samples_count() -> None:
    (plain, *_), _ = of(THREAD)
    stage = replace(plain.stage, stage="core", name="core 3, which takes the interrupts", number=3)
    core = replace(plain, stage=stage, doing="61 % netfilter (nft_do_chain)")
    assert words.doing(core) == "core 3: 61 % netfilter (nft_do_chain)"


@pytest.mark.parametrize("deep", [True, False])
def test_why_counts_and_samples_only_if_it_may(deep: bool) -> None:
    args = Namespace(no_deep=not deep)
    assert _witness.tables(Live(), args) == ({*collect.deep()} if deep else set())


def test_a_recording_is_asked_for_the_samples_that_it_has() -> None:
    assert _witness.tables(Replay(load(RULES)), Namespace(no_deep=True)) == {"profiles"}
    assert _witness.tables(Replay(load(THREAD)), Namespace(no_deep=False)) == set()


def test_a_host_that_cannot_be_sampled_is_judged_all_the_same() -> None:
    frame, facts = why.look(Replay(load(THREAD)), 1.0, None, {"profiles"})
    assert facts.limits
    assert frame.missing["profiles"].startswith("not in the recording")
