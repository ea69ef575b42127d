"""The screen in a real browser, and what a page from elsewhere gets of it: nothing."""

import asyncio
import base64
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hang import HANG, until

pytest.importorskip("textual_serve", reason="textual-serve is not installed")

from aiohttp import ClientError, ClientSession, ClientWebSocketResponse
from aiohttp.test_utils import unused_port
from aiohttp.web import BaseRequest, Response, Server, ServerRunner, TCPSite
from serve_process import Served, children, served

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
pytestmark = pytest.mark.skipif(not BROWSER, reason="no Chromium on this machine")
BLANK = 15_000  # bytes of a picture that shows no more than an empty page
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--window-size=1300,800"
).split()


class Tab:
    """One tab, driven by the Chrome DevTools Protocol."""

    def __init__(self, socket: ClientWebSocketResponse) -> None:
        self.socket = socket
        self.number = 0

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self.number += 1
        await self.socket.send_json({"id": self.number, "method": method, "params": params})
        while True:
            told = await self.socket.receive_json()
            if told.get("id") == self.number:
                result: dict[str, Any] = told["result"]
                return result

    async def value(self, code: str) -> Any:
        told = await self.ask(
            "Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True
        )
        return told["result"].get("value")

    async def until(self, code: str) -> Any:
        """Wait until an expression is true; what it is then."""
        async with asyncio.timeout(HANG):
            while True:
                if found := await self.value(code):
                    return found
                await asyncio.sleep(0.2)


def remains(folder: pathlib.Path) -> bool:
    """Remove a folder; whether something is left of it."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder.exists()


@contextlib.contextmanager
def browser(folder: pathlib.Path) -> Iterator[int]:
    """A browser with an empty tab; the port of its DevTools. Nothing of it is left."""
    port, profile = unused_port(), folder / "profile"
    words = [BROWSER, *FLAGS, f"--user-data-dir={profile}", f"--remote-debugging-port={port}"]
    # the socket of the profile lies in TMPDIR, and its path must be short
    temporary = pathlib.Path(tempfile.mkdtemp(prefix="nt-"))
    process = subprocess.Popen(
        [*words, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "HOME": str(folder), "TMPDIR": str(temporary)},
    )  # fmt: skip
    try:
        yield port
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(HANG)
        until(lambda: not any(map(remains, (profile, temporary))))  # its helpers may still write


@contextlib.asynccontextmanager
async def tab(folder: pathlib.Path) -> AsyncIterator[Tab]:
    """An empty tab of a browser of its own; the address to open is in no command line."""
    async with ClientSession() as session, asyncio.timeout(HANG):
        with browser(folder) as port:
            pages: list[dict[str, Any]] = []
            while not pages:
                with contextlib.suppress(ClientError, OSError):
                    async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                        found = await answer.json(content_type=None)
                        pages = [one for one in found if one["type"] == "page"]
                await asyncio.sleep(0.2)
            where = pages[0]["webSocketDebuggerUrl"]
            async with session.ws_connect(where, max_msg_size=0) as socket:
                yield Tab(socket)


async def test_a_browser_draws_the_screen_and_asks_nobody_else(tmp_path: pathlib.Path) -> None:
    with served(tmp_path) as one:
        async with tab(tmp_path) as page:
            await page.ask("Page.navigate", url=one.url)
            await page.until("document.body && document.body.className.includes('-first-byte')")
            async with asyncio.timeout(HANG):
                while True:
                    shot = await page.ask("Page.captureScreenshot", format="png")
                    if len(base64.b64decode(shot["data"])) > BLANK:
                        break
                    await asyncio.sleep(0.5)
            asked = await page.value("performance.getEntriesByType('resource').map(e => e.name)")
            assert any(name.endswith("/textual.js") for name in asked)
            assert [name for name in asked if not name.startswith((one.url, "data:"))] == []
            assert await page.value("document.fonts.check(\"16px 'Roboto Mono'\")")
            assert await page.value("document.cookie") == ""
            assert len(children(one.process.pid)) == 1
            await page.value("document.querySelector('textarea').focus()")
            await page.ask("Input.dispatchKeyEvent", type="keyDown", key="q", text="q")
            await page.until("document.body.className.includes('-closed')")


EVIL = """<!DOCTYPE html><title>elsewhere</title><body><script>
const told = {};
async function tries(name, doing) {
  try { told[name] = await doing(); } catch (error) { told[name] = "refused"; }
}
function socket(url) {
  return new Promise(done => {
    const one = new WebSocket(url);
    one.onopen = () => done("open");
    one.onerror = () => done("refused");
  });
}
function script(url) {
  return new Promise(done => {
    const one = document.createElement("script");
    one.onload = () => done("loaded");
    one.onerror = () => done("refused");
    one.src = url;
    document.body.append(one);
  });
}
function frame(url, post) {
  return new Promise(done => {
    const one = document.createElement("iframe");
    one.name = "frame" + document.querySelectorAll("iframe").length;
    one.onload = () => setTimeout(() => done("asked"), 200);
    document.body.append(one);
    if (!post) { one.src = url; return; }
    const form = document.createElement("form");
    form.method = "post"; form.action = url; form.target = one.name;
    document.body.append(form); form.submit();
  });
}
async function attack(base) {
  for (const at of [base, base.split("/").slice(0, 3).join("/") + "/"]) {
    await tries("fetch " + at, async () => (await fetch(at)).status);
    await tries("no-cors " + at, async () => (await fetch(at, {mode: "no-cors"})).type);
    await tries("post " + at, async () =>
      (await fetch(at, {mode: "no-cors", method: "POST", body: "x"})).type);
    await tries("socket " + at, () => socket(at.replace("http", "ws") + "ws?width=80&height=24"));
    await tries("script " + at, () => script(at + "textual.js"));
    await tries("frame " + at, () => frame(at, false));
    await tries("form " + at, () => frame(at, true));
  }
  return told;
}
</script>"""


@contextlib.asynccontextmanager
async def elsewhere() -> AsyncIterator[str]:
    """A page of another origin on loopback."""

    async def answer(_request: BaseRequest) -> Response:
        return Response(text=EVIL, content_type="text/html")

    port = unused_port()
    runner = ServerRunner(Server(answer, access_log=None))
    await runner.setup()
    await TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        await runner.cleanup()


def frames(tree: dict[str, Any]) -> list[str]:
    """What the frames of a page have loaded."""
    return [one["frame"]["url"] for one in tree.get("childFrames", ())]


async def attacked(page: Tab, one: Served, address: str) -> dict[str, str]:
    await page.ask("Page.navigate", url=address)
    await page.until("typeof attack === 'function'")
    told: dict[str, str] = await page.value(f"attack({json.dumps(one.url)})")
    return told


async def test_a_page_from_elsewhere_gets_nothing_though_it_knows_the_token(
    tmp_path: pathlib.Path,
) -> None:
    with served(tmp_path) as one:
        async with tab(tmp_path) as page, elsewhere() as address:
            told = await attacked(page, one, address)
            assert len(told) == 14
            refused = {name: said for name, said in told.items() if "fr" not in name.split()[0]}
            assert {s for n, s in refused.items() if not n.startswith("form")} == {"refused"}
            loaded = frames((await page.ask("Page.getFrameTree"))["frameTree"])
            assert len(loaded) == 4
            assert not [url for url in loaded if one.token in url]
            assert children(one.process.pid) == []
            await page.ask("Page.navigate", url=one.url)  # and its own page goes on
            await page.until("document.body && document.body.className.includes('-first-byte')")
            assert len(children(one.process.pid)) == 1
