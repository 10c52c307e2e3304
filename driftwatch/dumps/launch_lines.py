"""Command lines that start a model server, behind a prompt, in a ``set -x`` trace or alone on their line, and the variables that a trace exports.

Where a log in the same paste tells the arguments that a server really got, a command without a prompt may be somebody's advice and is passed over; where no log
tells them, what was given is also what counts.

| path | what |
|---|---|
| servers/FRAMEWORK/given/ARG | as on the command line, by the framework's own field names |
| servers/FRAMEWORK/args/ARG | the same, numbers as numbers; only where no log in the paste tells arguments |
| servers/FRAMEWORK/typed_args/NAME | under the name that was typed, where that is an alias (``tp``); volatile, so that it is never compared |
| servers/FRAMEWORK/env/NAME | set before the command or given with ``docker run -e`` |
| env/NAME | exported in a trace |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from driftwatch.agent.launch_args import Launch, parse_given, recognise
from driftwatch.agent.probe import fact_path
from driftwatch.agent.redact import Redactor
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.given_counts import typed
from driftwatch.dumps.server_log import ARGUMENTS
from driftwatch.dumps.shell import Prompted, Simple, prompted, simple_commands

_HINT = re.compile(r"sglang\.launch_server|vllm\.entrypoints|\bvllm serve\b|\bsglang serve\b|(?:launch|api)_server\.py\b|vllm/vllm-openai")
_BARE = re.compile(
    r"\s{0,8}(?:[A-Z_][A-Z0-9_]*=\S{0,200}\s+){0,20}(?:(?:\S{0,200}/)?python[\d.]*\s|vllm serve\s|sglang serve\s|(?:sudo )?docker run\s|(?:nohup|numactl) )")
_TRACE = re.compile(r"\+{1,6} \S")
_SET = re.compile(r"\+{1,6} (?:export )?([A-Za-z_]\w*)=(.*)\Z")
_EXPORTED = re.compile(r"\+{1,6} export ([A-Za-z_]\w*)(?:=.*)?\Z")
_SCRIPTS = (("api_server.py", "vllm"), ("launch_server.py", "sglang"))
_LAST_OPTION = re.compile(r"\s+-{1,2}[\w-]{0,80}(?:[ =]\S{0,400})?\Z")
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
            after = _command_end(lines, at)
            if _is_launch(lines, at, after) and not (is_beside_log and prompted(lines[at]) is None):
                yield Stretch(at, after, 0.88)
        at = after


def _hints(line: str) -> bool:
    return any(word in line for word in ("sglang", "vllm", "_server.py")) and _HINT.search(line[:2000]) is not None


def has_log(lines: Sequence[str]) -> bool:
    """Tell whether a paste holds a log line with the arguments of a server."""
    return any(ARGUMENTS.search(line[:4000]) for line in lines if "args" in line)


def _may_begin(lines: Sequence[str], at: int) -> bool:
    return lines[at].endswith("\\") and any(map(_hints, lines[at + 1:at + 12]))


def _command_end(lines: Sequence[str], at: int) -> int:
    after = at + 1
    while after < len(lines) and after - at < _MOST_LINES and lines[after - 1].rstrip().endswith("\\") and lines[after] != FENCE:
        after += 1
    return after


def _is_launch(lines: Sequence[str], at: int, after: int) -> bool:
    if prompted(lines[at]) is None and not _BARE.match(lines[at]):
        return False
    return any(True for simple in _simples(lines[at:after]) if _launch(simple) is not None)


def _simples(lines: Sequence[str]) -> tuple[Simple, ...]:
    """Return the simple commands of one command line that may run over several lines."""
    first = prompted(lines[0])
    text = " ".join(line.rstrip().rstrip("\\") for line in ([first.text, *lines[1:]] if first else lines))
    return simple_commands(Prompted(text, first.mark if first else "bare"))


def _launch(simple: Simple) -> Launch | None:
    """Return the launch in a command, which may stand behind ``docker run …`` or ``nohup``."""
    words = list(simple.words)[:_MOST_WORDS]
    for at, word in enumerate(words):
        if "vllm/vllm-openai" in word and words[0] == "docker":
            return Launch("vllm", tuple(words[at + 1:]))
        name = word.rpartition("/")[2]
        script = next((framework for file, framework in _SCRIPTS if name == file), None)
        if script:
            return Launch(script, tuple(words[at + 1:]))
        found = recognise(words[at:]) if name.startswith(("python", "vllm", "sglang")) else None
        if found is not None and found.framework in ("sglang", "vllm") and found.arguments is not None:
            return found
    return None


def parse_given_only(text: str) -> Parsed:
    """Return what was given, where a log of the same paste tells what counts."""
    return Parsed(dict(_facts(_uncut(text))), volatile=VOLATILE)


def _uncut(text: str) -> str:
    """Return a text of several lines whose last one was not ended without its last option, which may be a piece of one."""
    return text if text.endswith("\n") or "\n" not in text else _LAST_OPTION.sub("", text)


def parse_alone(text: str) -> Parsed:
    """Return what was given, also as what counts."""
    facts = dict(_facts(_uncut(text)))
    counts = {path.replace("/given/", "/args/", 1): typed(value) for path, value in facts.items() if "/given/" in path}
    return Parsed({**facts, **counts}, volatile=VOLATILE)


def _facts(text: str) -> Iterator[tuple[str, Any]]:
    lines = text.split("\n")
    if _TRACE.match(lines[0]):
        yield from _exported(lines)
    at = 0
    while at < len(lines):
        after = _command_end(lines, at)
        for simple in _simples(lines[at:after]) if any(map(_hints, lines[at:after])) else ():
            launch = _launch(simple)
            if launch is not None:
                yield from _told(launch, simple)
        at = after


def _exported(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the last values of variables that a trace exports."""
    values = {found.group(1): found.group(2).strip("'\"") for found in map(_SET.match, lines) if found}
    names = {found.group(1) for found in map(_EXPORTED.match, lines) if found}
    yield from ((f"env/{name}", value) for name, value in values.items() if name in names and value)


def _told(launch: Launch, simple: Simple) -> Iterator[tuple[str, Any]]:
    mask = Redactor()
    top = fact_path("servers", launch.framework)
    for name, value in parse_given(launch.framework, launch.arguments or ()).items():
        yield f"{top}/{fact_path('given', name)}", mask.argument(name, value)
    for name, value in _typed_otherwise(launch):
        yield f"{top}/{fact_path('typed_args', name)}", mask.argument(name, value)
    given = [word.partition("=") for flag, word in pairwise(simple.words) if flag in ("-e", "--env")]
    pairs = [*simple.variables, *((name, value) for name, sign, value in given if sign)]
    yield from ((f"{top}/{fact_path('env', name)}", value) for name, value in pairs)


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
