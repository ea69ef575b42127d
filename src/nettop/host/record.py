"""Record a source: the raw bytes of its answers, in the format that `recording` documents."""

import base64
import errno
import re
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from typing import TypeVar

from ..files import bounds
from ..terms.dataclass import dataclass
from .netlink.codec import Request
from .source import AGES, Batches, Source, ages_text

_LOOKALIKE = re.compile(r"^(?=\\*-- )", re.MULTILINE)
COUNTED = "bpf/"
_T = TypeVar("_T")


def _lines(data: bytes) -> str:
    text = base64.b64encode(data).decode()
    return "".join(text[i : i + 96] + "\n" for i in range(0, len(text), 96)) or "\n"


@dataclass
class Record:
    """A source that records another one: each answer of `inner` becomes part of the recording."""

    inner: Source
    comment: str = "A host recorded by nettop."
    began: float | None = None  # seconds of its clock that moments count from; None: the first
    woken: threading.Event = field(default_factory=threading.Event)
    folder: str = ""  # of the names of entries: see `apart`
    _known: dict[str, str] = field(default_factory=dict)
    _now: dict[str, str] = field(default_factory=dict)
    _done: list[str] = field(default_factory=list)
    _head: list[str] = field(init=False)
    _mark: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Write the comment first."""
        self.anew()

    def anew(self) -> None:
        """Begin another archive, which needs nothing of the one before.

        Its first moment has what is read from now on, so the caller reads everything again.
        """
        self._known, self._now, self._done = {}, {}, []
        # a line of the comment is never read as the start of an entry
        self._head = [_LOOKALIKE.sub(lambda _: "\\", self.comment.strip()) + "\n"]

    @property
    def live(self) -> bool:
        """Whether the recorded source is this machine."""
        return self.inner.live

    @property
    def host(self) -> str:
        """The recorded host's name."""
        return self.inner.host

    @property
    def ends(self) -> bool:
        """Whether the recorded source ends."""
        return self.inner.ends

    @property
    def batches(self) -> Batches | None:
        """How requests of the recorded source are sent together."""
        return self.inner.batches

    @property
    def opening(self) -> bool:
        """Whether the recorded source has just begun."""
        return self.inner.opening

    @property
    def ages(self) -> Mapping[str, float]:
        """Those of the recorded source, if it is a recording."""
        return self.inner.ages

    def keep_ages(self, seconds: Mapping[str, float]) -> None:
        """Record which tables were not read at this moment; copied if a recording is recorded."""
        if body := ages_text(self.inner.ages if self.inner.ends else seconds):
            self._keep(AGES, body)
        elif self._known.pop(self.folder + AGES, ""):
            self._now[self.folder + AGES] = "!gone\n"

    def _keep(self, name: str, body: str) -> None:
        name = self.folder + name
        if self._mark is None:
            at = self.inner.now()
            self.began = at if self.began is None else self.began
            self._mark = (at - self.began, self.inner.wall())
        if body and not body.endswith("\n"):
            body += "\n"
        if len(body) > bounds.BOUNDS["answer"].most:  # it could not be read again
            body = f"!{errno.EFBIG} {bounds.exceeded('answer').strerror}\n"
        if self._known.get(name) != body:
            self._known[name] = body
            self._now[name] = body

    def _fail(self, name: str, error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            self._keep(name, f"!{error.errno or 5} {error.strerror or error}")
        elif self._known.pop(self.folder + name, None) is not None:
            self._now[self.folder + name] = "!gone\n"

    def now(self) -> float:
        """The inner clock."""
        return self.inner.now()

    def wall(self) -> float:
        """The inner wall clock."""
        return self.inner.wall()

    def wait(self, seconds: float) -> bool:
        """End this moment and let the inner source go on."""
        self._close()
        return self.inner.wait(seconds)

    def _close(self) -> None:
        if self._mark is None:
            return
        self._done.append(f"-- @{self._mark[0]:.3f} wall {self._mark[1]:.3f} --\n")
        for name in sorted(self._now):
            body = _LOOKALIKE.sub(lambda _: "\\", self._now[name])
            self._done.append(f"-- {name} --\n{body}")
        self._now, self._mark = {}, None

    def archive(self) -> str:
        """The recording so far, or since the last `taken`."""
        self._close()
        return "".join([*self._head, *self._done])

    def taken(self) -> str:
        """As `archive`, and drop it from memory, for a caller that writes it to a file."""
        text = self.archive()
        self._head, self._done = [], []
        return text

    def data(self, path: str) -> bytes:
        """The file's bytes."""
        return self.text(path).encode("utf-8", "surrogateescape")

    def text(self, path: str) -> str:
        """The file's text."""
        return self._asked(path, lambda: self.inner.text(path), str)

    def listing(self, path: str) -> list[str]:
        """The names in a directory."""
        return self._asked(
            path.rstrip("/") + "/", lambda: self.inner.listing(path),
            lambda names: "".join(f"{name}\n" for name in names),
        )  # fmt: skip

    def link(self, path: str) -> str:
        """Where a symbolic link points."""
        return self._asked(path + "@", lambda: self.inner.link(path), str)

    def netlink(self, request: Request) -> bytes:
        """The kernel's answer."""
        return self._asked(f"netlink/{request.name}", lambda: self.inner.netlink(request), _lines)

    def statistics(self, interface: str, request: bytes, name: str) -> bytes:
        """The driver's answer."""
        return self._asked(
            f"ioctl/{name}", lambda: self.inner.statistics(interface, request, name), _lines
        )

    def counted(self, what: str) -> str:
        """The kernel's counts."""
        return self._asked(COUNTED + what, lambda: self.inner.counted(what), str)

    def _asked(self, name: str, ask: Callable[[], _T], written: Callable[[_T], str]) -> _T:
        """The answer, kept as an entry of that name; so is an error. OSError."""
        try:
            answer = ask()
        except OSError as error:
            self._fail(name, error)
            raise
        self._keep(name, written(answer))
        return answer

    def end_counting(self, what: str) -> None:
        """End the counting of the recorded source."""
        self.inner.end_counting(what)

    def keep_open(self, paths: Collection[str]) -> None:
        """The recorded source opens them once."""
        self.inner.keep_open(paths)
