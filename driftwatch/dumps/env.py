"""``env``, ``printenv``, ``export -p``, typed ``export`` and PowerShell's ``$env:NAME="value"`` lines: variables of one shell, not of a server.

Names that are not listed are left out by read.py.

| path | what |
|---|---|
| env/NAME | the value |
| containers/unnamed/env/NAME | of a container, from the list ``"NAME=VALUE",`` of its description, of which only a piece was pasted |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.placeholders import OPEN, is_open
from driftwatch.dumps.rows import command_of, commands_above
from driftwatch.dumps.shell import prompted, split
from driftwatch.dumps.tables import is_filtered

COMMANDS = ("env", "printenv", "export -p", "cat /proc/")
FEWEST_ROWS = 3
FEWEST_OF_ALL = 10
MOST_OTHER_LINES = 2
ROW = re.compile(  # neither a row of a log's own pairs (time=... level=...), nor NAME==VERSION, nor one of a command that goes on
    r"\s{0,8}(?!(?:time|ts)=\S{1,60} (?:level|caller)=|level=\w{1,10} )(?:declare -x |export )?"
    r"(?P<name>[A-Za-z_][A-Za-z0-9_]{0,120})=(?:(?!=)|(?<=[A-Z]=)(?==[A-Za-z]))(?P<value>.*)(?<!\s\\)\Z")
_GOES_ON = re.compile(r"\s{0,8}[A-Za-z_]\w{0,120}=.*\s\\\Z")
_EXPORT = re.compile(r"\s{0,8}export (?P<pairs>[A-Za-z_]\w{0,120}=.*)(?<!\\)\Z")
_POWERSHELL = re.compile(
    r"\s{0,8}(?:\([\w./+@-]{1,60}\)\s?){0,3}(?:PS [^>\n]{1,200}>\s{0,4})?\$[Ee]nv:(?P<name>[A-Za-z_]\w{0,120})\s{0,4}=\s{0,4}"
    r"(?P<quote>[\"']?)(?P<value>(?<=\")[^\"]*|(?<=')[^']*|[\w./:\\+-]+)(?P=quote)\s{0,4};?\Z")
_PAIR = re.compile(r"(?P<name>[A-Za-z_]\w{0,120})=(?P<value>.*)\Z", re.DOTALL)
_BETWEEN = ("export", ";", "&&")
_LISTED = re.compile(r'\s{0,40}"(?P<name>[A-Za-z_][A-Za-z0-9_]{0,120})=(?P<value>[^"\\]*)",?\s*\Z')
_LAUNCH = ("sglang.launch_server", "sglang serve", "vllm serve", "vllm.entrypoints")
_NEAR = 3
_WHOLE = ("sort", "cat", "less", "more", "tee", "column", "nl", "tr", "strings")
_MOST_GROUPS = 3  # in a pattern: each doubles what it can mean
_PLAIN = re.compile(r"(\^?)([A-Za-z_]\w*)(=?)")
_COMMAND = re.compile(r"(?:^|[\s;&|$#>])(?:(?:env|printenv|export -p)\s*(?:$|\||;|&)|cat /proc/\w{1,20}/environ\s*\|)")


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield runs of variables; other lines may stand among them, as pieces of a value of several lines."""
    at = 0
    while at < len(lines):
        if not ROW.match(lines[at]):
            after = _same(lines, at)
            if after > at:
                yield Stretch(at, after, 0.89)
            at = max(after, at + 1)
            continue
        after, count = _run(lines, at)
        is_named = _COMMAND.search(commands_above(lines, at, COMMANDS, 1)) is not None
        if count >= FEWEST_ROWS or is_named or _are_exports(lines, at, after):
            yield Stretch(at - is_named, after, 0.7 if is_named else 0.5)
        at = after


def _same(lines: Sequence[str], at: int) -> int:
    """Return where a run of prompted exports, of PowerShell's assignments, or of a container's list, ends; the line itself where none begins."""
    for is_mine, fewest in ((_exports, 1), (_POWERSHELL.match, 1), (_LISTED.match, FEWEST_ROWS)):
        after = at
        while after < len(lines) and lines[after] != FENCE and is_mine(lines[after]):
            after += 1
        if after - at >= fewest:
            return after
    return at


def _exports(line: str) -> str:
    """Return the pairs that a line exports, behind a prompt or at its start; "" where it exports none, as a line does that is commented out."""
    if "export " not in line:
        return ""
    prompt = prompted(line)
    found = _EXPORT.match(prompt.text if prompt is not None and prompt.mark in ("user", "short") else line)
    return found["pairs"] if found else ""


def _are_exports(lines: Sequence[str], at: int, after: int) -> bool:
    """Tell whether the variables of a run were typed as a shell's exports: two and more, or above the start of a server."""
    if not any(map(_exports, lines[at:after])):
        return False
    below = lines[after:after + _NEAR]
    exports = sum(bool(_exports(line)) for line in (*lines[max(0, at - _NEAR):after], *below))
    return exports > 1 or any(word in line for line in below for word in _LAUNCH)


