"""Samples of cores: lines, classes, shares, and the words of each class."""

import re
import tomllib
from bisect import bisect_left
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from folded import folded
from hypothesis import given
from hypothesis import strategies as st

from nettop import config
from nettop.collect import profiles
from nettop.facts import work
from nettop.frame.rates import Partly
from nettop.host.recording import Replay
from nettop.sampling.sampler import Sampler

CALL = "entry_SYSCALL_64_after_hwframe;do_syscall_64;__x64_sys_sendto;__sys_sendto;tcp_sendmsg"
SOFT = "do_idle;default_idle_call;asm_sysvec_call;handle_softirqs;net_rx_action;__napi_poll"
TEXT = f"""5.000
clock 99 3 4
3 0 0 40 - cpu_startup_entry;do_idle;cpuidle_idle_call;default_idle swapper
3 0 0 61 - {SOFT};ip_rcv;nf_hook_slow;nft_do_chain;nft_meta_get_eval swapper
3 812 811 20 - {CALL};rep_movs_alternative my program
3 812 811 10 - {CALL};some_new_helper my program
3 812 811 9 libcrypto.so.3 - my program
1 900 900 5 python3.11 - python
"""
PATHS = {
    "copy": f"{CALL};skb_do_copy_data_nocache;_copy_from_iter",
    "checksum": f"{CALL};__dev_queue_xmit;validate_xmit_skb;skb_checksum_help;csum_partial",
    "GRO/GSO": f"{SOFT};my_poll;napi_gro_receive;dev_gro_receive;tcp4_gro_receive",
    "netfilter": f"{SOFT};ip_rcv;nf_hook_slow;nft_do_chain",
    "conntrack": f"{SOFT};ip_rcv;nf_hook_slow;nf_conntrack_in",
    "qdisc": f"{CALL};__dev_queue_xmit;htb_enqueue",
    "locks": f"{CALL};__dev_queue_xmit;_raw_spin_lock;native_queued_spin_lock_slowpath",
    "driver": f"{SOFT};quite_new_card_poll;quite_new_card_refill",
    "IOMMU": f"{CALL};my_xmit;dma_map_page_attrs;iommu_dma_map_page",
    "XDP/BPF": f"{SOFT};my_poll;bpf_prog_6deef7357e7b4530_sample",
    "TCP": f"{SOFT};ip_rcv;tcp_v4_rcv;tcp_ack",
    "packets": f"{SOFT};ip_rcv;udp_queue_rcv_skb",
    "calls": "entry_SYSCALL_64_after_hwframe;do_syscall_64",
    "crypto": f"{CALL};tls_push_record;crypto_aead_encrypt;aes_gcm_enc_update_vaes_avx10_256",
    "wakeups": f"{SOFT};ip_rcv;tcp_rcv_established;sock_def_readable;try_to_wake_up",
    "pages": f"{SOFT};my_poll;page_pool_alloc_pages",
    "cgroup statistics": "do_syscall_64;vfs_read;seq_read;memcg_stat_show;mem_cgroup_iter",
    "poll": "entry_SYSCALL_64_after_hwframe;do_syscall_64;__x64_sys_epoll_wait;do_epoll_wait",
    "interrupts": "do_idle;default_idle;asm_common_interrupt",
    "idle": "cpu_startup_entry;do_idle;cpuidle_idle_call;default_idle;pv_native_safe_halt",
    "other": "ret_from_fork;kthread;damon_do",
}


def entries() -> list[dict[str, Any]]:
    table = tomllib.loads((config.rules_folder() / "profile-classes.toml").read_text("utf-8"))
    found: list[dict[str, Any]] = table["class"]
    return found


@folded(("name", "path"), PATHS.items())
def test_the_innermost_function_that_is_known_decides(name: str, path: str) -> None:
    stack = profiles.Stack(0, 1, 1, "", tuple(path.split(";")), "x")
    assert stack.work[0] == name


def test_each_class_but_the_program_has_a_stack_here() -> None:
    assert {*PATHS} - {"other"} == {entry["name"] for entry in entries()} - {"program"}


def test_what_a_call_does_is_not_the_call_and_an_unknown_function_is_told() -> None:
    path = ("do_syscall_64", "__x64_sys_openat", "path_openat", "ext4_lookup")
    assert profiles.Stack(0, 1, 1, "", path, "x").work == ("other", "ext4_lookup")


