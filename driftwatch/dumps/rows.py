"""Package rows, whichever tool printed them: names, versions, and when a version at a cut end can be trusted. Pure text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from driftwatch.agent.dist_metadata import canonical
from driftwatch.agent.probe import fact_path
from driftwatch.model import Unknown

NAME = r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9_])?"
VERSION = r"[vV]?(?:\d{1,8}!)?\d[A-Za-z0-9]{0,40}(?:[.+_-][A-Za-z0-9]{1,60}){0,14}"
NAMED = re.compile(NAME + r"\Z")
VERSIONED = re.compile(VERSION + r"\Z")
ALL_VERSIONS = "packages/*/version"
_WHOLE_AT_A_CUT = re.compile(r"\d{3}\.\d{2,3}\.\d\d\Z")  # a driver's; of any other version the last part may go on (3.12.1 of 3.12.15)
_PROMPT = re.compile(
    r"\s*(?:\([\w./+-]{1,60}\)\s?){0,3}(?:(?:[\w.+-]{1,60}@[^$#%>\u276f\u279c\n]{0,160}|[\w.:@-]{0,40}[/~.-][\w./:~@-]{0,80}\s?)[$#%\u276f\u279c]|[$\u276f\u279c\u03bb]"
    r"|PS [^>\n]{1,120}>)\s+(?P<command>\S.{0,2000})\Z")
_MARKED = re.compile(  # signs that also begin a heading, a comment or a quote: only before a program's name
    r"\s*[#>%]\s(?P<command>(?:python|pip|uv|conda|mamba|nvidia-smi|nvcc|rocm-smi|vllm|sglang|cat|ls|export|docker|wget|curl|sudo|env|printenv|uname|git|echo|find|sha256sum"
    r"|df|ulimit|dmesg|cd|bash|sh|source|free|lscpu|lspci|stat|wc|ps|\./|/)[\w.-]*(?:\s.{0,2000})?)\Z")


def is_version(text: str) -> bool:
    """Tell whether a text is a version and nothing else."""
    return VERSIONED.match(text) is not None


def command_of(line: str) -> str:
    """Return the command that a line shows behind a shell's prompt; "" where it has no prompt."""
    found = _PROMPT.match(line) or _MARKED.match(line)
    return found["command"].strip() if found else ""


def commands_above(lines: Sequence[str], at: int, words: Iterable[str], reach: int = 4) -> str:
    """Return the nearest of the lines above one that names one of some commands; "" where none does."""
    for line in reversed(lines[max(0, at - reach):at]):
        if any(word in line for word in words):
            return line
    return ""


def version_path(name: str) -> str:
    """Return the path of a distribution's version."""
    return fact_path("packages", canonical(name), "version")


def package(name: str, key: str) -> str:
    """Return the path of something else that is known of a distribution."""
    return fact_path("packages", canonical(name), key)


def told_at_end(version: str, *, is_cut: bool) -> Any:
    """Return a version, or Unknown where the text was cut in its row and the rest of it may be missing."""
    if is_cut and not _WHOLE_AT_A_CUT.match(version):
        return Unknown("error", f"the text ends in its row, at {version!r}")
    return version


def add_version(facts: dict[str, Any], name: str, version: Any) -> None:
    """Add a row; a second row of one name that says otherwise makes it open."""
    path = version_path(name)
    before = facts.get(path, version)
    if before == version or isinstance(before, Unknown):
        facts[path] = version
    elif not isinstance(version, Unknown):
        facts[path] = _fuller(str(before), str(version))


def _fuller(one: str, other: str) -> Any:
    """Return the one of two texts of one version that also tells its local part."""
    if one.startswith(other + "+"):
        return one
    return other if other.startswith(one + "+") else Unknown("error", f"the list names two versions: {one} and {other}")
