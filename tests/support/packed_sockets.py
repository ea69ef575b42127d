"""TCP sockets as facts meet them: rows of an answer of sock_diag, and where they land."""

from typing import Any, ClassVar

from nettop.collect import sockets_tcp
from nettop.facts.landing import Landed


def read(raw: bytes, before: Any = None, seen: Any = None) -> list[Any]:
    """The rows of an answer; `before` are the sockets of the last, `seen` gets those of this."""
    return sockets_tcp.parse(raw, before or {}, {} if seen is None else seen, str, 4)


class Sites:
    """Every socket uses eth0, by a queue that is not known."""

    ports: ClassVar[dict[str, Any]] = {}

    def begin(self) -> None:
        """Nothing is kept."""

    def site(self, *_: object) -> Landed:
        """The same for each socket."""
        return Landed("eth0", None, None, "")
