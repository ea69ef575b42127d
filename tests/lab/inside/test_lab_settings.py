"""A setting of a real driver: changed, seen in the kernel, taken back, and all is as it was."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from lab.inside.changed import CHANGES
from lab.inside.kernel import INTEL, VMWARE, Nettop

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
    for _ in range(50):  # a link that fell comes back within seconds
        if read(nic) == before:
            break
        time.sleep(0.2)
    assert read(nic) == before


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
