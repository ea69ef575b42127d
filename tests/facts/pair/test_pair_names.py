"""The short name of a host: what is shown where its command prefix has no room."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from scenes import healthy

from nettop.facts.pair.words import short
from nettop.panes import page
from nettop.terms.text import text_of
from nettop.views.both import names
from nettop.views.scene import SceneOrigin
from nettop.views.view import View

LONG = "ssh -p 2222 -i /home/user/.ssh/a_key root@web1"


@pytest.mark.parametrize(
    ("prefix", "name"),
    [
        ("ssh web1", "web1"), ("ssh -p 2222 -i key root@web1", "root@web1"),
        ("ssh web1 sudo", "web1"), ("ssh web1 sudo -n", "web1"), ("ssh web1 env LANG=C", "web1"),
        ("sudo ip netns exec blue", "blue"), ("docker exec -i c1", "c1"),
        ("kubectl exec -i pod --", "pod"), ("web1", "web1"), ("sudo", "sudo"),
    ],
)  # fmt: skip
def test_it_is_the_last_word_that_may_be_a_name(prefix: str, name: str) -> None:
    assert short(prefix) == name


@pytest.mark.parametrize(
    ("prefix", "shown"),
    [("ssh web1", "via ssh web1"), ("ssh -p 2222 -i key root@web1 sudo", "via root@web1")],
)
def test_the_header_has_the_whole_prefix_or_the_name(prefix: str, shown: str) -> None:
    scene = replace(healthy(), origin=SceneOrigin("host", prefix))
    assert f" {shown} " in text_of(page.header(scene, View(), 80))


@pytest.mark.parametrize(
    ("prefix", "name"),
    [("ssh web1", "ssh web1"), (LONG, "root@web1"), (LONG.replace("root@", ""), None)],
)
def test_hosts_of_one_name_are_told_apart(prefix: str, name: str | None) -> None:
    near, far = (SimpleNamespace(host="web1", batches=one) for one in (None, SimpleNamespace()))
    far.batches.name = prefix
    assert names(near, far) == ("web1", name or prefix)
    far.batches = None
    assert names(near, far) == ("web1", "peer")
