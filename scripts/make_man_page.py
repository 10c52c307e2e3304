"""Prints the manual page, made from the command line itself: `python scripts/make_man_page.py > driftwatch.1`, then `man ./driftwatch.1`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

from driftwatch.cli.wiring.commands import build, build_root, summaries

EXIT_CODES = (
    ("0", "nothing to say: the same, and all that was asked was answered"), ("1", "findings"), ("2", "wrong use, or a file that cannot be read"),
    ("3", "no finding, but not all was checked"), ("4", "not stored"), ("70", "driftwatch itself failed"),
)
SHARED = "Options that every command takes, before it or after it"


def page() -> str:
    """Return the manual page as troff."""
    root = build_root()
    lines = ['.TH DRIFTWATCH 1 "" "driftwatch" "User Commands"', ".SH NAME"]
    lines.append(r"driftwatch \- tell what changed between the run that worked and the run that does not")
    lines += [".SH SYNOPSIS", ".B driftwatch", ".I COMMAND", "[ARGUMENTS] [OPTIONS]", ".SH DESCRIPTION"]
    lines.append(_plain("Takes a snapshot of a GPU host, here or over SSH, and explains what changed between a working and a broken one."))
    shared = {option for param in root.params for option in param.opts}
    lines += [".SH OPTIONS", _plain(f"{SHARED}."), *(line for param in root.params for line in _option(param))]
    lines += [".SH COMMANDS", *(line for name in summaries() for line in _command(name, shared))]
    lines += [".SH EXIT STATUS", *(line for code, says in EXIT_CODES for line in (".TP", f".B {code}", _plain(says)))]
    return "\n".join(line for line in lines if line) + "\n"


def _command(name: str, shared: set[str]) -> Iterator[str]:
    command = build(name)
    arguments = " ".join(param.metavar or param.name.upper() for param in command.params if param.param_type_name == "argument")
    yield f".SS {_plain(f'driftwatch {name} {arguments}'.strip())}"
    yield _plain(command.help or "")
    for param in command.params:
        if param.param_type_name == "argument" or not shared.intersection(param.opts):
            yield from _option(param)


def _option(param: Any) -> Iterator[str]:
    """Yield an option or an argument with what it is for."""
    is_argument = param.param_type_name == "argument"
    names = [param.metavar or param.name.upper()] if is_argument else [*param.opts, *param.secondary_opts]
    value = "" if is_argument or param.is_flag or param.count else f" {param.metavar or 'VALUE'}"
    yield ".TP"
    yield f".B {_plain(', '.join(names) + value)}"
    yield _plain(param.help or "")


def _plain(text: str) -> str:
    """Return a text that troff prints as it is."""
    line = " ".join(re.sub(r"[\x00-\x1f]", " ", text).split()).replace("\\", r"\e").replace("-", r"\-")
    return r"\&" + line if line.startswith((".", "'")) else line


if __name__ == "__main__":
    sys.stdout.write(page())
