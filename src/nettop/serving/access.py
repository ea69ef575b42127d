"""Access control: a token in the path, the Host header, and the Origin of the request.

The token stops other users of this host. The Host check stops DNS rebinding to 127.0.0.1. Origin
(RFC 6454) and Sec-Fetch-Site (W3C Fetch Metadata) stop a foreign page that knows the token.
Browsers set these three headers; a page cannot.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Final

from ..terms.dataclass import dataclass

NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
HTTP: Final = 80  # the default port, which browsers omit from Host
OWN: Final = ("same-origin", "none")  # Sec-Fetch-Site: our page, or a typed address


@dataclass(frozen=True, slots=True)
class Access:
    """Accepts requests for `/TOKEN/NAME` to a loopback name and this port."""

    token: str
    port: int

    @property
    def url(self) -> str:
        """The address for the user."""
        return f"http://{NAMES[0]}:{self.port}/{self.token}/"

    def knows(self, path: str) -> bool:
        """Whether the first path segment is the token; compared in constant time."""
        given = path.split("/", 2)[1:2]
        return hmac.compare_digest("".join(given).encode("utf-8", "replace"), self.token.encode())

    def local(self, host: str) -> bool:
        """Whether the Host header is a loopback name with this port."""
        names = {f"{name}:{self.port}" for name in NAMES}
        if self.port == HTTP:
            names |= set(NAMES)
        return host.lower() in names

    def own(self, headers: Mapping[str, str], name: str) -> bool:
        """Whether the request for NAME comes from our own page or from the user.

        A link on another site may open the page in a tab; embedding, fetching and posting from
        other origins are refused. A web socket must have an Origin header (RFC 6455, 10.2).
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
        """The requested NAME; None if the request is refused."""
        known = self.knows(path)
        local = self.local(headers.get("Host", ""))
        name = "".join(path.split("/", 2)[2:])
        return name if known and local and self.own(headers, name) else None
