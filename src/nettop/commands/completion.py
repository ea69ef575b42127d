"""Print the completion of a shell: commands, options, their values, interfaces, rules and files.

    bash   nettop completion bash > ~/.local/share/bash-completion/completions/nettop
    zsh    nettop completion zsh > "${fpath[1]}/_nettop"
    fish   nettop completion fish > ~/.config/fish/completions/nettop.fish

The package installs all three where shells look for them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._manual import Command, Option

HELP = "print the completion of a shell"
SHELLS = ("bash", "zsh", "fish")
PATHS = ("FILE", "DIR", "A", "B", "RULE|PATH")
ASK = {  # what a shell runs to know the words; nothing of it is ever evaluated
    "IF": "command ls /sys/class/net 2>/dev/null",
    "RULE": "nettop rules list 2>/dev/null | awk 'NF > 2 {print $2}'",
    "TOOL": "nettop test list 2>/dev/null | awk '{print $1}'",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("shell", choices=SHELLS)


def run(args: argparse.Namespace) -> int:
    """Print it."""
    print(script(args.shell), end="")
    return 0


def script(shell: str) -> str:
    """The completion of that shell."""
    from ._manual import every

    made = {"bash": bash, "zsh": zsh, "fish": fish}[shell](every())
    return "\n".join(made) + "\n"


def _words(option: Option) -> tuple[str, ...]:
    """The values there are, when they are known now."""
    if option.choices:
        return option.choices
    if option.value == "PANE":
        from ..panes import names

        return names()
    return ()


def _offer(option: Option) -> str:
    """What bash offers as the option's value."""
    if words := _words(option):
        return f'compgen -W "{" ".join(words)}" -- "$cur"'
    if option.value in ASK:
        return f'compgen -W "$({ASK[option.value]})" -- "$cur"'
    return 'compgen -f -- "$cur"' if option.value in PATHS else ""


def bash(every: tuple[Command, ...]) -> Iterator[str]:
    """For bash, without the bash-completion package."""
    yield "# bash completion of nettop, made by `nettop completion bash`"
    yield "_nettop() {"
    yield "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}"
    yield '    local command=${COMP_WORDS[1]} offer="" options=""'
    yield "    COMPREPLY=()"
    names = " ".join(command.name for command in every if command.name != "top")
    yield '    if [ "$COMP_CWORD" -eq 1 ] && [[ $cur != -* ]]; then'
    yield f'        mapfile -t COMPREPLY < <(compgen -W "{names}" -- "$cur")'
    yield "        return"
    yield "    fi"
    yield "    [[ $command == -* ]] && command=top"
    yield "    case $command in"
    for command in every:
        yield f"    {command.name})"
        options = " ".join(name for option in command.options for name in option.names)
        yield f'        options="{options} --help"'
        offers = [(option.names, offer) for option in command.options if (offer := _offer(option))]
        first = next((offer for one in command.arguments if (offer := _offer(one))), "")
        yield "        case $prev in"
        for given, offer in offers:
            yield f"        {'|'.join(given)}) offer='{_quoted(offer)}' ;;"
        yield f"        *) offer='{_quoted(first)}' ;;"
        yield "        esac"
        yield "        ;;"
    yield "    esac"
    yield "    if [[ $cur == -* ]]; then"
    yield '        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")'
    yield '    elif [ -n "$offer" ]; then'
    yield '        mapfile -t COMPREPLY < <(eval "$offer")'
    yield "    fi"
    yield "}"
    yield "complete -o filenames -F _nettop nettop"


def zsh(every: tuple[Command, ...]) -> Iterator[str]:
    """For zsh's own completion system."""
    yield "#compdef nettop"
    yield "# made by `nettop completion zsh`"
    yield "_nettop() {"
    yield "    local -a commands=("
    for command in every:
        if command.name != "top":
            yield f"        '{command.name}:{_quoted(command.help)}'"
    yield "    )"
    yield "    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then"
    yield "        _describe command commands"
    yield "        return"
    yield "    fi"
    yield "    local command=$words[2]"
    yield "    if [[ $command == -* ]]; then command=top; else shift words; (( CURRENT-- )); fi"
    yield "    case $command in"
    for command in every:
        yield f"    {command.name})"
        specs = [_zsh(option) for option in command.options]
        specs += [f"'*:{_zsh_text(one.value)}:{_zsh_action(one)}'" for one in command.arguments[:1]]
        yield "        _arguments " + " \\\n            ".join(specs or ["'--help[help]'"]) + " ;;"
    yield "    esac"
    yield "}"
    yield '_nettop "$@"'


def _zsh(option: Option) -> str:
    value = f":{_zsh_text(option.value)}:{_zsh_action(option)}" if option.value else ""
    return f"'{option.names[-1]}[{_zsh_text(option.help)}]{value}'"


def _zsh_action(option: Option) -> str:
    if words := _words(option):
        return f"({' '.join(words)})"
    if option.value in ASK:
        return f"($({_quoted(ASK[option.value])}))"
    return "_files" if option.value in PATHS else " "


def _zsh_text(text: str) -> str:
    return _quoted(text.replace("\\", "").replace("[", "(").replace("]", ")").replace(":", ";"))


def fish(every: tuple[Command, ...]) -> Iterator[str]:
    """For fish."""
    yield "# fish completion of nettop, made by `nettop completion fish`"
    yield "complete -c nettop -f"
    for command in every:
        name, bare = command.name, command.name == "top"
        if not bare:
            when = "__fish_use_subcommand"
            yield f"complete -c nettop -n {when} -a {name} -d '{_fish(command.help)}'"
        when = "__fish_use_subcommand" if bare else f"'__fish_seen_subcommand_from {name}'"
        for option in command.options:
            long = " ".join(f"-l {one[2:]}" for one in option.names if one.startswith("--"))
            value = f" -x{_fish_values(option)}" if option.value else ""
            value = " -r -F" if option.value in PATHS else value
            yield f"complete -c nettop -n {when} {long}{value} -d '{_fish(option.help)}'"
        for one in command.arguments[:1]:
            if one.value in PATHS:
                yield f"complete -c nettop -n {when} -F"
            elif values := _fish_values(one):
                yield f"complete -c nettop -n {when}{values}"


def _fish_values(option: Option) -> str:
    if words := _words(option):
        return f" -a '{' '.join(words)}'"
    return f" -a '({_fish(ASK[option.value])})'" if option.value in ASK else ""


def _fish(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _quoted(text: str) -> str:
    """Inside single quotes of a POSIX shell."""
    return text.replace("'", "'\\''")
