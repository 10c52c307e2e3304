"""Command lines as people paste them: which lines show one behind a prompt, and what simple commands it is made of. Runs nothing, expands nothing."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

LONGEST = 4000
_USER = r"[\w.+-]{1,60}@(?P<host>[\w.-]{1,80})"
_VENV = r"\s{0,8}(?:\([\w./+@-]{1,60}\)\s?){0,3}"
_PROMPT = re.compile(
    rf"{_VENV}(?:\[{_USER.replace('<host>', '<host_in>')}\s(?P<folder>[^\]\n]{{1,120}})\]"
    rf"|{_USER}(?::(?P<cwd>[^$#%\n]{{0,160}}?)|[^$#%\n]{{0,160}}?))\s?[$#%]\s+(?P<command>\S.*)\Z")
_SHORT = re.compile(_VENV + r"[\w./:~-]{0,80}[$\u276f\u279c]\s+(?P<command>\S.*)\Z")
_POWERSHELL = re.compile(_VENV + r"PS (?:[A-Za-z]:\\|/|~)[^>\n]{0,160}>\s{0,4}(?P<command>\S.*)\Z")
_MARKED = re.compile(r"\s{0,4}[#>%]\s(?P<command>\S.*)\Z")
_TRACED = re.compile(r"\+{1,6} (?P<command>\S.*)\Z")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_CONTAINER_ID = re.compile(r"[0-9a-f]{12}\Z")
_SEPARATORS = frozenset((";", "&&", "||", "&"))
_SHELLS = frozenset(("bash", "sh", "zsh", "dash"))
_ENGINES = frozenset(("docker", "podman", "nerdctl"))
_TAKE_VALUE = frozenset(("-e", "--env", "-u", "--user", "-w", "--workdir", "-p", "-i", "-o", "-l", "-J", "-F"))
_BEFORE = frozenset(("sudo", "time", "nohup", "env", "exec", "command"))


@dataclass(frozen=True)
class Told:
    """What a reader took from a command's output: how many of the first lines it used, the facts, and the globs that it tells whole.

    ``tells_if_whole`` and ``if_whole`` hold only where the output is known to have ended: globs, and facts that follow from what was not printed.
    ``minds_filters``: the globs are of what the filters behind the command left; else they hold only where those leave everything.
    """

    used: int
    facts: Mapping[str, Any]
    tells: tuple[str, ...] = ()
    tells_if_whole: tuple[str, ...] = ()
    if_whole: Mapping[str, Any] = field(default_factory=dict)
    minds_filters: bool = False


@dataclass(frozen=True)
class Prompted:
    """A command line and what its prompt tells: host, folder, home of the user ("" where it tells none). ``mark`` is the kind: user, short, marked, traced."""

    text: str
    mark: str
    host: str = ""
    cwd: str = ""
    home: str = ""


@dataclass(frozen=True)
class Simple:
    """One command: its variables, its words, the commands that its output is piped through, and the file that it reads (``<``); other redirections are gone."""

    words: tuple[str, ...]
    pipes: tuple[tuple[str, ...], ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    cwd: str = ""
    home: str = ""
    reads: str = ""

    @property
    def program(self) -> str:
        """Return the program's own name."""
        return self.words[0].rpartition("/")[2].removesuffix(".exe") if self.words else ""

    @property
    def operands(self) -> tuple[str, ...]:
        """Return the words behind the program that are no options."""
        return tuple(word for word in self.words[1:] if not word.startswith("-"))

    def has(self, *options: str) -> bool:
        """Tell whether one of some options was given, also as one letter of several (``-la``)."""
        given = [word for word in self.words[1:] if word.startswith("-")]
        letters = "".join(word[1:] for word in given if not word.startswith("--"))
        return any(one in given or (len(one) == 2 and one[1] in letters) for one in options)


def prompted(line: str) -> Prompted | None:
    """Return the command that a line shows behind a prompt or a trace mark; None where it shows none.

    ``marked`` lines begin with one of ``# > %`` alone, which also begin comments and quotes: only a known program makes them a command.
    """
    line = line[:LONGEST]
    if not line.strip():
        return None
    full = _PROMPT.match(line) if "@" in line[:200] else None
    if full:
        host = full["host"] or full["host_in"] or ""
        user = line[:full.start("host" if full["host"] else "host_in") - 1].rpartition("(")[2].split()[-1].strip("[)")
        home = "/root" if user.endswith("root") else ""
        return Prompted(full["command"], "user", "" if _CONTAINER_ID.match(host) else host, full["cwd"] or full["folder"] or "", home)
    for mark, pattern in (("traced", _TRACED), ("short", _SHORT), ("short", _POWERSHELL), ("marked", _MARKED)):
        found = pattern.match(line)
        if found:
            return Prompted(found["command"], mark)
    return None


