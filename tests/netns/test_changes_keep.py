"""What --keep writes does it: udev, sysctl and the unit's own lines, on a device made anew."""

import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hang import until
from playground import AS_HOST, FOLDERS, Playground, commands, plug_in

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(
        not (shutil.which("udevadm") and all(map(os.path.isdir, FOLDERS))),
        reason="needs udev (systemd's) and its folders",
    ),
]
EARLY = "press Enter again"
QUERY = "\x1b[6n"  # where is the cursor?
RMEM = "sysctl.net.ipv4.tcp_rmem"
WANTED: list[tuple[str, int | str | list[int]]] = [
    (RMEM, [4096, 131072, 67108864]),
    ("link.txqueuelen@va", 5000),
    ("link.mtu@va", 9000),
    ("feature.tx-tcp-segmentation@va", "off"),
    ("feature.rx-gro@va", "on"),
    ("channels.rx@va", 2),
    ("link.gso-max-size@va", 32768),
    ("rps.cpus@va/rx-0", "0"),
    ("rps.flow-cnt@va/rx-1", 4096),
    ("napi.gro-flush-timeout@va", 20000),
    ("feature.tx-gso-partial@va", "off"),
    ("qdisc.root@va", "pfifo limit 500"),
]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Playground]:
    made = Playground("keep", tmp_path / "state")
    try:
        plug_in(made)
        yield made
    finally:
        made.end()


def test_what_was_kept_is_so_again_after_a_boot(place: Playground) -> None:
    before = place.values(dict(WANTED))
    for setting, value in WANTED:
        text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
        made = place.nettop("set", setting, text, "--keep")["changes"]
        if made[-1]["state"] == "pending":
            place.nettop("confirm")
            made = place.nettop("set", setting, text, "--keep")["changes"]
        assert (len(made), made[-1]["state"]) == (2, "applied"), made
    assert place.values(dict(WANTED)) == dict(WANTED)
    files = place.files()
    assert sorted(map(os.path.basename, files)) == [
        "10-nettop-va.link", "90-nettop.conf", "nettop-keep.service",
    ]  # fmt: skip
    assert all("Written by nettop" in text for text in files.values())

    again = [place.nettop("set", s, str(v), "--keep")["changes"] for s, v in WANTED if s != RMEM]
    assert {result["state"] for made in again for result in made} == {"unchanged"}
    assert place.files() == files

    place.see("ip", "link", "del", "va")
    plug_in(place)
    place.see("sysctl", "-qw", "net.ipv4.tcp_rmem=" + " ".join(map(str, before[RMEM])))
    assert place.values(dict(WANTED)) == before
    by_name = {os.path.basename(path): path for path in files}
    place.see("sysctl", "-q", "-p", by_name["90-nettop.conf"])
    place.see("udevadm", "test-builtin", "net_setup_link", "/sys/class/net/va")
    unit = by_name["nettop-keep.service"]
    told = place.see("systemd-analyze", "verify", unit, ok=False)
    assert "nettop-keep" not in told
    for words in commands(files[unit]):
        place.see(*words)
    assert place.values(dict(WANTED)) == dict(WANTED)

    undone = place.nettop("undo", "--all")["changes"]
    assert {c["state"] for c in undone if c["setting"].startswith("kept.")} == {"undone"}
    assert place.files() == {}
    left = place.see("find", "/etc/systemd/system", "-name", "nettop*")
    assert left == ""


class Screen:
    """nettop's screen on a pseudo-terminal, inside the playground."""

    def __init__(self, place: Playground) -> None:
        self.text = ""
        self.tty, inner = pty.openpty()
        fcntl.ioctl(self.tty, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.process = place.warm.start(
            ["-c", AS_HOST, "--interval", "0.5"], dict.fromkeys((0, 1, 2), inner),
            {**place.environment, "TERM": "xterm"}, terminal=True, netns=place.netns,
        )  # fmt: skip
        os.close(inner)

    def until(self, true: Callable[[], bool], what: str) -> None:
        """Let it draw until something is so."""
        until(lambda: self.draws() and true(), lambda: f"no {what}:\n{self.text[-4000:]}")

    def draws(self) -> bool:
        """Take what it has drawn, and answer as a terminal does."""
        while select.select([self.tty], [], [], 0)[0]:
            data = os.read(self.tty, 65536)
            self.text += data.decode("utf-8", "replace")
            for _ in range(data.count(QUERY.encode())):
                os.write(self.tty, b"\x1b[1;1R")
        return True

    def press(self, keys: str, shows: str, *others: str) -> None:
        """Type; return when these words are on the screen, or others."""
        self.text = ""
        os.write(self.tty, keys.encode())
        self.until(lambda: any(words in self.text for words in (shows, *others)), shows)

    def agree(self, question: str, shows: str) -> None:
        """Press Enter once the question was drawn, until the words are on the screen.

        It is drawn when the terminal has answered a query that came after it. The screen says
        itself where Enter came too early. What was drawn meanwhile is not forgotten: Enter that
        is pressed once more than needed would act on what comes after the question.
        """
        self.until(lambda: QUERY in self.text[self.text.rfind(question) :], "query")
        while shows not in self.text:
            self.enter(shows)

    def enter(self, shows: str) -> None:
        """Press Enter; return when the words are on the screen, or that it came too early."""
        early = self.text.count(EARLY)
        os.write(self.tty, b"\r")
        self.until(lambda: shows in self.text or self.text.count(EARLY) > early, shows)

    def close(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.tty)


def test_the_key_s_shows_the_file_then_keeps_and_u_takes_it_away(place: Playground) -> None:
    def sack() -> str:
        return place.see("sysctl", "-n", "net.ipv4.tcp_sack").strip()

    place.see("sysctl", "-qw", "net.ipv4.tcp_sack=0")
    screen = Screen(place)
    try:
        screen.until(lambda: "SACK or DSACK" in screen.text, "the finding")
        screen.press("5", "WHAT TO DO")
        screen.press("/loss-recovery\r", "loss-recovery")
        screen.press("s", "90-nettop.conf")
        assert "net.ipv4.tcp_sack = 1" in screen.text
        assert (place.files(), sack()) == ({}, "0")
        screen.agree("90-nettop.conf", "applied")
        screen.until(lambda: bool(place.files()), "the file")
        (text,) = place.files().values()
        assert (text.splitlines()[1:], sack()) == (["net.ipv4.tcp_sack = 1"], "1")
        screen.until(lambda: "journal 2" in screen.text, "both changes in the list")
        screen.press("u", "Undo 2 changes")  # its plan is shown first
        screen.agree("Undo 2 changes", "undone")
        screen.until(lambda: not place.files(), "the end of the file")
        screen.until(lambda: sack() == "0", "the old value")
    finally:
        screen.close()
