"""A guard of a directory that serves as a host, with a copy of nettop, a clock and a trace.

    python guard_alone.py FOLDER [OPTIONS OF PYTHON] FOLDER_OF_JOURNAL GROUP DUE

In FOLDER are `lib/nettop`, `host`, `ethtool.json`, and `clock`, whose size is added to the time in
seconds. `trace` gets the modules that were opened or imported after the guard was ready.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

folder = Path(sys.argv[1])
sys.path.insert(0, str(folder / "lib"))
sys.path.insert(1, str(Path(__file__).parent))
trace = os.open(folder / "trace", os.O_WRONLY | os.O_CREAT, 0o600)
seen: list[str] = []
armed: list[bool] = []


def audit(event: str, values: tuple[object, ...]) -> None:
    if armed and event == "import":
        seen.append(f"import {values[0]}")
    elif armed and event == "open" and str(values[0]).endswith((".py", ".pyc", ".so")):
        seen.append(f"open {values[0]}")


sys.addaudithook(audit)

import fake_ethtool  # noqa: E402

from nettop.changes import guard  # noqa: E402
from nettop.changes.journal import Book, since_boot  # noqa: E402
from nettop.host.netlink import ethtool  # noqa: E402
from nettop.settings import Host, _ethtool  # noqa: E402

assert guard.__file__.startswith(str(folder)), guard.__file__
fakes = fake_ethtool.functions(folder / "ethtool.json")
for name in ("values", "field", "put"):
    setattr(_ethtool, name, fakes[name])
ethtool.strings = fakes["strings"]
host = Host.at(str(folder / "host"))
Host.at = classmethod(lambda _cls, _root="/": host)  # type: ignore[method-assign,assignment]
wait = guard.wait
vars(guard)["since_boot"] = lambda: since_boot() + (folder / "clock").stat().st_size


def waits(journal: Book, group: int, tell: Callable[[int], object] = print) -> None:
    armed.append(True)
    wait(journal, group, tell)
    os.write(trace, json.dumps(seen).encode())


guard.wait = waits
guard.main(sys.argv[-3:])