def _run(lines: Sequence[str], at: int) -> tuple[int, int]:
    """Return where a run ends, and how many variables it has."""
    after, others, count = at, 0, 0
    while at < len(lines) and lines[at] != FENCE and others <= MOST_OTHER_LINES and not command_of(lines[at]):
        if ROW.match(lines[at]):
            after, others, count = at + 1, 0, count + 1
        else:
            others += 1
        at += 1
    return after, count


def parse(text: str) -> Parsed:
    """Return the variables. A list without a cut tells of all, or of those that its command asked for."""
    facts = variables(text)
    first = text.partition("\n")[0]
    lines = text.split("\n")
    is_typed = (not _COMMAND.search(first) and any(_exports(line) or _POWERSHELL.match(line) for line in lines)) or any(map(_GOES_ON.match, lines))
    return Parsed(facts, tells=_told_whole(first, facts) if text.endswith("\n") and not is_typed else ())


def _told_whole(first: str, facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the globs of the variables that a list tells whole, by its first line: its command, or, of a long list with a PATH, any other line."""
    if _COMMAND.search(first):
        globs = _asked_for(first)
        return globs if globs != ("env/*",) or "env/PATH" in facts else ()
    return ("env/*",) if len(facts) >= FEWEST_OF_ALL and "env/PATH" in facts and not is_filtered(first.partition("=")[0]) else ()


def _asked_for(command: str) -> tuple[str, ...]:
    """Return the globs of the variables that a command line shows: all, or those that its grep looks for; none where it cuts otherwise."""
    stages: list[list[str]] = [[]]
    for word in split(command):
        stages.append([]) if word == "|" else stages[-1].append(word)
    return shown_through(stages[1:]) if stages[0] else ()


def shown_through(stages: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the globs of the variables that a list of all of them shows behind some commands."""
    globs: tuple[str, ...] = ("env/*",)
    for program, *words in filter(None, stages):
        if program in ("grep", "egrep"):
            globs = _of_grep(words)
        elif program not in _WHOLE or not globs:
            return ()
    return globs


def _of_grep(words: Sequence[str]) -> tuple[str, ...]:
    """Return a glob for each plain word, or beginning, that a grep looks for in lines NAME=VALUE; none where one is no plain word."""
    options = "".join(word.lstrip("-") for word in words if word.startswith("-"))
    patterns = [word for word in words if not word.startswith("-")]
    if set(options) - set("Eei") or not patterns:
        return ()
    plain = [_PLAIN.fullmatch(one) for pattern in patterns for one in _alternatives(pattern)]
    spelled = [(found, case) for found in plain if found for case in ((found[2].upper(), found[2].lower()) if "i" in options else (found[2],))]
    return tuple(f"env/{'' if found[1] else '*'}{name}{'' if found[3] else '*'}" for found, name in spelled) if None not in plain else ()


def _alternatives(pattern: str) -> list[str]:
    """Return what a pattern looks for as one or the other: ``A|B``, and ``A_(B|C)`` too. An alternative with other signs stays as it is."""
    group = re.search(r"\(([^()]*)\)", pattern)
    if group is None or pattern.count("(") > _MOST_GROUPS:
        return re.split(r"\\?\|", pattern)
    before, _, head = pattern[:group.start()].rpartition("|")
    tail, _, behind = pattern[group.end():].partition("|")
    grouped = [f"{head}{one}{tail}" for one in group[1].split("|")]
    return [one for part in (before, *grouped, behind) if part for one in _alternatives(part)]


def variables(text: str) -> dict[str, Any]:
    """Return the variables that lines ``NAME=VALUE`` tell, by path; a last one that may have been cut is left out."""
    facts: dict[str, Any] = {}
    lines = text.split("\n")
    for line in lines[:-1]:
        pairs, listed, row = _exports(line), _LISTED.match(line), ROW.match(line) or _POWERSHELL.match(line)
        if pairs:
            facts.update(_exported(pairs))
        elif listed:
            facts[f"containers/unnamed/env/{listed['name']}"] = listed["value"]
        elif row:
            facts[f"env/{row['name']}"] = OPEN if row.re is _POWERSHELL and row["quote"] != "'" and "$" in row["value"] else _unquoted(row["value"])
    return facts


def _exported(text: str) -> Iterator[tuple[str, Any]]:
    """Yield the variables of ``NAME=VALUE ...`` behind ``export``, up to another command. What a shell would have put in is unknown."""
    for word in split(text):
        found = _PAIR.match(word)
        if found:
            yield f"env/{found['name']}", OPEN if is_open(found["value"]) else found["value"]
        elif word not in _BETWEEN:
            return


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


FORMAT = Format(
    name="env", find=find, parse=parse, knows_cuts=True, looks_like="env (NAME=VALUE lines)",
    never_prints=("packages/*", "driver/*", "gpus/*", "os/*", "kernel/*", "python/*", "servers/*", "torch/*"),
)
