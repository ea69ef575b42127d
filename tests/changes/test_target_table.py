"""Where the target of a change is, for every way in which it may have gone."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from nettop import settings
from nettop.changes import context, target
from nettop.changes.entry import JournaledChange
from nettop.changes.namespaces import Namespace

NODE = "ifindex 3 node 401 device 0000:01:00.0 port 0"  # one device, wherever it is
VAGUE = "ifindex 3"  # any device with this index
OTHER = "ifindex 9 node 999"
RING = JournaledChange(
    7, 0.0, "ring.rx@eth0", "256", "4096", boot="b1", netns="4026", netns_cookie="1",
    netns_name="web", identity=NODE,
)  # fmt: skip
SYSCTL = replace(RING, setting="sysctl.net.ipv4.tcp_sack", identity="")
HERE = context.Netns("4026", "1", "")
THERE = context.Netns("5000", "2", "")


def survey(*spaces: Namespace, complete: bool = True, settled: bool = True) -> Any:
    def device(wanted: Any) -> Any:
        every = ((space, n, i) for space in spaces for n, i in space.devices.items())
        return next(((space, n) for space, n, i in every if wanted(n, i)), None)

    return SimpleNamespace(
        found=spaces, complete=complete, device=device, unseen="only root sees all of them",
        settled=settled, again=lambda: None,
    )  # fmt: skip


def space(cookie: str = "1", inode: str = "4026", **devices: str) -> Namespace:
    return Namespace(f"/run/netns/{inode}", inode, cookie, "web", devices)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`find` on a host with these devices: identity by name."""

    def find(
        entry: JournaledChange, devices: dict[str, str], *, here: context.Netns = HERE,
        real: bool = True, boot: str = "b1", driven: bool = False,
        shown: tuple[str, ...] = ("lo",), **more: Any,
    ) -> tuple[str | None, str, bool]:  # fmt: skip
        source = SimpleNamespace(listing=lambda _path: [*shown, *devices])
        host: Any = SimpleNamespace(source=source, real=real)
        monkeypatch.setattr(context, "boot", lambda: boot)
        monkeypatch.setattr(context, "netns", lambda: here)
        monkeypatch.setattr(target, "_driven", lambda _hardware: driven)
        monkeypatch.setattr(
            settings, "identity", lambda _source, address: devices.get(address.nic, "")
        )
        one = target.find(entry, host, **more)
        return str(one.address) if one.address is not None else None, one.because, one.gone

    return find


def test_a_device_is_found_by_what_it_is(found: Any) -> None:
    assert found(RING, {"eth0": NODE}) == ("ring.rx@eth0", "", False)
    assert found(RING, {"eth0": OTHER, "lan0": NODE}) == ("ring.rx@lan0", "", False)
    part = replace(RING, setting="rps.cpus@eth0/rx-0")
    assert found(part, {"lan0": NODE}) == ("rps.cpus@lan0/rx-0", "", False)
    # it was moved here from another namespace
    assert found(RING, {"eth0": NODE}, here=THERE) == ("ring.rx@eth0", "", False)


def test_after_a_reboot_only_files_are_left(found: Any) -> None:
    gone = (None, "the host was rebooted: the change is gone", True)
    assert found(RING, {"eth0": NODE}, boot="b2") == gone
    assert found(SYSCTL, {}, boot="b2") == gone
    assert found(replace(RING, boot=""), {"eth0": NODE}, boot="b2")[0] == "ring.rx@eth0"
    assert found(RING, {"eth0": NODE}, boot="")[0] == "ring.rx@eth0"
    kept = replace(RING, setting="kept.sysctl@net.ipv4.tcp_sack", identity="")
    assert not settings.runtime(kept.address)
    assert found(kept, {}, boot="b2")[2] is False


def test_a_vague_identity_counts_only_where_the_change_was_made(found: Any) -> None:
    vague = replace(RING, identity=VAGUE)
    assert found(vague, {"eth0": VAGUE})[0] == "ring.rx@eth0"
    elsewhere = found(vague, {"eth0": VAGUE}, here=THERE)
    assert elsewhere == (None, "made in network namespace web: undo it there", False)
    assert found(vague, {"eth0": VAGUE}, here=THERE, force=True)[0] == "ring.rx@eth0"


@pytest.mark.parametrize(
    ("here", "ours"),
    [
        (HERE, True), (THERE, False), (context.Netns("5000", "1", ""), True),
        (context.Netns("4026", "2", ""), False), (context.Netns("4026", "", ""), True),
        (context.Netns("5000", "", ""), False),
    ],
)  # fmt: skip
def test_a_cookie_says_more_than_an_inode(found: Any, here: context.Netns, ours: bool) -> None:
    wanted = "sysctl.net.ipv4.tcp_sack" if ours else None
    assert found(SYSCTL, {}, here=here)[0] == wanted
    assert found(replace(RING, identity=""), {}, here=here)[0] == ("ring.rx@eth0" if ours else None)
    old = replace(SYSCTL, netns_cookie="")
    assert (found(old, {}, here=here)[0] is not None) is (here.inode == "4026")
    assert found(replace(old, netns=""), {}, here=here)[0] is not None


