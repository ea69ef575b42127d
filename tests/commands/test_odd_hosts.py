"""Odd and hostile hosts through the commands: data or one sentence, no absurd rate, nothing a
terminal could obey."""

import base64
import json
import math
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import netlink_bytes as kernel
import pytest
from thinned import thinned

from nettop import panes
from nettop.cli import main
from nettop.host.recording import parse

HOST = Path(__file__).parents[1] / "hosts" / "guest-transfer.host"
OTHER = HOST.with_name("guest-idle.host")
NAMES = [
    ";reboot", "$(reboot)", "a\x1b[31mred", "tab\there", "nl\nx", "e" + "\u0301" * 6, "日本語",
    "\u202eevil", "😀😀", "a\x9bb", "-rf", "--json", "%s%n", "a@b", '"q"', "[b]rich[/]", "CPU0",
]  # fmt: skip
OBEYED = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
NEGATIVE = re.compile(r"(?<![\w.-])-\d[\d.]* ?(%|[kMGT]?b/s|[kM]?pps|/s)")

Tree = dict[str, str]
Moments = list[tuple[float, float, Tree]]


def whole() -> Moments:
    """The recorded host, each moment complete."""
    _, moments = parse(HOST.read_text(encoding="utf-8", errors="surrogateescape"))
    tree: Tree = {}
    out = []
    for moment in moments:
        for name, body in moment.changed.items():
            if body is None:
                tree.pop(name, None)
            else:
                tree[name] = body.decode("utf-8", "surrogateescape")
        out.append((moment.at, moment.wall, dict(tree)))
    return out


def archive(moments: Moments) -> str:
    """The recording in which each moment is all there is."""
    out, last = ["odd\n"], Tree()
    for at, wall, tree in moments:
        out.append(f"-- @{at:.3f} wall {wall:.3f} --\n")
        out += [f"-- {name} --\n!gone\n" for name in last if name not in tree]
        for name, body in tree.items():
            if last.get(name) != body:
                shown = re.sub(r"^(?=\\*-- )", r"\\", body, flags=re.MULTILINE)
                out.append(f"-- {name} --\n{shown}" + ("" if body[-1:] in ("\n", "") else "\n"))
        last = tree
    return "".join(out)


def without(pattern: str) -> Moments:
    return [
        (at, wall, {k: v for k, v in tree.items() if not re.search(pattern, k)})
        for at, wall, tree in whole()
    ]


def changed(pattern: str, change: Callable[[str], str]) -> Moments:
    return [
        (at, wall, {k: change(v) if re.search(pattern, k) else v for k, v in tree.items()})
        for at, wall, tree in whole()
    ]


def every_other(change: Callable[[Tree], Tree]) -> Moments:
    return [
        (at, wall, change(dict(tree)) if number % 2 else tree)
        for number, (at, wall, tree) in enumerate(whole())
    ]


def vanished(tree: Tree) -> Tree:
    """The host without eth0."""
    kept = {k: v for k, v in tree.items() if "eth0" not in k}
    for name, body in kept.items():
        if name.startswith("netlink/") and not body.startswith("!"):
            left = b"".join(m for m in messages(base64.b64decode(body)) if b"eth0\0" not in m)
            kept[name] = base64.b64encode(left).decode() + "\n"
    kept["/sys/class/net/"] = kept["/sys/class/net/"].replace("eth0\n", "")
    return kept


def messages(data: bytes) -> Iterator[bytes]:
    at = 0
    while at + 16 <= len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        yield data[at : at + (size + 3 & ~3)]
        at += max(16, size + 3 & ~3)


def renumbered(tree: Tree) -> Tree:
    """The host with its interrupts 38 and 39 as 138 and 139."""
    tree = {
        re.sub(r"(irq/|msi_irqs/)(3[89])\b", r"\g<1>1\2", name): (
            re.sub(r"^(3[89])$", r"1\1", body, flags=re.MULTILINE) if "msi_irqs" in name else body
        )
        for name, body in tree.items()
    }
    table = tree["/proc/interrupts"]
    tree["/proc/interrupts"] = re.sub(r"^ *(3[89]):", r"1\1:", table, flags=re.MULTILINE)
    return tree


def one_cpu_less(tree: Tree) -> Tree:
    """The host with CPU 1 offline."""
    for name in ("/proc/interrupts", "/proc/softirqs"):
        rows = tree[name].replace("CPU1", "").splitlines()
        tree[name] = "".join(re.sub(r"^(\s*\S+:\s+\d+)\s+\d+", r"\1", r) + "\n" for r in rows)
    tree["/proc/stat"] = re.sub(r"^cpu1 .*\n", "", tree["/proc/stat"], flags=re.MULTILINE)
    tree["/proc/net/softnet_stat"] = tree["/proc/net/softnet_stat"].splitlines()[0] + "\n"
    tree["/sys/devices/system/cpu/online"] = "0\n"
    return tree


def hostile() -> Moments:
    """The host with interfaces, interrupts and processes of hostile names."""
    out = []
    for second, (at, wall, tree) in enumerate(whole()):
        links = counts = b""
        lines = []
        for number, name in enumerate(NAMES):
            cut = name.encode()[:15].decode("utf-8", "ignore")
            links += kernel.link(100 + number, cut, kernel.number(4, 1500))
            counts += kernel.counters(100 + number, second * 1000, 0, second * 10**6, 0)
            if "\n" not in cut:
                lines.append(f"{500 + number}: {second * 9} 5 PCI-MSI {number}-edge {cut}-rx-0\n")
            here = f"/proc/{5000 + number}"
            stat = (
                f"{5000 + number} ({cut}) R 1 1 1 0 -1 0 0 0 0 0 {second * 90} 9 0 0 20 0 1 0 4711"
            )
            tree[f"{here}/stat"] = tree[f"{here}/task/{5000 + number}/stat"] = (
                stat + " 0" * 16 + " 1" + " 0" * 13 + "\n"
            )
            tree[f"{here}/comm"], tree[f"{here}/cmdline"] = cut + "\n", name + "\0-x\0"
        for what, more in (("links", links), ("counters", counts)):
            known = base64.b64decode(tree[f"netlink/route/{what}"])
            tree[f"netlink/route/{what}"] = base64.b64encode(known + more).decode() + "\n"
        tree["/proc/interrupts"] += "".join(lines)
        tree["/proc/sys/kernel/hostname"] = "ho\x1b]0;x\x07st\n"
        out.append((at, wall, tree))
    return out


