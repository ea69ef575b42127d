"""A setting of a real driver: changed, seen in the kernel, taken back, and all is as it was."""

import re
import textwrap
import time
from collections.abc import Callable
from difflib import unified_diff
from pathlib import Path

import pytest
from hang import until
from lab.inside.changed import CHANGES
from lab.inside.kernel import INTEL, VMWARE, Nettop, affinity, see

pytestmark = pytest.mark.topology("two-nodes")


@pytest.mark.parametrize(
    ("setting", "value", "read", "nic"),
    CHANGES,
    ids=[f"{change[0].split('@')[0]}-{number}" for number, change in enumerate(CHANGES)],
)
def test_set_then_undo_is_the_identity(
    nettop: Nettop, setting: str, value: str, read: Callable[[str], str], nic: str
) -> None:
    before = read(nic)
    assert before != value
    code, done = nettop("set", setting, value, "--confirm", "120")
    assert code == 0, done
    (change,) = done["changes"]
    assert change["state"] in ("applied", "pending"), change
    assert read(nic) == value
    code, undone = nettop("undo", "--all")
    assert (code, undone["changes"][0]["state"]) == (0, "undone"), undone
    until(lambda: read(nic) == before)  # a link that fell comes back within seconds


@pytest.mark.parametrize(
    ("setting", "value"),
    [(f"channels.combined@{VMWARE}", "4"), (f"pause.rx@{VMWARE}", "off"),
     (f"coalesce.rx-usecs@{VMWARE}", "10"), (f"channels.combined@{INTEL}", "2"),
     (f"ring.rx@{INTEL}", "100000")],
    ids=["vmxnet3-channels", "vmxnet3-pause", "vmxnet3-coalesce", "e1000e-channels",
         "ring-too-large"],
)  # fmt: skip
def test_what_the_driver_cannot_do_is_refused_in_one_sentence(
    nettop: Nettop, capsys: pytest.CaptureFixture[str], setting: str, value: str
) -> None:
    code, done = nettop("set", setting, value)
    assert code in (2, 4)
    told = [change["because"] for change in done.get("changes", ()) if change["state"] == "refused"]
    told = told or [capsys.readouterr().err.strip() or str(done.get("error"))]
    assert len(told) == 1
    assert told[0]
    assert "\n" not in told[0]
    assert "Traceback" not in told[0]


def shown() -> str:
    """All that the system's own tools say of both NICs."""
    words = [
        *(["ethtool", option, INTEL] for option in ("-g", "-c", "-a", "-k")),
        *(["ethtool", option, VMWARE] for option in ("-g", "-k")),
        *(["ip", "-details", "link", "show", "dev", nic] for nic in (INTEL, VMWARE)),
        *(["tc", "qdisc", "show", "dev", nic] for nic in (INTEL, VMWARE)),
    ]
    said = "\n".join(see(*line) for line in words) + affinity(INTEL) + affinity(VMWARE)
    rows = re.sub(r"(qdisc \w+|parent) [0-9a-f]+:", r"\1 :", said).splitlines()
    return "\n".join(sorted(rows))  # tc tells the queues in the order of their handles


def settled(then: str) -> None:
    """A link that fell comes back within seconds."""
    until(
        lambda: shown() == then,
        lambda: "\n".join(unified_diff(then.split("\n"), shown().split("\n"))),
    )


TASK = re.compile(r"cmd: \|\n((?: {10}.*\n)+)")
PRINTED = {
    f"pause.autoneg@{INTEL}": "off",
    f"pause.rx@{INTEL}": "off",
    f"ring.rx@{INTEL}": "512",
    f"ring.tx@{INTEL}": "1024",
    f"coalesce.rx-usecs@{INTEL}": "50",
    f"feature.tx-checksum-ip-generic@{INTEL}": "off",
    f"qdisc.root@{INTEL}": "fq maxrate 1gbit",  # before the MTU, of which the kernel makes its own
    f"link.mtu@{INTEL}": "1400",
    f"irq.affinity@{INTEL}/rx-0": "5",
    f"ring.rx@{VMWARE}": "512",
    f"ring.rx-jumbo@{VMWARE}": "64",
    f"irq.affinity@{VMWARE}/rx-0": "3",
    f"qdisc.leaves@{VMWARE}": "fq_codel target 10ms",
}


@pytest.mark.full
def test_what_is_printed_does_what_apply_does(
    nettop: Nettop, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands, script and the playbook's own tasks; ansible itself runs in tests/netns."""
    from nettop.cli import main

    before, lines, states = shown(), [], []
    for setting, value in PRINTED.items():
        _, done = nettop("set", setting, value, "--confirm", "300")
        states.append((setting, done["changes"][0]["state"]))
        lines.append(done["changes"][0]["shell"])
    nettop("confirm")
    assert [one for one in states if one[1] not in ("applied", "pending")] == []
    time.sleep(5)
    after = shown()
    code, undone = nettop("undo", "--all")
    assert code == 0, undone
    nettop("confirm")
    settled(before)

    texts = {}
    for how in ("shell", "ansible"):
        capsys.readouterr()
        main(["export", "--format", how, *(f"{one}={value}" for one, value in PRINTED.items())])
        texts[how] = capsys.readouterr().out
    for line in lines:
        see("sh", "-c", line)
    settled(after)
    see("sh", "-c", texts["shell"], "sh", "undo")
    settled(before)
    for way, then in (("apply", after), ("undo", before)):
        for _ in range(2):
            see("sh", "-c", texts["shell"], "sh", way)
            settled(then)
    there, back = ([textwrap.dedent(task) for task in TASK.findall(play)]
                   for play in texts["ansible"].split("\n\n"))  # fmt: skip
    assert len(there) == len(back) == len(PRINTED)
    for tasks, then in ((there, after), (back, before)):
        for changes in (True, False):
            for task in tasks:
                said = see("sh", "-c", task).strip().splitlines()
                assert ("changed" in said) is changes, task
                settled_link()
            settled(then)


def settled_link() -> None:
    """Until the link is there again: some tools show another value while it is not."""
    carrier = Path(f"/sys/class/net/{INTEL}/carrier")
    until(lambda: carrier.read_text().strip() == "1")
