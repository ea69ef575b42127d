"""Files of the wheel that are generated or collected at build time.

The manual page and the completions are generated from the argument parsers. The recordings that
rule tests use are included, so that `nettop rules test` works on any host.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BuildData = dict[str, dict[str, str]]  # shared_data, force_include: source → place
PLACES = {
    "man": "share/man/man1/nettop.1",
    "concepts": "share/man/man7/nettop.7",
    "bash": "share/bash-completion/completions/nettop",
    "zsh": "share/zsh/site-functions/_nettop",
    "fish": "share/fish/vendor_completions.d/nettop.fish",
}


def recorded(rules: Path) -> set[str]:
    """The recordings that rule tests use, such as `hosts/guest-idle.host`."""
    named = re.compile(r'^recorded\s*=\s*"(.*)"', re.MULTILINE)
    texts = (path.read_text(encoding="utf-8") for path in rules.glob("*/*.toml"))
    return {name for text in texts for name in named.findall(text)}


class Shared(BuildHookInterface[BuilderConfig]):
    """The hatchling build hook that adds the files to the wheel."""

    def initialize(self, version: str, build_data: BuildData) -> None:
        """Generate the files, except for an editable install."""
        if version == "editable":
            return
        sys.path.insert(0, str(Path(self.root) / "src"))
        from nettop.commands import completion, man

        self.folder = tempfile.TemporaryDirectory(prefix="nettop-build-")  # until the end
        for name, place in PLACES.items():
            pages = {"man": man.page, "concepts": man.concepts}
            text = pages[name]() if name in pages else completion.script(name)
            path = Path(self.folder.name) / name
            path.write_text(text, encoding="utf-8")
            build_data["shared_data"][str(path)] = place

        for name in recorded(Path(self.root) / "rules"):
            build_data["force_include"][f"tests/{name}"] = f"nettop/rules/tests/{name}"

    def finalize(self, version: str, build_data: BuildData, artifact_path: str) -> None:
        """Remove the temporary files after the build."""
        del build_data, artifact_path
        if version != "editable":
            self.folder.cleanup()
