"""The screen in a browser: served on loopback, drawn by a real one without a window."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

HOST = pathlib.Path(__file__).parent / "hosts" / "guest-transfer.host"
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
BLANK = 20_000  # bytes of a picture that shows no more than the page's first word


def free() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextlib.contextmanager
def running(words: list[str], **environment: str) -> Iterator[None]:
    """A program and all that it starts, ended with the block."""
    done = subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(done.pid, signal.SIGTERM)
        try:
            done.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(done.pid, signal.SIGKILL)
            done.wait(5)


async def seen(port: int, debug: int, seconds: float) -> tuple[str, int]:
    """The class of the page once its terminal has drawn, and the bytes of its picture."""
    import base64

    from aiohttp import ClientError, ClientSession

    end = time.monotonic() + seconds
    async with ClientSession() as session:
        pages: list[dict[str, Any]] = []
        while not pages and time.monotonic() < end:
            with contextlib.suppress(ClientError, OSError):
                async with session.get(f"http://127.0.0.1:{debug}/json") as answer:
                    found = await answer.json(content_type=None)
                    pages = [one for one in found if str(one["url"]).endswith(f":{port}/")]
            await asyncio.sleep(0.2)
        assert pages, "the browser did not open the page"
        async with session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0) as door:

            async def ask(method: str, **params: Any) -> dict[str, Any]:
                await door.send_json({"id": 1, "method": method, "params": params})
                while True:
                    told = await door.receive_json()
                    if told.get("id") == 1:
                        result: dict[str, Any] = told["result"]
                        return result

            said, picture = "", 0
            while time.monotonic() < end:
                code = "String(document.body && document.body.className)"
                said = str((await ask("Runtime.evaluate", expression=code))["result"]["value"])
                shot = await ask("Page.captureScreenshot", format="png")
                picture = len(base64.b64decode(shot["data"]))
                if picture > BLANK and "-first-byte" in said:
                    break
                await asyncio.sleep(0.5)
            return said, picture


@pytest.mark.skipif(not BROWSER, reason="no Chromium on this machine")
def test_a_browser_draws_the_screen(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("textual_serve", reason="textual-serve is not installed")
    port, debug = free(), free()
    serve = [sys.executable, "-m", "nettop", "serve", "--port", str(port), "--replay", str(HOST)]
    browser = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        f"--user-data-dir={tmp_path / 'profile'}", f"--remote-debugging-port={debug}",
        "--window-size=1300,800", f"http://127.0.0.1:{port}/",
    ]  # fmt: skip
    with running(serve, XDG_STATE_HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path)):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        with running(browser):
            said, picture = asyncio.run(seen(port, debug, 40))
    assert "-first-byte" in said
    assert picture > BLANK
