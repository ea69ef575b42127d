"""Who may enter: a token in the path, the Host that was dialled, the Origin of the page that asks.

The token keeps out other users of this machine. Host keeps out a foreign page whose name was
rebound to 127.0.0.1; Origin (RFC 6454) and Sec-Fetch-Site (W3C Fetch Metadata) keep out a foreign
page that learned the token. Browsers set all three; a page cannot.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
HTTP: Final = 80  # the port that a browser leaves out of Host
OWN: Final = ("same-origin", "none")  # of Sec-Fetch-Site: our own page, or typed by the user


@dataclass(frozen=True, slots=True)
class Door:
    """Admits requests for `/TOKEN/NAME` that were made to a loopback name and this port."""

    token: str
    port: int

    @property
    def url(self) -> str:
        """What the user opens."""
        return f"http://{NAMES[0]}:{self.port}/{self.token}/"

    def knows(self, path: str) -> bool:
        """Whether the first segment of a path is the token; the time does not tell how near."""
        given = path.split("/", 2)[1:2]
        return hmac.compare_digest("".join(given).encode("utf-8", "replace"), self.token.encode())

    def local(self, host: str) -> bool:
        """Whether a Host header names this server, and not a name that somebody else chose."""
        names = {f"{name}:{self.port}" for name in NAMES}
        if self.port == HTTP:
            names |= set(NAMES)
        return host.lower() in names

    def own(self, headers: Mapping[str, str], name: str) -> bool:
        """Whether our own page or the user asks for NAME, and not a page from elsewhere.

        A link may open the page in a tab of its own; nothing may be embedded, fetched or posted
        from elsewhere. The web socket must say its Origin: every browser does (RFC 6455, 10.2).
        """
        origin = headers.get("Origin")
        if origin is None:
            if name == "ws":
                return False
        elif origin.lower() != f"http://{headers.get('Host', '').lower()}":
            return False
        if headers.get("Sec-Fetch-Site", OWN[0]) in OWN:
            return True
        return name == "" and headers.get("Sec-Fetch-Dest") == "document"

    def admits(self, path: str, headers: Mapping[str, str]) -> str | None:
        """The NAME that is asked for; None when the request must be refused."""
        known = self.knows(path)
        local = self.local(headers.get("Host", ""))
        name = "".join(path.split("/", 2)[2:])
        return name if known and local and self.own(headers, name) else None
