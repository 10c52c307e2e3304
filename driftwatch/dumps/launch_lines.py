"""Command lines that start a model server, behind a prompt, in a ``set -x`` trace or alone on their line, and the variables that a trace exports.

Where a log in the same paste tells the arguments that a server really got, a command without a prompt may be somebody's advice and is passed over; where no log
tells them, what was given is also what counts. A command right above a log's own lines is the one that made the log. One with broken quotes is a note alone.

| path | what |
|---|---|
| servers/FRAMEWORK/given/ARG | as on the command line, by the framework's own field names |
| servers/FRAMEWORK/args/ARG | the same, numbers as numbers; only where no log in the paste tells arguments |
| servers/FRAMEWORK/typed_args/NAME | under the name that was typed, where that is an alias (``tp``); volatile, so that it is never compared |
| servers/FRAMEWORK/env/NAME | set before the command or given with ``docker run -e``, ``mpirun -x`` |
| env/NAME | exported in a trace, or on lines right above the command |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from driftwatch.agent.launch_args import Launch, parse_given, recognise
from driftwatch.agent.probe import fact_path
from driftwatch.agent.redact import Redactor
from driftwatch.dumps.assignments import expanded, first_above, pairs
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.given_counts import typed
from driftwatch.dumps.placeholders import OPEN, bracketed, is_open
from driftwatch.dumps.server_log import ARGUMENTS, begins_log
from driftwatch.dumps.shell import Prompted, Simple, prompted, simple_commands

_HINT = re.compile(r"sglang\.launch_server|vllm\.entrypoints|\bvllm serve\b|\bsglang serve\b|(?:launch|api)_server\.py\b|/vllm-openai\b")
_BARE = re.compile(
    r"\s{0,8}(?:[A-Z_][A-Z0-9_]*=\S{0,200}\s+){0,20}"
    r"(?:export\s+[A-Z_]|(?:\S{0,200}/)?python[\d.]*\s|vllm serve\s|sglang serve\s|(?:sudo )?docker run\s"
    r"|(?:\S{0,200}/)?mpi(?:run|exec)\s|(?:nohup|numactl|exec) )")
_TRACE = re.compile(r"\+{1,6} \S")
_SET = re.compile(r"\+{1,6} (?:export )?([A-Za-z_]\w*)=(.*)\Z")
_EXPORTED = re.compile(r"\+{1,6} export ([A-Za-z_]\w*)(?:=.*)?\Z")
_SCRIPTS = (("api_server.py", "vllm"), ("launch_server.py", "sglang"))
_LAST_WORD = re.compile(r"(?<!\s)\s+(?:-{1,2}[\w-]{0,80}(?:=|\s{1,8}))?\S{0,400}\Z")  # with the option whose value it is
_OPTION = re.compile(r"--?[A-Za-z][\w.-]*(?:=|\Z)")
_TWO_OPTIONS = re.compile(r"\s--[a-z]")
_NO_WORDS = re.compile(r"\\\s+(?=-)|\s-{1,2}\s*\Z")  # a backslash whose line end was lost, an option that was cut behind its dashes
_WRAPPED = re.compile(  # the rest of a word, then options
    r"\S{0,200}(?: [^\s-]\S{0,400})?(?: +--?[A-Za-z][\w.-]{0,80}(?:=\S{1,400}| [^\s-]\S{0,400})?){1,40}\s*")
_COLUMNS = 79  # of a narrow terminal, less one
_BROKEN = "a command that starts a server is left out: its quotes do not pair"
_LONGEST = 16_000
_MOST_LINES = 60
_MOST_WORDS = 200
_MOST_COMMANDS = 20
VOLATILE = ("servers/*/typed_args/*",)


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield traces and launch commands, where no log tells arguments."""
    yield from () if has_log(lines) else find_any(lines, is_beside_log=False)


def find_any(lines: Sequence[str], *, is_beside_log: bool) -> Iterator[Stretch]:
    """Yield traces, and each launch command with the lines that carry it on; beside a log only those behind a prompt."""
    at = tried = 0
    while at < len(lines):
        after = at + 1
        if _TRACE.match(lines[at]):
            while after < len(lines) and _TRACE.match(lines[after]):
                after += 1
            yield Stretch(at, after, 0.88)
        elif tried < _MOST_COMMANDS and (_hints(lines[at]) or _may_begin(lines, at)):
            tried += 1
            after = command_end(lines, at)
            if _is_launch(lines, at, after) and not (is_beside_log and prompted(lines[at]) is None and not _made_log(lines, after)):
                yield Stretch(first_above(lines, at), after, 0.88)
        at = after