def test_a_change_of_another_namespace_names_it(found: Any) -> None:
    def told(*spaces: Namespace, **more: Any) -> tuple[str | None, str, bool]:
        answer: tuple[str | None, str, bool] = found(
            more.pop("entry", SYSCTL), {}, here=THERE, survey=survey(*spaces, **more)
        )
        return answer

    way = space().way("undo 7")
    assert told(space()) == (None, f"made in network namespace web: {way}", False)
    assert told(space("9", "9"), space()) == told(space())
    assert told() == (None, "network namespace web is gone, and the change with it", True)
    unseen = (
        "made in network namespace web, which cannot be seen from here: only root sees all of them"
    )
    assert told(complete=False) == (None, unseen, False)
    # without a cookie the inode decides
    assert told(space("", "4026"))[1].startswith("made in network namespace web: ")
    assert told(space("9", "4026"))[2] is True
    nameless = replace(SYSCTL, netns_name="")
    assert told(entry=nameless) == (None, "network namespace is gone, and the change with it", True)
    assert found(nameless, {}, here=THERE) == (
        None,
        "made in another namespace: undo it there",
        False,
    )


def test_a_device_that_is_not_here(found: Any) -> None:
    away = "eth0 is not in this network namespace"
    maybe = f"{away}; the one that was changed may be in another namespace"
    assert found(RING, {}) == (None, maybe, False)
    assert found(RING, {"eth0": OTHER})[1].startswith("eth0 is another device now; the one")
    assert found(RING, {}, survey=survey()) == (
        None, "eth0 is gone, and the change with it", True,
    )  # fmt: skip
    anew = "eth0 was created anew: the change is gone with the old one"
    assert found(RING, {"eth0": OTHER}, survey=survey()) == (None, anew, True)
    assert found(RING, {"eth0": OTHER}, real=False) == (None, anew, True)
    only = (
        "eth0 is not in this network namespace, and may be in another one: "
        "only root sees all of them"
    )
    assert found(RING, {}, survey=survey(complete=False)) == (None, only, False)
    ban = replace(RING, setting="irqbalance.ban@eth0")
    assert found(ban, {}, survey=survey())[1] == settings.kind("irqbalance").FORGETS


def test_a_device_is_not_gone_while_devices_come_and_go(found: Any) -> None:
    """It may have passed between the looks; what was found where it is holds all the same."""
    with pytest.raises(OSError, match="because devices come and go"):
        found(RING, {}, survey=survey(settled=False))
    there = found(RING, {}, survey=survey(space("9", "9", eth0=NODE), settled=False))
    assert there[1].startswith("eth0 is now in network namespace web: ")
    again = survey(settled=False)
    again.again = lambda: setattr(again, "settled", True)
    assert found(RING, {}, survey=again)[2] is True
    with pytest.raises(OSError, match="because devices come and go"):  # so may a namespace
        found(SYSCTL, {}, here=THERE, survey=survey(settled=False))


def test_a_device_is_not_gone_where_no_interface_is_shown(found: Any) -> None:
    with pytest.raises(OSError, match="no interface is shown"):
        found(RING, {}, shown=(), survey=survey())


def test_a_device_that_is_in_another_namespace(found: Any) -> None:
    far = space("9", "9", eth0=NODE)
    way = far.way("undo 7")
    assert found(RING, {}, survey=survey(far)) == (
        None, f"eth0 is now in network namespace web: {way}", False,
    )  # fmt: skip
    renamed = space("9", "9", lan0=NODE)
    assert found(RING, {}, survey=survey(renamed))[1] == (
        f"eth0 is now lan0 in network namespace web: {way}"
    )
    vague = replace(RING, identity=VAGUE)
    maybe = found(vague, {}, survey=survey(space("9", "9", eth0=VAGUE)))
    assert maybe[1] == (
        "eth0 may be the one that is now in network namespace web; if it is: "
        + far.way("undo 7 --force")
    )
    assert found(vague, {}, survey=survey(space("9", "9", lan0=VAGUE)))[2] is True


def test_hardware_with_a_driver_that_nobody_shows_is_not_gone(found: Any) -> None:
    unseen = found(RING, {}, survey=survey(), driven=True)
    assert unseen == (
        None, "eth0 (0000:01:00.0 port 0) is in a network namespace that cannot be seen from here",
        False,
    )  # fmt: skip
    anew = "ifindex 9 node 999 device 0000:01:00.0 port 0"
    assert found(RING, {"eth0": anew}, survey=survey(), driven=True)[2] is True
    assert found(RING, {}, survey=survey(space("9", "9", x=anew)), driven=True)[2] is True
    assert found(replace(RING, identity="ifindex 3 node 401"), {}, survey=survey(), driven=True)[2]


@pytest.mark.parametrize(
    ("now", "address", "because"),
    [
        ("start 5", "process.affinity@7", ""),
        ("start 6", None, "7 is another one now: nothing was changed"),
        ("", None, "7 is gone, and the change with it"),
    ],
)  # fmt: skip
def test_a_process_is_one_that_began_when_it_did(
    found: Any, now: str, address: str | None, because: str
) -> None:
    entry = replace(RING, setting="process.affinity@7", identity="start 5")
    for here in (HERE, THERE):  # a process is of the host
        assert found(entry, {"7": now}, here=here) == (address, because, address is None)
    assert found(replace(entry, identity=""), {"7": now})[0] == "process.affinity@7"
