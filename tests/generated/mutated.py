"""Inputs with faults that keep their structure: recordings, rules, JSON documents, incidents.

Each function takes a sound input and a random generator, and returns another one: entries and lines
that are absent, twice, cut, or in the place of others, and values that no kernel gives.
"""

import base64
import json
import random
import re
from typing import Any, Final

EXTREMES: Final = (
    "0", "-1", "1", str(2**31), str(2**32 - 1), str(2**63), str(2**64 - 1), "9" * 40, "1e999",
    "nan", "-inf", "0x10", "1.5", "", " ", "\0", "\x1b[2J", "\ufeff", "\u202e", "٣", "x" * 5000,
    "?", "%s", "../..", "{}", "[]", "null", "true", "'", '"', "\\", "-- /x --", "!5 odd", "!gone",
)  # fmt: skip
DEEP: Final = "a deep list "
_HEAD: Final = re.compile(r"^-- .*--$", re.MULTILINE)
_WORD: Final = re.compile(r"[^\s:,=]+")


def recording(text: str, draw: random.Random) -> str:
    """A recording with faults in some of its entries and moments."""
    starts = [found.start() for found in _HEAD.finditer(text)]
    parts = [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    for _ in range(draw.choice((1, 1, 3, 10, 60))):
        at, other = draw.randrange(len(parts)), draw.randrange(len(parts))
        step = draw.randrange(8)
        if step == 0:
            parts[at] = parts[other]
        elif step == 1:
            parts[at], parts[other] = parts[other], parts[at]
        elif step == 2:
            parts[at] = ""
        elif step == 3:
            head, _, body = parts[at].partition("\n")
            parts[at] = f"{head}\n{parts[other].partition(chr(10))[2]}"
        elif step == 4:
            head, _, body = parts[at].partition("\n")
            parts[at] = f"{lines(head, draw)}\n{body}"
        else:
            head, _, body = parts[at].partition("\n")
            parts[at] = f"{head}\n{_body(body, draw)}"
        if not parts[at].endswith("\n"):
            parts[at] += "\n"
    whole = text[: starts[0]] + "".join(parts)
    return whole[: draw.randrange(len(whole))] if draw.random() < 0.1 else whole


def _body(body: str, draw: random.Random) -> str:
    """The body of an entry: text, or a netlink answer in base64."""
    try:
        raw = bytearray(base64.b64decode(body, validate=False)) if len(body) > 40 else None
    except ValueError:
        raw = None
    if raw and re.fullmatch(r"[A-Za-z0-9+/=\n]+", body):
        for _ in range(draw.choice((1, 4, 30))):
            raw[draw.randrange(len(raw))] = draw.choice((0, 1, 4, 127, 128, 255))
        return base64.b64encode(raw[: draw.randrange(len(raw) + 1)] if draw.random() < 0.3
                                else raw).decode()  # fmt: skip
    return lines(body, draw)


def lines(text: str, draw: random.Random) -> str:
    """A text with faults in some of its lines and words."""
    rows = text.split("\n")
    for _ in range(draw.choice((1, 1, 2, 8))):
        at = draw.randrange(len(rows))
        step = draw.randrange(7)
        if step == 0:
            rows[at] = ""
        elif step == 1:
            rows[at] = rows[draw.randrange(len(rows))]
        elif step == 2:
            rows[at:at] = [rows[at]] * draw.choice((1, 2, 300 if len(rows[at]) < 1000 else 3))
        elif step == 3:
            rows[at] = rows[at][: draw.randrange(len(rows[at]) + 1)]
        elif step == 4 and rows[at]:
            place = draw.randrange(len(rows[at]))
            rows[at] = rows[at][:place] + chr(draw.randrange(1, 256)) + rows[at][place + 1 :]
        else:
            words = [*_WORD.finditer(rows[at])]
            if words:
                word = draw.choice(words)
                rows[at] = rows[at][: word.start()] + draw.choice(EXTREMES) + rows[at][word.end() :]
    return "\n".join(rows)


def document(text: str, draw: random.Random) -> str:
    """A JSON document with other values, keys and depths at some places."""
    tree, many = json.loads(text), 2000
    for _ in range(draw.choice((1, 1, 3, 12))):
        holder, key = _place(tree, draw)
        if holder is None:
            continue
        value = holder[key]
        step = draw.randrange(6)
        if step == 0:
            del holder[key]
        elif step == 1 and isinstance(holder, dict):
            holder[draw.choice(EXTREMES)] = value
        elif step == 2:
            holder[key] = [value] * draw.choice((0, 1, many))
            many = 2  # lists of lists of thousands would fill the memory of the test itself
        elif step == 3:
            holder[key] = DEEP + draw.choice("123")
        else:
            holder[key] = _value(draw)
    text = json.dumps(tree)
    for number in "123":
        depth = draw.choice((1, 60, 70, 5000))
        text = text.replace(f'"{DEEP}{number}"', "[" * depth + "]" * depth)
    return lines(text, draw) if draw.random() < 0.2 else text


def _value(draw: random.Random) -> Any:
    return draw.choice(
        (None, True, False, 0, -1, 1e308, 2**64, 10**40, float("nan"), float("inf"), [], {}, [[]],
         {"": {}}, draw.choice(EXTREMES), "\ud800")
    )  # fmt: skip


def _place(tree: Any, draw: random.Random) -> tuple[Any, Any]:
    """A container and one of its keys; None without any."""
    holder, key = None, None
    while isinstance(tree, dict | list) and tree:
        holder, key = tree, draw.choice([*tree] if isinstance(tree, dict) else range(len(tree)))
        tree = tree[key]
        if draw.random() < 0.2:
            break
    return holder, key
