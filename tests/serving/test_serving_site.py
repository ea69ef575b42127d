"""What the server in front of the screens answers: pages, files, web sockets, and to whom not."""

import asyncio
import contextlib
import json
import logging
import os
import pathlib
import re
import select
import sys
from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple

import pytest
from hang import HANG

pytest.importorskip("textual_serve", reason="textual-serve is not installed")

from aiohttp import ClientSession, ClientWebSocketResponse, WSServerHandshakeError
from aiohttp.test_utils import unused_port
from aiohttp.web import ServerRunner, TCPSite

from nettop.serving import child, listen
from nettop.serving.listen import Access

TOKEN = "sesame-0123456789"
# a screen of a few lines: tells its number, its environment, then every packet that it reads
SCREEN = """
import os, sys
def draw(data): os.write(1, b"D" + len(data).to_bytes(4, "big") + data)
os.write(1, b"__GANGLION__\\n")
draw(b"%d" % os.getpid())
while head := sys.stdin.buffer.read(5):
    draw(head[:1] + sys.stdin.buffer.read(int.from_bytes(head[1:], "big")))
"""
START = SCREEN.partition("while")[0]
DEAF = START + "import time\ntime.sleep(1000)\n"
LOUD = START + "while True: draw(bytes(60000))\n"


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Client:
    """A browser's side of a site on loopback."""

    def __init__(self, access: Access, session: ClientSession) -> None:
        self.access, self.session = access, session
        self.host = f"127.0.0.1:{access.port}"

    async def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        url = f"http://{self.host}{path}"
        async with self.session.request(method, url, headers=headers) as answer:
            return Answer(answer.status, answer.headers, await answer.read())

    async def socket(self, query: str = "", **headers: str) -> ClientWebSocketResponse:
        given = {"Origin": f"http://{self.host}", **headers}
        return await self.session.ws_connect(f"{self.access.url}ws{query}", headers=given)


@contextlib.asynccontextmanager
async def opened(program: str = SCREEN) -> AsyncIterator[Client]:
    access = Access(TOKEN, unused_port())
    here = listen.Site(access, [sys.executable, "-c", program])
    runner = ServerRunner(
        here.server(), shutdown_timeout=1
    )  # seconds for what is still open: it does not judge
    await runner.setup()
    await TCPSite(runner, "127.0.0.1", access.port).start()
    try:
        async with ClientSession() as session:
            yield Client(access, session)
    finally:
        here.closing.set()
        await runner.cleanup()


def told(number: int) -> bytes:
    """What a process was started with."""
    here = pathlib.Path(f"/proc/{number}")
    return (here / "environ").read_bytes() + (here / "cmdline").read_bytes()


async def gone(number: int) -> None:
    """Wait for the end of a process."""
    pidfd = os.pidfd_open(number)
    try:
        ready, _, _ = await asyncio.to_thread(select.select, [pidfd], [], [], HANG)
    finally:
        os.close(pidfd)
    assert ready, "the process lives on"


def nothing(answer: Answer) -> bool:
    """Whether an answer is 403 and holds nothing."""
    return answer.status == 403 and answer.body == b""


@pytest.mark.parametrize(
    "path", ["/", "/ws", "/static/js/textual.js", "/textual.js", "/x/", "/%00"]
)
async def test_a_stranger_is_answered_nothing(path: str) -> None:
    async with opened() as client:
        for method in ("GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE"):
            answer = await client.get(path, method)
            assert nothing(answer), method
            assert answer.headers["Server"] == "nettop"
            assert "Set-Cookie" not in answer.headers


async def test_the_page_is_whole_and_names_no_other_place() -> None:
    async with opened() as client:
        answer = await client.get(f"/{TOKEN}/")
        page = answer.body.decode()
        assert answer.status == 200
        for name in re.findall(r'(?:href|src)="([^"]*)"', page):
            if name != "data:,":
                assert (await client.get(name)).status == 200, name
        here = {client.host}
        assert set(re.findall(r"\w+://([^/\"]*)", page)) == here
        assert (await client.get(f"/{TOKEN}/nothing")).status == 404
        assert (await client.get(f"/{TOKEN}/../site.py")).status in (403, 404)


