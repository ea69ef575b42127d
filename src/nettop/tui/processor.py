"""The processor's model name, for the first line of the screen.

py-cpuinfo finds it even if /proc/cpuinfo has none. It starts a process and takes more than a
second, so it runs in the background after the first frame, and the name is stored.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

from .. import config
from ..files import bounds
from ..files.draft import write


def learn(tell: Callable[[str], None], ask: bool = True) -> None:
    """Call `tell` with the name as soon as it is known.

    Without `ask`, only a stored name is used: no process is started and no file is written.
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

            brand = str(get_cpu_info().get("brand_raw", ""))
        except Exception:  # py-cpuinfo can raise any exception on unusual machines
            return
        brand = re.sub(r"\((?:R|TM|tm)\)|\bCPU\b|@.*", "", brand)
        brand = re.sub(r"\s+", " ", brand).strip()
        if not brand:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path, brand + "\n")
        except OSError:
            pass  # the next run asks again
        tell(brand)

    threading.Thread(target=find, name="nettop-processor", daemon=True).start()