def sometimes_broken() -> Moments:
    dice = random.Random(7)
    return changed("", lambda v: "!5 Input/output error\n" if dice.random() < 0.3 else v)


HOSTS: dict[str, Callable[[], Moments]] = {
    "as it is": whole,
    "no sysfs": lambda: without("^/sys/"),
    "no /proc/net": lambda: without("^/proc/net"),
    "no netlink": lambda: without("^netlink/|^ioctl/"),
    "no /proc": lambda: without("^/proc/"),
    "no NUMA": lambda: without("/sys/devices/system/node|numa_node"),
    "no topology": lambda: without("/sys/devices/system/"),
    "empty files": lambda: changed("", lambda _: ""),
    "sysfs forbidden": lambda: changed("^/sys", lambda _: "!13 Permission denied\n"),
    "netlink forbidden": lambda: changed("^netlink", lambda _: "!1 Operation not permitted\n"),
    "some files fail": sometimes_broken,
    "files cut": lambda: changed("", lambda v: v[: len(v) // 2]),
    "files reversed": lambda: changed("", lambda v: "\x1b[31m\x00\x9b" + v[::-1]),
    "old softnet": lambda: changed(
        "softnet_stat", lambda v: "".join(" ".join(r.split()[:9]) + "\n" for r in v.splitlines())
    ),
    "counters go back": lambda: [
        (at, wall, tree)
        for (at, wall, _), (_, _, tree) in zip(whole(), reversed(whole()), strict=True)
    ],
    "no time passes": lambda: [(0.0, wall, tree) for _, wall, tree in whole()],
    "interface comes and goes": lambda: every_other(vanished),
    "interrupts renumbered": lambda: every_other(renumbered),
    "a CPU goes offline": lambda: every_other(one_cpu_less),
    "hostile names": hostile,
}


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Run a command; what every output holds to is checked."""
    code = main(words)
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    assert "internal error" not in err, err
    for text in (out, err):
        found = OBEYED.search(text)
        assert found is None, text[max(0, found.start() - 80) :][:160]
    assert not re.search(r"\b(nan|inf)\b", out)
    assert not NEGATIVE.search(out)
    return code, out


def rates(node: Any, path: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from rates(value, f"{path}/{key}")
    elif isinstance(node, list):
        for value in node:
            yield from rates(value, path)
    elif isinstance(node, int | float) and not isinstance(node, bool):
        yield path, node


@pytest.mark.parametrize("kind", thinned(HOSTS, 4))
def test_an_odd_host_is_told_of_all_the_same(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, again = str(tmp_path / "odd.host"), str(tmp_path / "again.host")
    Path(file).write_text(archive(HOSTS[kind]()), encoding="utf-8", errors="surrogateescape")
    where = ("--replay", file)
    judged, out = told(capsys, "advise", "--json", "--all", *where)
    assert judged in (0, 1, 3)  # 3: too little is left of it to judge by
    found = json.loads(out)
    assert found["schema"] == 1
    assert judged != 3 or found["shortfall"]
    assert told(capsys, "advise", "--all", *where)[0] == judged
    assert told(capsys, "watch", *where)[0] in (0, 1, 3)  # 3: it could never be judged
    assert told(capsys, "snapshot", *where)[0] == 0
    _, out = told(capsys, "snapshot", "--json", *where)
    for path, value in rates(json.loads(out)):
        assert math.isfinite(value), path
        assert "per_s" not in path or 0 <= value < 1e13, path
    for name in panes.names():
        for width in ("100", "24") if name in ("overview", "nic") else ("100",):
            assert told(capsys, "show", name, "--once", "--width", width, *where)[0] == 0
    assert told(capsys, "record", again, *where)[0] == 0
    assert told(capsys, "advise", "--replay", again)[0] == judged
    assert told(capsys, "compare", again, str(OTHER))[0] in (0, 1)


def test_a_host_of_which_nothing_can_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ("--root", str(tmp_path))
    for words in (["advise"], ["snapshot"], ["snapshot", "--json"], ["explain", "rx-ring-overrun"]):
        assert told(capsys, *words, "--seconds", "0.2", *where)[0] == 3
    file = tmp_path / "it.host"
    assert told(capsys, "record", str(file), "--seconds", "0.2", *where)[0] == 3
    assert not file.exists()
    assert told(capsys, "show", "overview", "--once", "--interval", "0.1", *where)[0] == 0


def test_a_directory_is_recorded_for_so_long_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "root/proc").mkdir(parents=True)
    (tmp_path / "root/proc/stat").write_text("cpu0 1 2 3 4 5 6 7 8 9 0\n")
    file = str(tmp_path / "it.host")
    words = ["record", file, "--seconds", "0.3", "--interval", "0.1"]
    code, _ = told(capsys, *words, "--root", str(tmp_path / "root"))
    assert code == 0
    assert told(capsys, "snapshot", "--table", "cpu", "--replay", file)[0] == 0
