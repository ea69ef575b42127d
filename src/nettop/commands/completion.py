"""Print a shell completion script.

nettop completion bash > ~/.local/share/bash-completion/completions/nettop
nettop completion zsh > "${fpath[1]}/_nettop"
nettop completion fish > ~/.config/fish/completions/nettop.fish

It completes commands, options, option values, interfaces, rules and files. The package installs
all three scripts in the standard folders of the shells.
"""

import argparse

from . import command, names

HELP = "print a shell completion script"
SHELLS = ("bash", "zsh", "fish")
PATHS = ("FILE", "DIR", "A", "B", "RULE|PATH")
ASK = {  # commands that list the possible values; their output is never evaluated
    "IF": "command ls /sys/class/net 2>/dev/null",
    "RULE": r"nettop rules list 2>/dev/null | sed -nE 's/^ +[a-z]+ +([a-z0-9-]+) .*/\1/p'",
    "TOOL": "nettop test list 2>/dev/null | sed 's/ .*//'",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("shell", choices=SHELLS)


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    print(script(args.shell), end="")
    return 0


def script(shell: str) -> str:
    """The completion script of that shell."""
    import shtab

    offer = {"bash": 'compgen -W "$({})" -- "$1"', "zsh": "compadd -- $({})"}.get(shell, "")
    functions = (
        f"_nettop_{value.lower()}() {{ {offer.format(asks)}; }}" for value, asks in ASK.items()
    )
    preamble = "\n".join(functions) if offer else ""
    return f"{shtab.complete(_whole(), shell, preamble=preamble).rstrip()}\n"


def _whole() -> argparse.ArgumentParser:
    """One parser of all commands; what completes a value is declared as shtab reads it."""
    import shtab

    from .. import panes

    screen = argparse.ArgumentParser("nettop")
    added = screen.add_subparsers(metavar="COMMAND")
    for name in names():
        module = command(name)
        parser = screen if name == "top" else added.add_parser(name, help=module.HELP)
        module.arguments(parser)
        for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
            value = str(action.metavar or action.dest.upper().replace("_", "-"))
            if value == "PANE":
                action.choices = panes.names()
            elif value in PATHS:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
            elif value in ASK:
                function = f"_nettop_{value.lower()}"
                asked = {"bash": function, "zsh": function, "fish": f"({ASK[value]})"}
                action.complete = asked  # type: ignore[attr-defined]
    return screen
