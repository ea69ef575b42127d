"""A damaged answer of a host gives another way or a table that is missing, never an exception."""

import base64
import gzip
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st
from way_cases import CLIENT, FORWARD, OUTPUT, Case, recording

from nettop.commands._way import ask_way
from nettop.facts.way import Flow
from nettop.host.recording import Replay
from nettop.terms.errors import Refused

CASES = {**OUTPUT, **FORWARD}
TEXTS = {name: gzip.decompress(recording(name).read_bytes()) for name in CASES}


def flow(name: str, case: Case) -> Flow:
    origin = (CLIENT, "eth1") if name in FORWARD else ("", "")
    return Flow(case.to, case.port, *origin)


@given(
    st.sampled_from(sorted(CASES)), st.integers(0, 1 << 16), st.integers(0, 1 << 16),
    st.integers(1, 255),
)  # fmt: skip
def test_any_byte_of_an_answer_may_be_wrong(name: str, entry: int, place: int, change: int) -> None:
    source = Replay(TEXTS[name])
    changed = dict(source.moments[0].changed)
    answers = sorted(
        one for one, body in changed.items()
        if one.startswith("netlink/") and body and not body.startswith(b"!") and body.strip()
    )  # fmt: skip
    chosen = answers[entry % len(answers)]
    raw = bytearray(base64.b64decode(changed[chosen] or b""))
    raw[place % len(raw)] ^= change
    source._tree[chosen] = base64.b64encode(raw)
    with suppress(Refused):
        assert ask_way(source, flow(name, CASES[name]))[1].headline
