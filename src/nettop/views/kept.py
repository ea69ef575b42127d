"""The journal and the stored results of earlier runs, as the panes show them.

Of a result also what is plotted: its distribution, and the points of its curve.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..terms.units import many, portion
from .scene import JournalEntry, Paper, Pending, StoredResult

if TYPE_CHECKING:
    from ..settings import Host


Document = Mapping[str, Any]  # JSON of `trials.results`: checked where it is read
SHOWN: Final = 200  # results listed
LOWER: Final = frozenset({"p50", "p99"})  # metrics for which a lower value is better
PEERS: Final = "peer/"  # prefix of the numbers of the other end's journal (--peer)
ROOTS: Final = "root/"  # prefix of the numbers of root's journal, for users other than root


def stored() -> tuple[StoredResult, ...]:
    """The stored results of this user, oldest first, without unreadable files."""
    from ..trials import results

    names = results.names()[-SHOWN:]
    out = []
    for name in names:
        try:
            out.append(result_of(results.load(name)))
        except (LookupError, TypeError, ValueError, OSError):
            continue
    return tuple(out)


def result_of(document: Document) -> StoredResult:
    """The result in one stored document.

    ValueError or TypeError for a document that another version of nettop wrote.
    """
    from ..trials import results

    kind = str(document.get("kind", "test"))
    if kind == "study":
        return study_of(document)
    figures: list[tuple[str, str]] = []
    low = high = 0.0
    if kind == "prove":
        title = str(document.get("finding") or "")
        difference = document.get("median_difference")
        if isinstance(difference, int | float):
            figures.append(("median", f"{difference:+.1%}"))
        low, high = document.get("interval") or (0.0, 0.0)
        if low or high:
            confidence = float(document.get("confidence") or 0.95)
            figures.append((f"{confidence:.0%} interval", f"{low:+.1%} … {high:+.1%}"))
        figures.append(("pairs", str(len(document.get("a") or ()))))
        figures.append(("", "kept" if document.get("kept") else "reverted"))
        figures += [("predicted", words)] if (words := results.beside(document)) else []
        figures += [("of the packets, median of the runs:", "")] if document.get("guards") else []
        figures += [
            (f"{results.mark(guard, str(document.get('verdict')))} {guard.get('name')}",
             f"{portion(guard.get('a', 0))} → {portion(guard.get('b', 0))}")
            for guard in document.get("guards") or ()
        ]  # fmt: skip
        tool = "prove"
    elif kind == "sweep":
        tool, title = "sweep", str(document.get("setting") or "")
        figures.append(("best", str(document.get("best"))))
        figures.append(("", "kept" if document.get("kept") else "reverted"))
    elif kind == "tune":
        steps = [step for step in document.get("steps") or () if isinstance(step, dict)]
        kept = sum(step.get("state") == "kept" for step in steps)
        tool, title = "tune", f"{kept} of {many(len(steps), 'findings')} kept"
        figures.append(("undo", str(document["undo"]))) if document.get("undo") else None
    else:
        tool = str(document.get("tool", kind))
        streams = document.get("streams", 1)
        title = f"to {document.get('to', '?')}, {document.get('seconds', '?')} s, "
        title += f"{streams} stream{'s' * (streams != 1)}"
    retransmits = document.get("retransmits")
    if retransmits is not None:
        figures.append(("retransmits", f"{retransmits:,}"))
    latency = document.get("latency")
    if isinstance(latency, dict):
        figures += [
            (k, f"{latency[k]:.1f} {latency.get('unit', 'us')}")
            for k in ("p50", "p99", "max")
            if k in latency
        ]
    loss = document.get("loss")
    if isinstance(loss, dict) and loss.get("percent") is not None:
        figures.append(("loss", f"{loss['percent']:.3f} %"))
    intervals = tuple(
        float(i["bits_per_second"])
        for i in document.get("intervals") or ()
        if isinstance(i, dict) and i.get("bits_per_second")
    )
    rate = document.get("bits_per_second")
    return StoredResult(
        str(document.get("id", "")),
        float(document.get("at") or 0.0),
        tool,
        title,
        float(rate) if rate is not None else None,
        tuple(figures),
        intervals,
        str(document.get("verdict", "")),
        unit=str(document.get("unit", "")),
        before=tuple(map(float, document.get("a") or ())) if kind == "prove" else (),
        after=tuple(map(float, document.get("b") or ())) if kind == "prove" else (),
        interval=(float(low), float(high)),
        middle=float(document.get("median_difference") or 0.0),
        higher=str(document.get("metric", "rate")) not in LOWER,
        settings={k: str(v) for k, v in dict(document.get("settings") or {}).items()},
        spread=spread(document),
        points=points(document),
        to=str(document.get("to") or ""),
    )


def study_of(document: Document) -> StoredResult:
    """A stored study: the published and measured value of each point."""
    from ..trials.report import cells_of, published

    rows = tuple(
        (str(row["point"]), published(row["published"]), *cells_of(row, document["unit"]))
        for row in document["rows"]
    )
    measured = sum("measured" in row for row in document["rows"])
    name = str(document["study"])
    return StoredResult(
        str(document.get("id", "")), float(document.get("at") or 0.0), "study",
        f"{name}: {document.get('title', '')}",
        figures=(("", f"{measured} of {len(rows)} points measured"),),
        unit=str(document.get("unit", "")), rows=rows, study=name,
    )  # fmt: skip


def studies() -> tuple[Paper, ...]:
    """The published tables that can be repeated, without unreadable files."""
    from ..trials import study
    from ..trials.report import published

    out = []
    for name in study.names():
        try:
            one = study.load(name)
        except (study.StudyError, KeyError):
            continue
        points = tuple((p.name, published(p.published), p.skip) for p in one.points)
        out.append(
            Paper(one.id, one.title, one.paper, one.place, one.tool, one.unit, points, one.requires)
        )
    return tuple(out)


def journal(host: Host) -> tuple[tuple[JournalEntry, ...], tuple[Pending, ...]]:
    """The entries of this user's journal, and those that wait for a confirmation.

    OSError if the journal cannot be read.
    """
    from ..changes.journal import Journal
    from ..changes.namespaces import Survey
    from ..changes.status import standing
    from ..changes.target import made_here

    entries, survey = Journal().entries(), Survey()
    changes = tuple(
        JournalEntry(
            str(e.id), e.at, e.setting, e.before, e.after if e.after is not None else e.wanted,
            e.state, e.finding, e.who, e.because, since,
            space="" if made_here(e) else e.netns_name or "another network namespace",
            test=e.keeper,
        )
        for e, since in (standing(one, host, entries, survey) for one in entries)
    )  # fmt: skip
    pending = tuple(
        Pending(str(e.id), e.setting, e.deadline)
        for e in entries
        if e.state == "pending" and e.deadline is not None
    )
    return changes, pending


def journal_version() -> tuple[int, int]:
    """Differs once any nettop of this user has written to the journal; zeros if unreadable."""
    from ..changes.journal import Journal

    try:
        return Journal().version()
    except PermissionError:  # of the folder: `journal` says why
        return 0, 0


def notices() -> tuple[str, ...]:
    """The messages of the journal, once: failed guards, interrupted changes."""
    from ..changes import unguarded
    from ..changes.journal import Journal

    book = Journal()
    messages = unguarded.notices(book)
    if messages:
        book.mark_shown()
    return messages


def root_journal() -> tuple[tuple[JournalEntry, ...], tuple[Pending, ...]]:
    """The journal of root, read through sudo; empty if sudo needs a password or is not allowed."""
    from ..changes import privilege
    from ..changes import text as value_text

    try:
        entries = privilege.document_of(["journal"])["changes"]
    except (OSError, KeyError):
        return (), ()
    changes = tuple(
        JournalEntry(
            f"{ROOTS}{e['id']}", float(e["time"]), str(e["setting"]), value_text(e["before"]),
            value_text(e.get("after", e["wanted"])), str(e["state"]), str(e.get("finding", "")),
            str(e.get("who", "")), str(e.get("because", "")), str(e.get("since", "")),
            test=str(e.get("keeper", "")),
        )
        for e in entries
    )  # fmt: skip
    pending = tuple(
        Pending(f"{ROOTS}{e['id']}", str(e["setting"]), float(e["deadline"]))
        for e in entries
        if e["state"] == "pending" and e.get("deadline") is not None
    )
    return changes, pending


def exportable(entries: Iterable[JournalEntry]) -> list[JournalEntry]:
    """The changes in force of this host, oldest first; several of one setting are one change.

    The files that make settings persistent are left out, and what is held for a test.
    """
    known: dict[str, JournalEntry] = {}
    for entry in entries:
        if (
            entry.in_force
            and entry.state != "held"
            and not entry.setting.startswith("kept.")
            and not entry.host
        ):
            first = known.pop(entry.setting, entry)
            known[entry.setting] = replace(entry, before=first.before)
    return [entry for entry in known.values() if entry.before != entry.after]


Pairs = tuple[tuple[float, int], ...]  # value in µs, count; by value
Points = tuple[tuple[str, float, str], ...]  # label, value, remark
BITS: Final = "bit/s"


def spread(document: Mapping[str, object]) -> tuple[str, Pairs]:
    """The title and pairs of the latencies, or of the gaps between datagrams; ("", ()) for none."""
    latency = document.get("latency")
    if isinstance(latency, Mapping) and (pairs := _pairs(latency.get("histogram"))):
        return "latency", pairs
    total: dict[float, int] = {}
    for row in rows_of(document):
        for value, count in _pairs(row.get("gaps")):
            total[value] = total.get(value, 0) + count
    return ("gaps between datagrams", tuple(sorted(total.items()))) if total else ("", ())


def points(document: Mapping[str, object]) -> Points:
    """The points of a sweep: a value of the setting, or size and spacing; () without any."""
    if document.get("kind") == "sweep":
        return tuple(_value(row) for row in _tables(document.get("rows")))
    return tuple(_point(row) for row in rows_of(document) if "size" in row)


def rows_of(document: Mapping[str, object]) -> list[Mapping[str, object]]:
    """The points that a tool measured one after another."""
    details = document.get("details")
    return _tables(details.get("points")) if isinstance(details, Mapping) else []


def _value(row: Mapping[str, object]) -> tuple[str, float, str]:
    """One value of a setting, with its difference to the current one."""
    difference, low_high = row.get("median_difference"), row.get("interval")
    remark = "now"
    if isinstance(difference, int | float) and isinstance(low_high, Sequence):
        low, high = (float(end) for end in low_high)
        remark = f"{difference:+.1%} ({low:+.1%} … {high:+.1%}) {row.get('verdict', '')}"
    return str(row["value"]), _number(row["median"]), remark


def _point(row: Mapping[str, object]) -> tuple[str, float, str]:
    """One size of datagrams, with the spacing where there are several, and its loss in percent."""
    loss, spacing = _number(row.get("loss")), _number(row.get("spacing_us"))
    label = f"{row.get('size')} B" + (f" each {spacing:g} µs" if spacing else "")
    bits = row.get("payload_bits", row.get("capture_bits"))
    return label, _number(bits), f"{loss:.2f}% lost" if loss else ""


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _tables(value: object) -> list[Mapping[str, object]]:
    rows: Iterable[object] = value if isinstance(value, list | tuple) else ()
    return [row for row in rows if isinstance(row, Mapping)]


def _pairs(value: object) -> Pairs:
    rows: Iterable[object] = value if isinstance(value, list | tuple) else ()
    known = [tuple(row) for row in rows if isinstance(row, list | tuple) and len(row) == 2]
    return tuple(sorted((_number(edge), int(_number(count))) for edge, count in known))
