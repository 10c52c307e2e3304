"""Which values are no values: the names that a template, a script or an issue form has in their place. Pure text; fills in nothing.

``{torch_version}``, ``%s``, ``%(name)s``, ``<version>``, ``$VAR``, ``${VAR}``, ``$(command)``. A fact with one in place of its value is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from driftwatch.model import Unknown

OPEN = Unknown("error", "the text has a placeholder in its place")  # without the text: what only looks like one may be a secret
_ANGLED = re.compile(r"<([A-Za-z][\w -]{0,40})>")
_PLACEHOLDER = re.compile(
    r"\{[A-Za-z_][\w.]{0,60}\}|\{\{[^{}]{1,60}\}\}|%s|%\([A-Za-z_]\w{0,60}\)s|<[A-Za-z][A-Za-z _-]{1,60}>|\$[A-Za-z_]\w{0,60}|\$[{(][^\n]{1,200}[})]"
    r"|X{3,}|x{4,}")
_EXPANDED = re.compile(r"\$(?:[A-Za-z_]\w{0,60}|[{(])|`[^`\n]{1,200}`")
_LITERAL = re.compile(r"(?:packages|pythons)/.*/(?:conda_build|channel)|transcript/.*")  # conda's own word for pip's packages stands in such brackets


def is_placeholder(value: Any) -> bool:
    """Tell whether a value is the name of one and nothing else."""
    return isinstance(value, str) and _PLACEHOLDER.fullmatch(value.strip()) is not None


def is_open(value: Any) -> bool:
    """Tell whether a word of a command line, or one of several, holds a variable or a command that a shell would have put in."""
    if isinstance(value, list):
        return any(map(is_open, value))
    return isinstance(value, str) and (_EXPANDED.search(value) is not None or is_placeholder(value))


def bracketed(command: str) -> str:
    """Return a command line with ``<name>`` as ``{name}``: to a shell it would be two redirections."""
    return _ANGLED.sub(lambda found: "{" + found[1].replace(" ", "_") + "}", command)


def without_placeholders(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts with those open whose value is a placeholder; a card whose name is one is left out."""
    found: dict[str, Any] = {}
    for path, value in facts.items():
        if not is_placeholder(value) or _LITERAL.fullmatch(path):
            found[path] = value
        elif not path.startswith("gpus/"):
            found[path] = OPEN
    return found
