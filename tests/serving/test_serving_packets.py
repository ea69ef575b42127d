"""What of a browser's messages reaches the screen."""

from __future__ import annotations

import json

from folded import folded

from nettop.serving.packets import HEAD, WIDEST, received


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