def _made_log(lines: Sequence[str], after: int) -> bool:
    """Tell whether the lines below a command, in the same fence, are those of a server's log."""
    return after < len(lines) and begins_log(lines[after])


def _hints(line: str) -> bool:
    return any(word in line for word in ("sglang", "vllm", "_server.py")) and _HINT.search(line[:2000]) is not None


def has_log(lines: Sequence[str]) -> bool:
    """Tell whether a paste holds a log line with the arguments of a server."""
    return any(ARGUMENTS.search(line[:4000]) for line in lines if "args" in line)


def _may_begin(lines: Sequence[str], at: int) -> bool:
    return lines[at].endswith("\\") and any(map(_hints, lines[at + 1:at + 12]))


def command_end(lines: Sequence[str], at: int) -> int:
    """Return where a command ends that begins at a line and may run over several."""
    after = at + 1
    while after < len(lines) and after - at < _MOST_LINES and lines[after] != FENCE and _goes_on(lines[after - 1], lines[after]):
        after += 1
    return after


def _goes_on(line: str, following: str) -> bool:
    """Tell whether a command goes on in the line below: behind a backslash, or where a terminal broke it at its last column."""
    return line.rstrip().endswith("\\") or (len(line) >= _COLUMNS and _WRAPPED.fullmatch(following) is not None)


def _joined(lines: Sequence[str]) -> str:
    """Return the lines of one command as one. A terminal breaks within a word; an option that begins a line is a word of its own."""
    text = lines[0]
    for line in lines[1:]:
        is_broken = not text.rstrip().endswith("\\") and not line.startswith("--")
        text = text + line if is_broken else text.rstrip().rstrip("\\") + " " + line
    return text.rstrip().rstrip("\\")


def _is_launch(lines: Sequence[str], at: int, after: int) -> bool:
    if prompted(lines[at]) is None and not _BARE.match(_joined(lines[at:after])[:_LONGEST]):
        return False
    found = simples(lines[at:after])
    return any(_launch(simple) is not None for simple in found) or (not found and _is_unpaired(lines[at:after]))


def is_alone(text: str) -> bool:
    """Tell whether a paste is one line, a command that starts a server: one that was copied, and needs no line end to be whole."""
    line = text.strip()
    return "\n" not in line and _hints(line) and _is_launch([line], 0, 1)


def _is_unpaired(lines: Sequence[str]) -> bool:
    """Tell whether the lines of a command hold a quotation mark without its partner."""
    text = " ".join(lines)
    return text.count("'") % 2 == 1 or text.count('"') % 2 == 1


def _is_broken(launch: Launch) -> bool:
    """Tell whether words of a command cannot be what was typed: an option with signs that no name has, or two options in one word."""
    words = launch.arguments or ()
    return any((re.match(r"--?[A-Za-z]", word) and not _OPTION.match(word)) or (word[:1] not in "{[" and _TWO_OPTIONS.search(word)) for word in words)


def simples(lines: Sequence[str], known: Mapping[str, str] = MappingProxyType({})) -> tuple[Simple, ...]:
    """Return the simple commands of one command line that may run over several lines, with the variables put in that are known."""
    first = prompted(lines[0])
    text = expanded(_joined([first.text, *lines[1:]] if first else lines), known)
    return simple_commands(Prompted(bracketed(_NO_WORDS.sub(" ", text[:_LONGEST])), first.mark if first else "bare"))


def _launch(simple: Simple) -> Launch | None:
    """Return the launch in a command, which may stand behind ``docker run …`` or ``nohup``."""
    words = list(simple.words)[:_MOST_WORDS]
    for at, word in enumerate(words):
        if "/vllm-openai" in word and words[0] == "docker":
            return Launch("vllm", tuple(words[at + 1:]))
        name = word.rpartition("/")[2]
        script = next((framework for file, framework in _SCRIPTS if name == file), None)
        if script:
            return Launch(script, tuple(words[at + 1:]))
        found = recognise(words[at:]) if name.startswith(("python", "vllm", "sglang")) else None
        if found is not None and found.framework in ("sglang", "vllm") and found.arguments is not None:
            return found
    return None


def beside_log(alone: Format, find_all: Callable[[Sequence[str]], Iterable[Stretch]], told: Callable[[str, Callable[[str], Parsed]], Parsed]) -> Format:
    """Return a format for pastes whose log tells the arguments that count: there a file that starts a server tells what was given."""
    return replace(alone, find=lambda lines: find_all(lines) if has_log(lines) else (), parse=lambda text: told(text, parse_given_only))


