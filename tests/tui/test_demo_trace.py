"""What the demo does to this host while a change is applied, kept, undone and proved: nothing."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hang import until
from pty_terminal import Terminal
from warm import Warm

CODE = "import sys; sys.path.insert(0, {!r}); import audited; sys.exit(audited.main({!r}, {!r}))"
ASKS = b"DEMO, nothing of this host is changed"
READS = 20  # of the screen, until the key is typed again
SUPPORT = str(Path(__file__).parents[1] / "support")


@pytest.fixture
def demo(tmp_path: Path, warm: Warm) -> Iterator[Terminal]:
    (tmp_path / "home").mkdir()
    code = CODE.format(SUPPORT, str(tmp_path / "trace"), ["--demo"])
    one = Terminal(tmp_path / "home", "-c", code, warm=warm)
    one.resize(120, 40)
    yield one
    one.close()


def press(one: Terminal, key: bytes, shown: bytes) -> None:
    """Type a key, again after some reads, until it has its effect; meanwhile the demo goes on."""
    mark = len(one.seen)

    def typed() -> bool:
        os.write(one.tty, key)
        for _ in range(READS):
            if shown in one.seen[mark:]:
                break
            one.take()
        return shown in one.seen[mark:]

    until(typed, f"{key!r} was not taken")


def test_its_keys_have_no_way_to_a_setting_of_this_host(demo: Terminal, tmp_path: Path) -> None:
    demo.read(b"apply")
    press(demo, b"a", ASKS)
    press(demo, b"\r", b"reverts unless confirmed")
    press(demo, b"c8", b"applied")  # in the journal
    press(demo, b"u", ASKS)
    press(demo, b"\r", b"undone")
    press(demo, b"1p", ASKS)
    press(demo, b"\r", b"demo (shortened)")
    demo.read(b"better; kept")
    press(demo, b"q", b"\x1b[?1049l")
    assert demo.ended() == 0
    *told, last = json.loads((tmp_path / "trace").read_text())
    assert last == f"open {os.devnull}"  # the trace sees what is opened for writing
    assert told == []
    assert [*(tmp_path / "home").iterdir()] == []
