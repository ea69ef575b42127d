"""The modules of a folder: a new collector, setting, command or pane is one new file.

A listing takes almost no time; pkgutil and importlib.resources cost milliseconds at every start.
"""

import os


def modules(path: str, private: str = "_") -> tuple[str, ...]:
    """The names of the modules in a folder, sorted, without importing any.

    Those that begin with `private` are left out.
    """
    return tuple(
        sorted(
            entry.removesuffix(".py")
            for entry in os.listdir(path)
            if entry.endswith(".py") and not entry.startswith(private)
        )
    )
