"""The line with which text-generation-inference begins its log: ``text_generation_launcher: Args { model_id: "m", num_shard: Some(2), … }``, as Rust prints it.

On one line or on one a field; of a text that was cut the whole fields. ``Some(x)`` is x.

| path | what |
|---|---|
| servers/tgi/args/ARG | by the launcher's own field names |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.agent.probe import fact_path
from driftwatch.agent.redact import Redactor
from driftwatch.agent.server_args import literal, parse_server_args
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch

_BEGIN = re.compile(r"text_generation_launcher: Args \{")
_KEY = re.compile(r'"(?:[^"\\]|\\.)*"|\b([a-z_]\w{0,80}): ')
_FIELD = re.compile(r"\s+\w+: \S|\s+\S{1,400},?\s*\Z|\s*[)\]}],?\s*\Z")
_SOME = re.compile(r"Some\(\s*(.*?),?\s*\)\Z", re.DOTALL)
_WORDS = {"true": True, "false": False}
_MOST_LINES = 400


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield the line, or the lines, of each such account."""
    for at, line in enumerate(lines):
        if "text_generation_launcher" in line and _BEGIN.search(line[:400]):
            after = at + 1
            while line.endswith("{") and after < min(len(lines), at + _MOST_LINES) and lines[after] != FENCE and _FIELD.match(lines[after]):
                after += 1
                if lines[after - 1] == "}":
                    break
            yield Stretch(at, after, 0.9)


def parse(text: str) -> Parsed:
    """Return the arguments."""
    found, mask = _BEGIN.search(text), Redactor()
    body = _KEY.sub(_quoted, text[found.end() - 1:]) if found else ""
    given = ((name, _value(value)) for name, value in parse_server_args(body).items())
    return Parsed({fact_path("servers", "tgi", "args", name): mask.argument(name, value) for name, value in given})


def _quoted(found: re.Match[str]) -> str:
    """Return a field's name in quotes, a text as it is."""
    return f"'{found[1]}': " if found[1] else found[0]


def _value(value: Any) -> Any:
    """Return what Rust's own words for a value stand for."""
    some = _SOME.match(value) if isinstance(value, str) else None
    inner = literal(some[1]) if some else value
    return _WORDS.get(inner, inner) if isinstance(inner, str) else inner


FORMAT = Format(
    name="server-log", find=find, parse=parse, knows_cuts=True, looks_like="a log of text-generation-inference", marks=("text_generation_launcher",),
    never_prints=("packages/*", "torch/*", "python/*", "driver/*", "gpus/*", "os/*", "kernel/*", "git/*", "sources/*"),
)
