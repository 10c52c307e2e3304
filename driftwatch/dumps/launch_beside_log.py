"""Command lines that start a model server, in a paste whose log tells the arguments that count. See launch_lines.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from driftwatch.dumps.format import Format, Stretch
from driftwatch.dumps.launch_lines import find_any, has_log, parse_given_only


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield traces and launch commands behind a prompt, where a log tells arguments."""
    yield from find_any(lines, is_beside_log=True) if has_log(lines) else ()


FORMAT = Format(name="transcript", find=find, parse=parse_given_only, knows_cuts=True, looks_like="a command that starts SGLang or vLLM")