def parse_given_only(text: str) -> Parsed:
    """Return what was given, where a log of the same paste tells what counts."""
    facts = dict(_facts(_uncut(text)))
    return Parsed(facts, notes=_notes(text), volatile=VOLATILE)


def _notes(text: str) -> tuple[str, ...]:
    """Return that a command of a text cannot be read, where one cannot."""
    is_broken = any(launch is None or _is_broken(launch) for launch, _ in _launches(_uncut(text)))
    return (_BROKEN,) if is_broken else ()


def _uncut(text: str) -> str:
    """Return a text whose last line was not ended without its last word, which may be a piece of one."""
    return text if text.endswith("\n") else _LAST_WORD.sub("", text)


def parse_alone(text: str) -> Parsed:
    """Return what was given, also as what counts."""
    facts = dict(_facts(_uncut(text)))
    counts = {path.replace("/given/", "/args/", 1): typed(value) for path, value in facts.items() if "/given/" in path}
    return Parsed({**facts, **counts}, notes=_notes(text), volatile=VOLATILE)


def _facts(text: str) -> Iterator[tuple[str, Any]]:
    lines = text.split("\n")
    yield from _exported(lines) if _TRACE.match(lines[0]) else _exported_above(lines)
    for launch, simple in _launches(text):
        if launch is not None and not _is_broken(launch):
            yield from _told(launch, simple)


def _launches(text: str) -> Iterator[tuple[Launch | None, Simple]]:
    """Yield each launch of a text with its command; None in its place where the quotes of a command do not pair."""
    lines = text.split("\n")
    known: dict[str, str] = {}
    at = 0
    while at < len(lines):
        after = command_end(lines, at)
        known.update((name, value) for name, value, _ in pairs(lines[at]))
        found = _with_exports(simples(lines[at:after], known)) if any(map(_hints, lines[at:after])) else ()
        yield from ((launch, simple) for simple in found if (launch := _launch(simple)) is not None)
        if not found and any(map(_hints, lines[at:after])) and _is_unpaired(lines[at:after]):
            yield None, Simple(())
        at = after


def _with_exports(simples: Sequence[Simple]) -> tuple[Simple, ...]:
    """Return the commands of one line, each with the variables that those before it on the line export."""
    exported: list[tuple[str, str]] = []
    found: list[Simple] = []
    for simple in simples:
        exported += [(name, value) for name, sign, value in (word.partition("=") for word in simple.words[1:]) if sign and simple.program == "export"]
        found.append(replace(simple, variables=(*exported, *simple.variables)))
    return tuple(found)


def _exported(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the last values of variables that a trace exports."""
    values = {found.group(1): found.group(2).strip("'\"") for found in map(_SET.match, lines) if found}
    names = {found.group(1) for found in map(_EXPORTED.match, lines) if found}
    yield from ((f"env/{name}", value) for name, value in values.items() if name in names and value)


def _exported_above(lines: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield the variables that lines above a command export."""
    yield from ((f"env/{name}", OPEN if is_open(value) else value) for line in lines for name, value, is_exported in pairs(line) if is_exported)


def _told(launch: Launch, simple: Simple) -> Iterator[tuple[str, Any]]:
    mask = Redactor()
    top = fact_path("servers", launch.framework)
    for name, value in parse_given(launch.framework, launch.arguments or ()).items():
        yield f"{top}/{fact_path('given', name)}", OPEN if is_open(value) else mask.argument(name, value)
    for name, value in _typed_otherwise(launch):
        yield f"{top}/{fact_path('typed_args', name)}", OPEN if is_open(value) else mask.argument(name, value)
    given = [word.partition("=") for flag, word in pairwise(simple.words) if flag in ("-e", "--env", "-x")]
    pairs = [*simple.variables, *((name, value) for name, sign, value in given if sign)]
    yield from ((f"{top}/{fact_path('env', name)}", OPEN if is_open(value) else value) for name, value in pairs)


def _typed_otherwise(launch: Launch) -> Iterator[tuple[str, Any]]:
    """Yield the arguments whose typed name is no field's own, under that name."""
    words = launch.arguments or ()
    starts = [at for at, word in enumerate(words) if re.match(r"--?[A-Za-z]", word)]
    for at, after in pairwise([*starts, len(words)]):
        name = words[at].lstrip("-").partition("=")[0].replace("-", "_")
        told = parse_given(launch.framework, words[at:after])
        if name not in told and not name.startswith("no_") and told:
            yield name, next(iter(told.values()))


FORMAT = Format(name="transcript", find=find, parse=parse_alone, knows_cuts=True, looks_like="a command that starts SGLang or vLLM")