def simple_commands(one: Prompted) -> tuple[Simple, ...]:
    """Return the simple commands of a command line, in order; nothing where its quotes do not balance."""
    words = split(one.text)
    found: list[Simple] = []
    cwd = one.cwd
    for group in _groups(words):
        made = _simple(group, cwd, one.home)
        if made.program == "cd" and len(made.words) > 1:
            cwd = made.words[1]
        elif made.words or made.variables:
            found += _carried(made)
    return tuple(found)


def _carried(made: Simple, depth: int = 3) -> tuple[Simple, ...]:
    """Return what a command runs elsewhere or in a shell of its own, ``kubectl exec POD -- uname -r`` for one, in its place; else itself."""
    begin = _begin_of_carried(made)
    inner = made.words[begin:] if begin else ()
    if not inner or depth == 0:
        return (made,)
    is_text = len(inner) == 1 and re.search(r"\s", inner[0]) is not None
    several = simple_commands(Prompted(inner[0], "carried", cwd=made.cwd, home=made.home)) if is_text else (replace(made, words=inner),)
    if not several:
        return (made,)
    last = replace(several[-1], pipes=(*several[-1].pipes, *made.pipes)) if is_text else several[-1]
    return (*several[:-1], *_carried(last, depth - 1))


def _begin_of_carried(made: Simple) -> int:
    """Return where the words begin that another program is given to run; 0 where it runs none."""
    words = made.words
    if made.program in _SHELLS:
        return next((at + 1 for at in range(1, len(words)) if re.fullmatch(r"-[a-z]*c", words[at])), 0)
    if made.program in ("kubectl", "oc"):
        return words.index("--") + 1 if "exec" in words and "--" in words else 0
    if made.program in _ENGINES:
        return _after_options(words, 2, 1) if words[1:2] == ("exec",) else 0
    if made.program == "ssh":
        return _after_options(words, 1, 1)
    return next((at for at in range(1, len(words)) if re.fullmatch(r"[a-z/][\w./+-]*", words[at])), 0) if made.program == "srun" else 0


def _after_options(words: tuple[str, ...], at: int, operands: int) -> int:
    """Return where the words stand behind options, some of which take a value, and behind so many operands; 0 where none do."""
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _TAKE_VALUE else 1
    return at + operands if at + operands < len(words) else 0


def split(text: str) -> list[str]:
    """Return the words and operators of a command line; a here-document's mark ends it."""
    bare = re.sub(r"(?<=\s)[012](?=>)", "", text.partition("<<")[0])
    bare = re.sub(r"(?<=/)(?:\$\([^()]*\)|`[^`]*`)(?=/)", "$_", bare)  # the part of a path that another command gives
    lexer = shlex.shlex(bare, posix=True, punctuation_chars=";|&<>")
    lexer.whitespace_split = True
    lexer.commenters = "#" if " #" in text else ""
    try:
        return list(lexer)
    except ValueError:
        return []


def _groups(words: list[str]) -> list[list[str]]:
    groups: list[list[str]] = [[]]
    for word in words:
        if word in _SEPARATORS:
            groups.append([])
        else:
            groups[-1].append(word)
    return groups


def _simple(words: list[str], cwd: str, home: str) -> Simple:
    stages: list[list[str]] = [[]]
    sign = reads = ""
    for word in words:
        if word in ("|", "|&"):
            stages.append([])
        elif sign:
            reads = word if sign == "<" else reads
            sign = ""
        elif re.fullmatch(r"[<>&]+", word):
            sign = word
        else:
            stages[-1].append(word)
    first = stages[0]
    variables: list[tuple[str, str]] = []
    while first and (first[0] in _BEFORE or _ASSIGNED.match(first[0])) and first != ["env"] and first[1:2] not in (["-v"], ["-V"]):  # they list and look up
        if _ASSIGNED.match(first[0]):
            name, _, value = first[0].partition("=")
            variables.append((name, value))
        first = first[1:]
    return Simple(tuple(first), tuple(tuple(stage) for stage in stages[1:] if stage), tuple(variables), cwd, home, reads)
