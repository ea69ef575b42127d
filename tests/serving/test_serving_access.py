"""Who may enter the screen in a browser: token, Host, Origin."""

from __future__ import annotations

import pytest
from folded import folded

from nettop.serving.access import Access

TOKEN = "sesame-0123456789"
ACCESS = Access(TOKEN, 8000)
HOST = "127.0.0.1:8000"
PAGE = {"Host": HOST}
SOCKET = {"Host": HOST, "Origin": f"http://{HOST}"}


def test_the_address_opens_the_page_and_its_files() -> None:
    assert ACCESS.url == f"http://{HOST}/{TOKEN}/"
    assert ACCESS.admits(f"/{TOKEN}/", PAGE) == ""
    assert ACCESS.admits(f"/{TOKEN}", PAGE) == ""
    assert ACCESS.admits(f"/{TOKEN}/textual.js", PAGE) == "textual.js"
    assert ACCESS.admits(f"/{TOKEN}/ws", SOCKET) == "ws"


@folded(
    "path",
    ["", "/", "//", "/ws", "/static/js/textual.js", f"/{TOKEN[:-1]}/", f"/{TOKEN}x/",
     f"/x/{TOKEN}/", f"//{TOKEN}/", f"/{TOKEN.upper()}/", f"/?token={TOKEN}", "*",
     "/\udcff/", f"/%73{TOKEN[1:]}/"],
)  # fmt: skip
def test_nothing_is_there_without_the_token(path: str) -> None:
    assert ACCESS.admits(path, PAGE) is None
    assert ACCESS.admits(path, SOCKET) is None


@pytest.mark.parametrize("host", [HOST, "localhost:8000", "LOCALHOST:8000", "[::1]:8000"])
def test_every_loopback_name_is_ours(host: str) -> None:
    assert ACCESS.admits(f"/{TOKEN}/ws", {"Host": host, "Origin": f"http://{host}"}) == "ws"


@folded(
    "host",
    ["", "evil.example", "evil.example:8000", "127.0.0.1", "localhost", "127.0.0.1:8001", "[::1]",
     "localhost.:8000", "localhost.evil.example:8000", "127.0.0.1.nip.io:8000", "0.0.0.0:8000",
     "127.0.0.2:8000", "2130706433:8000", "::1:8000", "localhost:8000@evil.example"],
)  # fmt: skip
def test_a_foreign_host_name_is_refused(host: str) -> None:
    assert ACCESS.admits(f"/{TOKEN}/", {"Host": host}) is None
    assert ACCESS.admits(f"/{TOKEN}/ws", {"Host": host, "Origin": f"http://{host}"}) is None


def test_a_request_without_a_host_is_refused() -> None:
    assert ACCESS.admits(f"/{TOKEN}/", {}) is None


@folded(
    "origin",
    ["null", "", "http://evil.example", "http://127.0.0.1:8001", "http://localhost:8000",
     f"https://{HOST}", f"http://{HOST}/", "http://127.0.0.1", "file://", f"http://{HOST}.evil.example"],
)  # fmt: skip
def test_a_foreign_origin_is_refused_on_page_and_socket(origin: str) -> None:
    headers = {"Host": HOST, "Origin": origin}
    assert ACCESS.admits(f"/{TOKEN}/", headers) is None
    assert ACCESS.admits(f"/{TOKEN}/ws", headers) is None


def test_a_socket_must_say_its_origin() -> None:
    assert ACCESS.admits(f"/{TOKEN}/ws", PAGE) is None


@pytest.mark.parametrize("site", ["same-site", "cross-site"])
def test_another_page_may_link_here_but_not_embed_or_fetch(site: str) -> None:
    asked = {**PAGE, "Sec-Fetch-Site": site}
    assert ACCESS.admits(f"/{TOKEN}/", {**asked, "Sec-Fetch-Dest": "document"}) == ""
    for what in ("iframe", "empty", "script", "embed", "object"):
        assert ACCESS.admits(f"/{TOKEN}/", {**asked, "Sec-Fetch-Dest": what}) is None
    assert ACCESS.admits(f"/{TOKEN}/textual.js", {**asked, "Sec-Fetch-Dest": "document"}) is None
    assert ACCESS.admits(f"/{TOKEN}/ws", {**SOCKET, "Sec-Fetch-Site": site}) is None


def test_the_port_of_http_is_left_out_of_host() -> None:
    access = Access(TOKEN, 80)
    assert access.admits(f"/{TOKEN}/", {"Host": "localhost"}) == ""
    assert access.admits(f"/{TOKEN}/", {"Host": "evil.example"}) is None


def test_the_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[bytes, bytes]] = []

    def compare(given: bytes, known: bytes) -> bool:
        asked.append((given, known))
        return False

    monkeypatch.setattr("hmac.compare_digest", compare)
    assert ACCESS.admits(f"/{TOKEN}/", PAGE) is None
    assert asked == [(TOKEN.encode(), TOKEN.encode())]
