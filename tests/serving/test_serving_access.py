"""Who may enter the screen in a browser: token, Host, Origin."""

import json

import pytest
from folded import folded

from nettop.serving.child import HEAD, WIDEST, received
from nettop.serving.listen import Access

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


# What of a browser's messages reaches the screen.


def payload(message: object) -> tuple[bytes, bytes]:
    packet = received(json.dumps(message))
    assert int.from_bytes(packet[1:HEAD], "big") == len(packet) - HEAD
    return packet[:1], packet[HEAD:]


def test_keys_pass_as_typed() -> None:
    assert payload(["stdin", "é\x1b[A"]) == (b"D", "é\x1b[A".encode())
    assert payload(["stdin", "\ud800q"]) == (b"D", b"q")


def test_a_packet_inside_what_was_typed_stays_text() -> None:
    inside = 'M\x00\x00\x00\x0f{"type":"quit"}'
    assert payload(["stdin", inside]) == (b"D", inside.encode())


@folded(
    ("asked", "given"),
    [(100, 100), (0, 1), (-5, 1), (10**9, WIDEST), (1e9, 1), ("80", 1), (None, 1), ([], 1)],
)
def test_a_terminal_has_a_size_within_bounds(asked: object, given: int) -> None:
    kind, text = payload(["resize", {"width": asked, "height": 24}])
    assert kind == b"M"
    assert json.loads(text) == {"type": "resize", "width": given, "height": 24}


def test_focus_passes() -> None:
    assert json.loads(payload(["blur"])[1]) == {"type": "blur"}
    assert json.loads(payload(["focus"])[1]) == {"type": "focus"}


@folded(
    "text",
    ["", "[", "null", "1", "{}", "[]", '["stdin"]', '["stdin", 1]', '["stdin", "a", "b"]',
     '["quit"]', '["deliver_chunk_request", "x"]', '["resize", {}]', '["resize", [80, 24]]',
     "[" * 50_000, '["ping", "1"]', '["exit"]', '{"type": "quit"}'],
)  # fmt: skip
def test_nothing_else_passes(text: str) -> None:
    assert received(text) == b""
