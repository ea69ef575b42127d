"""2,000 inputs with faults that keep their structure: an answer or one sentence, in 1 GiB."""

import gzip
import json
import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest
from fleet_hosts import document
from generated import mutated
from limited import Limited

from nettop import panes
from nettop.trials import results

TESTS = Path(__file__).parents[1]
HOSTS = [TESTS / f"hosts/{name}.host" for name in ("guest-idle", "guest-udp-loss", "vm-vmxnet3")]
RULES = sorted((TESTS.parent / "rules").glob("*/*.toml"))
SOUND = str(HOSTS[0])
NEVER = ("--fail-on", "never")
CODES = (0, 1, 2, 3, 4)  # of a rule or document that is refused, 2 or 3
INCIDENT = "20261120T143537Z-rx-ring-overrun"
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="surrogateescape")


def put(path: Path, data: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data, encoding="utf-8", errors="surrogatepass")
    return str(path)


def recorded(folder: Path, draw: random.Random) -> Sequence[str]:
    file = folder / "x.host"
    file.write_bytes(mutated.recording(text(draw.choice(HOSTS)), draw).encode("utf-8", "replace"))
    where = ["--replay", str(file)]
    return draw.choice(
        (
            ["advise", *where, *NEVER], ["advise", "--json", *where, *NEVER], ["why", *where],
            ["advise", "--format", "nagios", *where], ["why", "--json", *where],
            ["show", draw.choice(panes.names()), "--once", *where], ["metrics", *where],
            ["watch", *where, *NEVER], ["record", str(folder / "y.host"), *where],
            ["snapshot", "--json", *where], ["explain", "rx-ring-overrun", *where],
            ["compare", str(file), SOUND], ["compare", SOUND, str(file), "--json"],
            ["fleet", str(file), SOUND],
        )
    )  # fmt: skip


def ruled(folder: Path, draw: random.Random) -> Sequence[str]:
    data = mutated.lines(text(draw.choice(RULES)), draw)
    if draw.random() < 0.5:
        return ["rules", draw.choice(("check", "test")), put(folder / "mine.toml", data)]
    put(folder / "XDG_CONFIG_HOME/nettop/rules/mine.toml", data)
    return ["advise", "--all", "--replay", SOUND, *NEVER]


def documented(folder: Path, draw: random.Random) -> Sequence[str]:
    sound = json.dumps(document(draw.randrange(99), draw))
    file = put(folder / "x.json", mutated.document(sound, draw))
    if draw.random() < 0.4:
        return ["advise", "--replay", SOUND, "--baseline", file, *NEVER]
    if draw.random() < 0.5:
        place = folder / "XDG_STATE_HOME/nettop/results"
        results.keep("test", {"tool": "iperf3", "to": "192.0.2.1", "bits_per_second": 1e9}, place)
        (one,) = place.iterdir()
        one.write_text(mutated.document(one.read_text(), draw), errors="surrogatepass")
        return ["results", *draw.choice((["list"], ["show", one.stem], ["learned"]))]
    state = folder / "NETTOP_STATE"
    state.mkdir(mode=0o700)
    begin = {
        "event": "begin", "id": 1, "at": 1.0, "setting": "ring.rx@eth0", "before": "1",
        "wanted": "2", "side_effects": {"sysctl.x": ["1", None]}, "undoes": [], "due": 1.0,
    }  # fmt: skip
    rows = [begin, {"event": "end", "id": 1, "state": "pending", "after": "2"}] * 2
    book = "\n".join(mutated.document(json.dumps(row), draw) for row in rows)
    put(state / "journal.jsonl", book + "\n")
    return ["journal", *draw.choice(([], ["--json"]))]


def kept(folder: Path, draw: random.Random) -> Sequence[str]:
    begun = {"rule": "rx-ring-overrun", "target": "eth0", "severity": "critical", "title": "x",
             "at": 2.0, "wall": 1.7e9, "boot": "one", "also": ["a@b"], "held": 1.0}  # fmt: skip
    line = json.dumps(begun)
    whole = text(HOSTS[0])
    if draw.random() < 0.5:
        line = mutated.document(line, draw)
    else:
        whole = mutated.recording(whole, draw)
    head, mark, rest = whole.partition("\n-- @")
    first, newline, rest = rest.partition("\n")
    data = f"{head}{mark}{first}{newline}-- nettop/incident --\n{line}\n{rest}"
    raw = bytearray(gzip.compress(data.encode("utf-8", "replace"), 1))
    if draw.random() < 0.2:
        raw[draw.randrange(len(raw))] ^= 1 << draw.randrange(8)
    file = folder / f"box/{INCIDENT}.host.gz"
    file.parent.mkdir()
    file.write_bytes(raw)
    where = ["--box", str(file.parent)]
    return draw.choice(
        (
            ["incidents", *where], ["incidents", "--json", *where],
            ["incidents", "show", INCIDENT, *where], ["show", "history", "--once", "--replay",
                                                      str(file)],
            ["incidents", "export", INCIDENT, str(folder / "y.host"), *where],
            ["fleet", str(file.parent)],
        )
    )  # fmt: skip


def fleet(folder: Path, draw: random.Random) -> Sequence[str]:
    days = [folder / "a", folder / "b"]
    for day in days:
        for number in range(4):
            put(day / f"{number}.json", json.dumps(document(number, draw)))
        put(day / "9.json", mutated.document(json.dumps(document(9, draw)), draw))
    form = draw.choice(("text", "json", "html"))
    return ["fleet", *map(str, days[: draw.choice((1, 2))]), "--format", form]


KINDS: dict[str, Callable[[Path, random.Random], Sequence[str]]] = {
    "recording": recorded, "rule": ruled, "document": documented, "incident": kept, "fleet": fleet,
}  # fmt: skip


@pytest.mark.parametrize(
    "seeds", [range(4), pytest.param(range(4, 400), marks=pytest.mark.nightly)], ids=["4", "400"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_wrong_is_an_answer_or_one_sentence(
    kind: str, seeds: range, tmp_path: Path, limited: Limited
) -> None:
    wrong = []
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        words = KINDS[kind](folder, random.Random(f"{kind} {seed}"))
        done = limited(*words, folders=folder)
        if fault := fault_of(words, done.returncode, done.stdout, done.stderr):
            wrong.append(f"{kind} {seed}: {' '.join(words)}: {fault}")
    assert wrong == []


def fault_of(words: Sequence[str], code: int, out: str, err: str) -> str:
    """What is wrong with an answer; empty if nothing is."""
    if code not in CODES:
        return f"exit code {code}: {err[-300:]}"
    for unclear in ("Traceback", "internal error", "MemoryError", "RecursionError", "too little"):
        if unclear in err:
            return err[-600:]
    if found := OBEYED.search(out + err):
        return f"a control character: {found[0]!r}"
    if code in (2, 3) and not out.strip() and not err.strip():
        return "nothing is said"
    if "--json" in words and out.strip():
        try:
            json.loads(out, parse_constant=lambda name: pytest.fail(f"{words}: {name}"))
        except ValueError as error:
            return str(error)
    return ""
