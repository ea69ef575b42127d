"""The processor's model name, for the first line of the screen.

py-cpuinfo knows it where /proc/cpuinfo has none. It starts a process and takes more than a second,
so it runs in the background after the first frame, and the answer is stored.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

from .. import config
from ..files import bounds
from ..files.draft import write


def learn(tell: Callable[[str], None], ask: bool = True) -> None:
    """Call `tell` with the name once it is known; not at all where it is unknown.

    Without `ask`, only a stored name is used: no process is started and no file written.
    """
    path = config.state_folder() / "processor"
    try:
        name = bounds.read(path, "state").decode("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        name = ""
    if name:
        tell(name)
    if name or not ask:
        return

    def find() -> None:
        try:
            from cpuinfo import get_cpu_info

            found = str(get_cpu_info().get("brand_raw", ""))
        except Exception:  # py-cpuinfo raises what it likes on odd machines: no name
            return
        made = re.sub(r"\((?:R|TM|tm)\)|\bCPU\b|@.*", "", found)
        made = re.sub(r"\s+", " ", made).strip()
        if not made:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path, made + "\n")
        except OSError:
            pass  # asked again the next time
        tell(made)

    threading.Thread(target=find, name="nettop-processor", daemon=True).start()
