"""What a scene shows if it is not this host."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nettop.changes.remote import Remote
from nettop.host.recording import Replay, load
from nettop.host.source import Live
from nettop.tui import leaving
from nettop.tui.notes import not_this_host
from nettop.views.scene import Pending, Scene, SceneOrigin, origin_of

HOSTS = Path(__file__).parents[1] / "hosts"


def far(*, root: bool) -> Any:
    """A source that reads another host by `ssh web1`."""
    return SimpleNamespace(live=False, batches=SimpleNamespace(name="ssh web1", root=root))


def test_this_host_has_no_origin() -> None:
    assert origin_of(Live()) is None
    assert not Scene().distant


@pytest.mark.parametrize(("root", "command"), [(True, "ssh web1"), (False, "ssh web1 sudo")])
def test_a_command_at_another_host_is_run_as_root(root: bool, command: str) -> None:
    assert origin_of(far(root=root)) == SceneOrigin("host", "ssh web1")
    way = Remote(("ssh", "web1"), root=root).way
    question = leaving.question(Scene(pending=(Pending("3", "ring.rx@eth0", 60.0, way),)))
    assert question is not None
    assert f"# {command} nettop confirm 3" in str(question.sheets)


def test_only_a_host_can_be_changed(tmp_path: Path) -> None:
    texts = []
    for source in (
        Replay(load(str(HOSTS / "guest-idle.host"))),
        Live(str(tmp_path)),
        far(root=True),
    ):
        origin = origin_of(source)
        assert origin is not None
        assert Scene(origin=origin).distant == (origin.kind == "host")
        texts.append((origin.text.partition(" ")[0], not_this_host(origin).partition(":")[0]))
    assert texts == [
        ("replay", "this is a recording"),
        ("directory", "this is a directory"),
        ("via", "this is another host"),
    ]
