"""Output of git: status (short, long, porcelain), log, rev-parse, branch, stash and remotes, by the paths of the git collector (agent/collectors/git.py).

KEY is the name of the folder that ``-C``, ``cd`` or the prompt names, else ``repository``. A commit may be abbreviated, as it was printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from types import MappingProxyType
from typing import Any

from driftwatch.agent.dist_metadata import without_userinfo
from driftwatch.agent.git_texts import parse_status, unquoted
from driftwatch.agent.probe import Refusal, fact_path
from driftwatch.dumps.shell import Simple, Told

_SHORT = re.compile(r"([ MADRCUT?!]{2}) (\S.*)\Z")
_BRANCH = re.compile(r"## (?:No commits yet on )?([^\s.]\S*?)(?:\.\.\.(\S+))?(?: \[(.*)\])?\Z")
_LONG = re.compile(r"\s+(modified|new file|deleted|renamed|copied|typechange|both modified):\s+(\S.*)\Z")
_LETTERS: Mapping[str, str] = MappingProxyType({
    "modified": "M", "new file": "A", "deleted": "D", "renamed": "R", "copied": "C", "typechange": "T", "both modified": "U"})
_PROSE = re.compile(r"(?:On branch|HEAD detached|Your branch|Changes |Untracked files|nothing |no changes|No commits yet|and have \d|Unmerged)|  ?\(|\s*\Z|\t")
_COMMIT = re.compile(r"commit ([0-9a-f]{7,64})\b(.*)\Z")
_ONE_LINE = re.compile(r"(?:\* )?([0-9a-f]{7,40}) (?:\(.*?\) )?\S.*\Z")
_FIELDS: Mapping[str, str] = MappingProxyType({
    "H": r"(?P<head>[0-9a-f]{40,64})", "h": r"(?P<head>[0-9a-f]{7,40})", "cI": r"(?P<when>\S+)", "aI": r"\S+", "cs": r"(?P<day>\d{4}-\d\d-\d\d)",
    "as": r"\d{4}-\d\d-\d\d", "ci": r"\S+ \S+ \S+", "ai": r"\S+ \S+ \S+", "cd": r"\S.*?", "ad": r"\S.*?", "s": r".*?", "an": r".*?", "cn": r".*?",
    "ct": r"\d+", "at": r"\d+", "D": r".*?", "d": r".*?", "cr": r".*?", "ar": r".*?", "ae": r"\S*", "ce": r"\S*", "T": r"\S+", "t": r"\S+",
})
_SUBMODULE = re.compile(r"([ +U-]?)([0-9a-f]{40,64}) (\S+)(?: \((\S+)\))?\s*\Z")
_OTHER_COMMITS = re.compile(r"\.\.|^(?!HEAD\Z)[^-]")
_MOST_FILES = 2000


def read_git(command: Simple, lines: Sequence[str]) -> Told:
    """Return what one git command printed."""
    root, words = _root(command)
    verb = words[0] if words else ""
    reader = _READERS.get(verb)
    if reader is None:
        return Told(0, {})
    key = re.split(r"[/\\]", root.rstrip("/"))[-1].lstrip("~") or "repository"
    used, facts, tells = reader(words[1:], lines)
    top = fact_path("git", key)
    told = {f"{top}/{path}": value for path, value in facts.items()}
    if root.startswith("/") and (facts or tells):
        told[f"{top}/root"] = root
    clean = {f"{top}/dirty": False} if "files/*" in tells and "dirty" not in facts else {}
    return Told(used, told, tells_if_whole=tuple(f"{top}/{glob}" for glob in tells), if_whole=clean)


def _root(command: Simple) -> tuple[str, tuple[str, ...]]:
    """Return the folder that a git command looks at, and its words from the verb on."""
    words = command.words[1:]
    root = command.cwd
    while words and words[0].startswith("-"):
        root = words[1] if words[0] == "-C" and len(words) > 1 else root
        words = words[2:] if words[0] in ("-C", "-c") else words[1:]
    return root, words


_Reading = tuple[int, dict[str, Any], tuple[str, ...]]
_EMPTY: _Reading = (0, {}, ())


def _status(words: Sequence[str], lines: Sequence[str]) -> _Reading:
    if any(word.startswith("--porcelain=v2") for word in words):
        return _second_version(lines)
    is_short = any(word.startswith("--porcelain") or word in ("-s", "--short", "-sb", "-bs") for word in words)
    return _short_status(lines) if is_short else _long_status(lines)


def _second_version(lines: Sequence[str]) -> _Reading:
    used = next((at for at, line in enumerate(lines) if not re.match(r"[#12u?!] ", line)), len(lines))
    try:
        state = parse_status("\n".join(lines[:used]))
    except Refusal:
        return _EMPTY
    told = {"head": state.head, "branch": state.branch, "upstream": state.upstream, "ahead": state.ahead, "behind": state.behind}
    return used, {**{name: value for name, value in told.items() if value is not None}, **_files(state.files)}, ("files/*",)


def _short_status(lines: Sequence[str]) -> _Reading:
    files: dict[str, str] = {}
    facts: dict[str, Any] = {}
    used = 0
    for line in lines[:_MOST_FILES]:
        branch, row = _BRANCH.match(line), _SHORT.match(line)
        if branch:
            facts.update(_branch(branch))
        elif row:
            files[unquoted(row.group(2).rpartition(" -> ")[2])] = row.group(1).replace(" ", ".") if row.group(1) != "??" else "??"
        else:
            break
        used += 1
    return used, {**facts, **_files(files)}, ("files/*",)


def _branch(found: re.Match[str]) -> Iterator[tuple[str, Any]]:
    name, upstream, counts = found.groups()
    yield "branch", "(detached)" if name == "HEAD" else name
    if upstream:
        yield "upstream", upstream
        for word in ("ahead", "behind"):
            count = re.search(word + r" (\d+)", counts or "")
            yield word, int(count.group(1)) if count else 0


def _long_status(lines: Sequence[str]) -> _Reading:
    files: dict[str, str] = {}
    facts: dict[str, Any] = {}
    used, part = 0, ""
    for line in lines[:_MOST_FILES]:
        row = _LONG.match(line)
        if not row and not _PROSE.match(line) and not (part == "untracked" and re.match(r"\s+\S", line)):
            break
        if row:
            letter = _LETTERS[row.group(1)]
            files[row.group(2).rpartition(" -> ")[2]] = f"{letter}." if part == "staged" else f".{letter}"
        elif part == "untracked" and re.match(r"\s+[^\s(]", line):
            files[line.strip()] = "??"
        else:
            part = _part(line, part)
            facts.update(_heading(line))
        used += 1
    is_status = "branch" in facts or bool(files)
    return (used, {**facts, **_files(files)}, ("files/*",)) if is_status else _EMPTY


def _part(line: str, before: str) -> str:
    starts = (("Changes to be committed", "staged"), ("Changes not staged", "unstaged"), ("Untracked files", "untracked"), ("Unmerged", "unstaged"))
    return next((part for start, part in starts if line.startswith(start)), before)


def _heading(line: str) -> Iterator[tuple[str, Any]]:
    branch, detached = re.match(r"On branch (\S+)", line), re.match(r"HEAD detached (?:at|from) (\S+)", line)
    apart = re.match(r"Your branch is (ahead of|behind|up to date with) '([^']+)'(?: by (\d+) commit)?", line)
    if branch or detached:
        yield "branch", branch.group(1) if branch else "(detached)"
    if apart:
        yield "upstream", apart.group(2)
        count = int(apart.group(3) or 0)
        yield "ahead", count if apart.group(1) == "ahead of" else 0
        yield "behind", count if apart.group(1) == "behind" else 0


def _files(files: Mapping[str, str]) -> dict[str, Any]:
    unread = {"sha256": None, "only": None, "unread": "git status prints no digest"}
    told: dict[str, Any] = {fact_path("files", path): {"status": code, **unread} for path, code in files.items()}
    if any(code not in ("??", "!!") for code in files.values()):
        told["dirty"] = True
    return told


def _log(words: Sequence[str], lines: Sequence[str]) -> _Reading:
    """Return the newest commit; nothing where the command names a range, a branch or a path, since that need not be the head."""
    if any(_OTHER_COMMITS.search(word) for word in words if not word.isdigit()) or not lines:
        return _EMPTY
    text = next((word.partition("=")[2] for word in words if word.startswith(("--format=", "--pretty="))), "")
    if text and text not in ("oneline", "medium", "full", "fuller", "short"):
        return _formatted(text.removeprefix("format:"), lines)
    commit = _COMMIT.match(lines[0])
    if commit:
        used = next((at for at, line in enumerate(lines) if line.strip() and not re.match(r"commit |Author|Date|Merge|Commit|    ", line)), len(lines))
        return used, {"head": commit.group(1)}, ()
    row = _ONE_LINE.match(lines[0]) if text == "oneline" or "--oneline" in words else None
    used = next((at for at, line in enumerate(lines) if not _ONE_LINE.match(line)), len(lines))
    return (used, {"head": row.group(1)}, ()) if row else _EMPTY


def _formatted(text: str, lines: Sequence[str]) -> _Reading:
    pieces = re.split(r"(%[a-zA-Z][A-Za-z]?)", text)
    pattern = ""
    for piece in pieces:
        name = piece[1:] if piece.startswith("%") else ""
        if name and name not in _FIELDS and name[:1] in _FIELDS:
            pattern += _FIELDS[name[0]] + re.escape(name[1:])
        elif name:
            pattern += _FIELDS.get(name, r".*?")
        else:
            pattern += re.escape(piece)
    try:
        row = re.match(pattern + r"\s*\Z", lines[0][:1000])
    except re.error:  # a field given twice
        return _EMPTY
    told = {name: value for name, value in (row.groupdict() if row else {}).items() if value}
    facts = {**({"head": told["head"]} if "head" in told else {}), **({"committed_on": told["day"]} if "day" in told else {}), **_when(told.get("when", ""))}
    return (1, facts, ()) if facts else _EMPTY


def _when(text: str) -> dict[str, Any]:
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return {}
    return {"committed_at": moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")} if moment.tzinfo else {}


def _rev_parse(words: Sequence[str], lines: Sequence[str]) -> _Reading:
    text = lines[0].strip() if lines else ""
    if words and words[-1] == "HEAD" and "--abbrev-ref" not in words and re.fullmatch(r"[0-9a-f]{7,64}", text):
        return 1, {"head": text}, ()
    if "--abbrev-ref" in words and re.fullmatch(r"\S+", text):
        return 1, {"branch": "(detached)" if text == "HEAD" else text}, ()
    return _EMPTY


def _branches(words: Sequence[str], lines: Sequence[str]) -> _Reading:
    if "--show-current" in words:
        return (1, {"branch": lines[0].strip()}, ()) if lines and re.fullmatch(r"\S+", lines[0].strip()) else _EMPTY
    used = next((at for at, line in enumerate(lines) if not re.match(r"[* ] \S", line)), len(lines))
    current = next((line[2:].split()[0] for line in lines[:used] if line.startswith("* ")), "")
    return (used, {"branch": "(detached)" if current.startswith("(") else current}, ()) if current else _EMPTY


def _stashes(words: Sequence[str], lines: Sequence[str]) -> _Reading:
    used = next((at for at, line in enumerate(lines) if not line.startswith("stash@{")), len(lines))
    return (used, {"stashes": used}, ()) if words[:1] == ("list",) and used else _EMPTY


def _remotes(_: Sequence[str], lines: Sequence[str]) -> _Reading:
    rows = [re.match(r"(\S+)\s+(\S+)\s+\((?:fetch|push)\)\s*\Z", line) for line in lines]
    used = next((at for at, row in enumerate(rows) if row is None), len(rows))
    return used, {fact_path("remotes", row.group(1)): without_userinfo(row.group(2)) for row in rows[:used] if row}, ()


def _submodules(words: Sequence[str], lines: Sequence[str]) -> _Reading:
    """Return the commit of each submodule, and whether it is the one that the tree asks for."""
    facts: dict[str, Any] = {}
    used = 0
    for line in lines[:_MOST_FILES] if words[:1] in ((), ("status",)) else ():
        row = _SUBMODULE.match(line)
        if row is None:
            break
        mark, commit, path, describes = row.groups()
        says = {"+": ", not the one that the tree asks for", "-": ", not checked out", "U": ", in conflict"}.get(mark, "")
        facts[fact_path("submodules", path)] = f"{commit[:12]}{f' ({describes})' if describes else ''}{says}"
        used += 1
    return used, facts, ("submodules/*",) if facts else ()


_READERS = MappingProxyType({
    "status": _status, "log": _log, "show": _log, "rev-parse": _rev_parse, "branch": _branches, "stash": _stashes, "remote": _remotes,
    "submodule": _submodules})
