"""`nettop serve`: what it prints and refuses, who gets in, what is left when it ends."""

import argparse
import asyncio
import contextlib
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable

import pytest
from hang import HANG

pytest.importorskip("textual_serve", reason="textual-serve is not installed")

from aiohttp import ClientSession, ClientWebSocketResponse
from serve_process import NOBODY, Served, children, served

from nettop.cli import main
from nettop.commands import serve

SYSTEM = shutil.which("python3", path="/usr/bin:/bin") or sys.executable  # anybody may run it


def test_root_is_told_what_to_do_instead(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for more in ([], ["--write"], ["--demo"]):
        assert main(["serve", *more]) == 4
        said = capsys.readouterr().err
        assert len(said.splitlines()) == 1
        assert "--as-root" in said
        assert "another user" in said


def test_a_port_in_use_is_told_in_a_sentence(tmp_path: pathlib.Path) -> None:
    with served(tmp_path) as one:
        again = subprocess.run(one.words, capture_output=True, text=True, timeout=HANG, check=False)
    assert again.returncode == 3
    assert again.stdout == ""
    assert again.stderr.startswith(f"nettop: cannot listen on port {one.port}: 127.0.0.1: ")
    assert len(again.stderr.splitlines()) == 1


def test_only_the_address_is_printed_and_each_start_has_another(tmp_path: pathlib.Path) -> None:
    with served(tmp_path) as one, served(tmp_path) as two:
        assert len(one.token) > 40
        assert one.token != two.token
        assert one.url == f"http://127.0.0.1:{one.port}/{one.token}/"


def test_a_session_only_reads_unless_write_is_said() -> None:
    parser = argparse.ArgumentParser()
    serve.arguments(parser)
    assert "--read-only" in serve.command(parser.parse_args([]))
    assert "--read-only" not in serve.command(parser.parse_args(["--write"]))
    words = serve.command(parser.parse_args(["--replay", "-x y", "--profile", "latency"]))
    assert {"--replay=-x y", "--profile=latency"} <= set(words)


async def first(session: ClientSession, one: Served) -> ClientWebSocketResponse:
    """A session that has begun to draw."""
    socket = await session.ws_connect(f"{one.url}ws", headers=one.origin, max_msg_size=0)
    await socket.receive()
    return socket


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
async def test_no_session_outlives_the_server(tmp_path: pathlib.Path, end: int) -> None:
    with served(tmp_path, end=end) as one:
        async with ClientSession() as session:
            sockets = [await first(session, one) for _ in range(2)]
            watched = [os.pidfd_open(number) for number in children(one.process.pid)]
            one.process.send_signal(end)
            assert await asyncio.to_thread(one.process.wait, HANG) == (
                -signal.SIGKILL if end == signal.SIGKILL else 0
            )
    assert len(watched) == len(sockets)
    for pidfd in watched:
        assert select.select([pidfd], [], [], HANG)[0], "a session lives on"
        os.close(pidfd)


SPY = """
import http.client, os, sys
server, port = int(sys.argv[1]), int(sys.argv[2])
for number in [server, *map(int, sys.argv[3:])]:
    for folder, _, names in os.walk(f"/proc/{number}"):
        for name in names:
            try:
                with open(f"{folder}/{name}", "rb") as file:
                    sys.stdout.buffer.write(file.read(1 << 20))
            except OSError:
                pass
sys.stdout.buffer.write(open("/proc/net/tcp", "rb").read())
for path in ("/", "/ws", "/static/js/textual.js"):
    for name in ("127.0.0.1", "evil.example"):
        there = http.client.HTTPConnection("127.0.0.1", port)
        there.request("GET", path, headers={
            "Host": f"{name}:{port}", "Origin": f"http://{name}:{port}", "Upgrade": "websocket",
            "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="})
        answer = there.getresponse()
        print("answered", answer.status, answer.read(), file=sys.stderr)
"""


@pytest.mark.needs("root")
async def test_another_user_of_the_machine_does_not_get_in(tmp_path: pathlib.Path) -> None:
    with served(tmp_path) as one:
        async with ClientSession() as session:
            socket = await first(session, one)
            started = children(one.process.pid)
            words = [SYSTEM, "-I", "-c", SPY, one.process.pid, one.port, *started]
            seen = await asyncio.to_thread(
                subprocess.run, list(map(str, words)), capture_output=True, check=True,
                timeout=HANG, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", env={},
            )  # fmt: skip
            assert children(one.process.pid) == started
            await socket.close()
    assert b"nettop" in seen.stdout  # it has read what it may
    assert one.token.encode() not in seen.stdout
    assert seen.stderr.splitlines() == [b"answered 403 b''"] * 6


async def play(socket: ClientWebSocketResponse, keys: Iterable[str]) -> bytes:
    """Type keys one by one, each when no more is drawn; all that was drawn.

    A slow screen draws later: keys that come too soon wait in its queue.
    """
    drawn = b""
    for key in keys:
        await socket.send_json(["stdin", key])
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.4):
                while True:
                    told = await socket.receive()
                    drawn += told.data if isinstance(told.data, bytes) else b""
    return drawn


@pytest.mark.parametrize("options", [[], ["--write"]], ids=["reading", "write"])
async def test_a_peer_runs_only_where_writing_was_allowed(
    tmp_path: pathlib.Path, options: list[str]
) -> None:
    """The form of a test is filled in through the socket, with a peer that is a command."""
    run = tmp_path / "run"
    form = ["6", "g", "j", "j", "\r", "127.0.0.1", "\r", "j", "\r", f"sh -c 'touch {run}; :'", "\r"]
    form += ["j", "j", "j", "j", "\r"]
    with served(tmp_path, *options, live=True) as one:
        async with ClientSession() as session:
            socket = await first(session, one)
            drawn = b""
            async with asyncio.timeout(HANG):
                while b"WHAT LIMITS" not in drawn:  # before, there is no form to fill in
                    drawn += await play(socket, [""])
                tried = 0
                while not (run.exists() if options else b"read-only" in drawn):
                    # a screen that draws slowly may take a key for an earlier state: again
                    keys = [""] if tried % 25 else ["\x1b", "\x1b", *form]
                    drawn += await play(socket, keys)
                    tried += 1
            await socket.close()
    assert (b"read-only" in drawn) is not bool(options)
    assert run.exists() is bool(options)
    assert run.exists() is bool(options)