def test_a_program_is_its_mapped_file_and_some_files_are_known() -> None:
    assert profiles.Stack(0, 1, 1, "nginx", (), "x").work == ("program", "nginx")
    assert profiles.Stack(0, 1, 1, "libcrypto.so.3", (), "x").work == ("crypto", "libcrypto.so.3")


def test_lines_become_rows_by_core_thread_class_and_function() -> None:
    rows = profiles.parse(TEXT)
    assert {(r.core, r.thread, r.work, r.function): r.samples for r in rows} == {
        (3, 0, "idle", "do_idle"): 40, (3, 0, "netfilter", "nft_meta_get_eval"): 61,
        (3, 812, "copy", "rep_movs_alternative"): 20, (3, 812, "TCP", "tcp_sendmsg"): 10,
        (3, 812, "crypto", "libcrypto.so.3"): 9, (1, 900, "program", "python3.11"): 5,
    }  # fmt: skip
    assert {(r.pid, r.name) for r in rows if r.thread == 812} == {(811, "my program")}
    assert profiles.samples(TEXT)[:5] == (5.0, "clock", 99, 3, 4)


def test_one_bad_line_hides_no_other_one() -> None:
    rows = profiles.parse(TEXT + "3 812 811 x - a b\n")
    assert isinstance(rows, Partly)
    assert len(rows) == len(profiles.parse(TEXT))
    for text in ("", "5.000\n", "5.000\nclock 99 3\n", "x\n" * 3, "5.0\nclock 99 0 0\n1 2 3\n"):
        with pytest.raises(ValueError, match=r"profile|stack|enough|unpack"):
            profiles.parse(text)


@given(st.text())
def test_any_text_is_rows_or_a_value_error(text: str) -> None:
    for one in (text, f"5.000\nclock 99 0 0\n{text}"):
        try:
            rows = profiles.parse(one)
        except ValueError:
            continue
        assert all(isinstance(row, profiles.Row) for row in rows)


def test_what_a_core_and_a_thread_do_is_said_from_twenty_samples_on() -> None:
    frame = Sampler(Replay(f"-- @0.000 --\n-- bpf/profile --\n{TEXT}")).take(["profiles"])
    assert not frame.missing
    cores = work.cores(frame.tables["profiles"])
    assert {*cores} == {3}  # core 1 has five samples
    doing = cores[3]
    assert doing.text == "61 % netfilter (nft_meta_get_eval), 20 % copy, 10 % TCP, 9 % crypto"
    assert (doing.work, doing.share) == ("netfilter", 61.0)
    assert "flowtable" in (doing.relief or "")
    assert work.threads(frame.tables["profiles"])[812].text == (
        "51 % copy (rep_movs_alternative), 26 % TCP, 23 % crypto"
    )
    assert 900 not in work.threads(frame.tables["profiles"])


def test_a_function_belongs_to_one_class_and_a_class_is_complete() -> None:
    patterns = [p for one in entries() for key in ("functions", "alone", "files")
                for p in one.get(key, ())]  # fmt: skip
    assert [name for name, count in Counter(patterns).items() if count > 1] == []
    assert [one for one in patterns if "*" in one[:-1]] == []
    for one in entries():
        assert one.keys() - {"functions", "alone", "files", "absent"} == {
            "name", "means", "cause", "advice", "rests",
        }  # fmt: skip
        assert not one["means"].endswith(".")
        assert one["cause"].endswith(".")
        assert one["advice"].endswith(".")
        for sentence in re.split(r"(?<=\.) ", f"{one['cause']} {one['advice']}"):
            assert len(sentence) <= 300, sentence


def symbols() -> set[str]:
    try:
        lines = [line.split() for line in Path("/proc/kallsyms").read_text("utf-8").splitlines()]
    except OSError:
        return set()
    hidden = all(set(line[0]) == {"0"} for line in lines)
    return set() if hidden else {line[2].partition(".")[0] for line in lines if line[1] in "tTwW"}


def test_each_class_knows_functions_of_the_running_kernel() -> None:
    known = sorted(name for name in symbols() if not name.startswith("__pfx_"))
    if not known:
        pytest.skip("the kernel hides the names of its functions")

    def there(pattern: str) -> bool:
        begin = re.split(r"[*?[]", pattern, maxsplit=1)[0]
        names = known[bisect_left(known, begin) : bisect_left(known, f"{begin}\x7f")]
        return any(fnmatchcase(name, pattern) for name in names)

    for one in entries():
        found = [pattern for pattern in one.get("functions", ()) if there(pattern)]
        assert len(found) >= min(2, len(one.get("functions", ()))) or one.get("absent"), one["name"]
