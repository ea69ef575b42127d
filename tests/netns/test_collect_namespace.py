"""Collectors inside a network namespace: its own interfaces, sockets and parameters, no others."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from changes_netns import run, tables

pytestmark = pytest.mark.netns
NAME = f"nt-procsys-{os.getpid()}"
READ = "netdev netclass queues kernel sysctls irqs sockets_udp".split()


@pytest.fixture(scope="module")
def seen() -> Iterator[dict[str, list[dict[str, Any]]]]:
    run("ip", "netns", "add", NAME)
    try:
        pair = "link add va numrxqueues 2 numtxqueues 2 type veth peer name vb"
        run("ip", "-n", NAME, *pair.split())
        run("ip", "-n", NAME, "link", "set", "va", "up")
        yield tables(NAME, *READ)
    finally:
        run("ip", "netns", "del", NAME)


def test_only_its_own_interfaces(seen: dict[str, list[dict[str, Any]]]) -> None:
    assert {row["name"] for row in seen["netdev"]} == {"lo", "va", "vb"}
    carrier = {row["name"]: row["carrier"] for row in seen["netclass"]}
    assert set(carrier) == {"lo", "va", "vb"}
    assert carrier["vb"] is None  # down: unknown, not without carrier
    queues = {f"{row['nic']}/{row['name']}" for row in seen["queues"]}
    assert {"va/rx-0", "va/rx-1", "va/tx-0", "va/tx-1", "vb/rx-0"} <= queues
    assert seen["irqs"] == seen["sockets_udp"] == []


def test_it_is_known_to_be_a_namespace_of_its_own(seen: dict[str, list[dict[str, Any]]]) -> None:
    assert [row["container"] for row in seen["kernel"]] == [True]
    names = {row["name"] for row in seen["sysctls"]}
    assert "net.ipv4.tcp_rmem" in names
    assert "net.core.netdev_max_backlog" not in names