async def test_every_answer_may_not_be_kept_framed_or_told_on() -> None:
    async with opened() as client:
        for name in ("", *listen.FILES):
            told_on = (await client.get(f"/{TOKEN}/{name}")).headers
            assert told_on["Cache-Control"] == "no-store"
            assert told_on["Referrer-Policy"] == "no-referrer"
            assert told_on["X-Frame-Options"] == "DENY"
            assert told_on["X-Content-Type-Options"] == "nosniff"
            assert told_on["Cross-Origin-Resource-Policy"] == "same-origin"
            assert "Set-Cookie" not in told_on
        policy = (await client.get(f"/{TOKEN}/")).headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in policy
        assert "default-src 'none'" in policy
        assert f"connect-src ws://{client.host};" in policy
        assert "unsafe" not in policy.replace("style-src 'self' 'unsafe-inline'", "")


async def test_with_the_token_foreign_pages_and_names_are_answered_nothing() -> None:
    async with opened() as client:
        path = f"/{TOKEN}/"
        assert nothing(await client.get(path, Host="evil.example"))
        assert nothing(await client.get(path, Origin="http://evil.example"))
        assert nothing(await client.get(path, "POST"))
        foreign = f"http://127.0.0.1:{client.access.port + 1}"
        for headers in ({"Origin": foreign}, {"Host": "evil.example"}, {"Origin": "null"}):
            with pytest.raises(WSServerHandshakeError, match="403"):
                await client.socket(**headers)


async def test_a_session_is_a_process_that_ends_with_its_socket() -> None:
    async with opened() as client:
        socket = await client.socket()
        number = int((await socket.receive()).data)
        await socket.send_json(["stdin", "é"])
        assert (await socket.receive()).data == b"D" + "é".encode()
        await socket.send_json(["resize", {"width": 10**9, "height": 30}])
        size = json.loads((await socket.receive()).data[1:])
        assert size == {"type": "resize", "width": 1000, "height": 30}
        await socket.close()
        await gone(number)


async def test_the_token_is_in_no_command_line_and_no_environment() -> None:
    async with opened() as client:
        socket = await client.socket()
        number = int((await socket.receive()).data)
        assert all(TOKEN.encode() not in told(p) for p in (number, os.getpid()))
        await socket.close()


async def test_a_fifth_session_is_told_so_and_a_free_place_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listen, "ROOM", 0.3)
    async with opened() as client:
        sockets = [await client.socket() for _ in range(4)]
        numbers = [int((await one.receive()).data) for one in sockets]
        fifth = await client.socket()
        assert (await fifth.receive()).data == f"nettop: {listen.FULL}\r\n".encode()
        await fifth.receive()
        assert fifth.closed
        await sockets[0].close()
        await gone(numbers[0])
        monkeypatch.setattr(listen, "ROOM", 30.0)
        again = await client.socket()
        assert int((await again.receive()).data) not in numbers


async def test_a_screen_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "ENDS", 0.3)
    async with opened(DEAF) as client:
        socket = await client.socket()
        number = int((await socket.receive()).data)
        await socket.close()
        await gone(number)


async def test_a_browser_that_reads_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "TAKES", 0.5)
    monkeypatch.setattr(child, "ENDS", 0.3)
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    real = asyncio.create_subprocess_exec

    async def start(*words: str, **named: object) -> asyncio.subprocess.Process:
        process = await real(*words, **named)  # type: ignore[arg-type]
        started.set_result(process.pid)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    async with opened(LOUD) as client:
        reader, writer = await asyncio.open_connection("127.0.0.1", client.access.port, limit=1024)
        request = (
            f"GET /{TOKEN}/ws HTTP/1.1\r\nHost: {client.host}\r\nOrigin: http://{client.host}\r\n"
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        writer.write(request.encode())
        await reader.readline()
        await gone(await started)
        writer.transport.abort()


async def test_what_goes_wrong_logs_no_token(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    async with opened("raise SystemExit('broken')") as client:
        socket = await client.socket()
        await socket.receive()
        assert socket.closed
        await client.get(f"/{TOKEN}/", "POST")
        _, writer = await asyncio.open_connection("127.0.0.1", client.access.port)
        writer.write(b"\x1b[31mno http at all\r\n\r\n")
        await writer.drain()
        writer.close()
    ours = [r.getMessage() for r in caplog.records if not r.name.startswith("asyncio")]
    said = capfd.readouterr()
    assert TOKEN not in "".join((*ours, said.out, said.err))
    assert "no http" not in said.err
