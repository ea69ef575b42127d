"""The processor's name as sold, for the screen's first line.

py-cpuinfo knows it on machines whose /proc/cpuinfo has no model name; it starts a process and takes
more than a second, so it is asked in the background after the first picture, and the answer kept.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

from .. import config
from ..files import bounds
from ..files.draft import write


def learn(tell: Callable[[str], None], ask: bool = True) -> None:
    """Tell the name as soon as it is known; never, when nothing tells it.

    Unless `ask`, no process is started and no file written: the name is told when it was kept.
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
        except Exception:  # whatever a foreign parser meets on an odd machine: no name then
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
