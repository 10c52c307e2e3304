"""Output of ``docker inspect`` and ``podman inspect`` with a template of one field: ``-f '{{.Created}}'``, ``{{json .Config.Env}}``, ``{{join .Args " "}}``.

| path | what |
|---|---|
| containers/NAME/… | as docker_inspect.py tells them of the whole object |
| containers/NAME/command | of ``.Args`` or ``.Config.Cmd`` where the container's name tells no server |
| servers/FRAMEWORK/given/ARG | of these where it tells one; docker_inspect.py has the rest of the words |
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from typing import Any

from driftwatch.agent.launch_args import parse_given
from driftwatch.agent.probe import fact_path
from driftwatch.agent.redact import Redactor
from driftwatch.dumps.docker_inspect import container
from driftwatch.dumps.format import NoDump
from driftwatch.dumps.json_text import load
from driftwatch.dumps.shell import Simple, Told

_FIELD = re.compile(r"""\{\{\s*(?P<how>json\s+|join\s+)?\.(?P<path>\w+(?:\.\w+)*)(?:\s+["'] ["'])?\s*\}\}""")
_EACH = re.compile(r"\{\{\s*range\s+(?:\$\w+\s*:=\s*)?\.(?P<path>\w+(?:\.\w+)*)\s*\}\}\{\{\s*println\s+\S+\s*\}\}\{\{\s*end\s*\}\}")
_WORDS = ("Args", "Config.Cmd")
_LISTS = (*_WORDS, "Config.Env", "Config.Entrypoint")
_FRAMEWORKS = ("sglang", "vllm")
_MOST = 400


def is_template(command: Simple) -> bool:
    """Tell whether a command asks an engine for parts of what it knows of one container, so that no JSON object follows; an image's name has other signs."""
    is_inspect = command.program in ("docker", "podman") and command.words[1:2] in (("inspect",), ("container",)) and "inspect" in command.words[1:3]
    asked = [word for word in command.operands if word not in ("inspect", "container", _template(command))]
    return is_inspect and bool(_template(command)) and len(asked) == 1 and not re.search("[/:]", asked[0].lstrip("/"))


def read_template(command: Simple, lines: Sequence[str]) -> Told:
    """Return what a template of one field tells of one container."""
    text, name = _template(command), command.words[-1].lstrip("/")
    one, each = _FIELD.fullmatch(text), _EACH.fullmatch(text)
    if each:
        rows = [line for line in lines[:_MOST] if line.strip()]
        return Told(len(rows), _facts(name, each["path"], rows)) if rows else Told(0, {})
    if not one or not lines or not lines[0].strip():
        return Told(0, {})
    try:
        value = load(lines[0]) if (one["how"] or "").startswith("json") else _plain(lines[0].strip(), one["path"])
    except (NoDump, ValueError):
        return Told(0, {})
    facts = _facts(name, one["path"], value)
    return Told(1 if facts else 0, facts)


def _template(command: Simple) -> str:
    """Return the template that a command gives, "" for none."""
    for at, word in enumerate(command.words):
        if word in ("-f", "--format"):
            return command.words[at + 1] if at + 1 < len(command.words) else ""
        if word.startswith(("-f=", "--format=")):
            return word.partition("=")[2]
    return ""


def _plain(text: str, path: str) -> Any:
    """Return a field as Go prints it: words of a list in brackets or joined, truths, whole numbers, else the text."""
    if path in _LISTS:
        return shlex.split(text.removeprefix("[").removesuffix("]"))
    return json.loads(text) if re.fullmatch(r"true|false|-?\d{1,18}", text) else text


def _facts(name: str, path: str, value: Any) -> dict[str, Any]:
    if path in _WORDS and isinstance(value, list):
        return _given(name, [str(one) for one in value])
    whole: dict[str, Any] = {"Name": name}
    *above, last = path.split(".")
    inner = whole
    for part in above:
        inner = inner.setdefault(part, {})
    inner[last] = value
    return dict(container(whole))


def _given(name: str, words: Sequence[str]) -> dict[str, Any]:
    """Return a container's words as what its server was given, where its name says which server that is."""
    mask = Redactor()
    framework = next((one for one in _FRAMEWORKS if one in name.lower()), None)
    if framework is None:
        return {f"{fact_path('containers', name)}/command": mask.arguments(list(words))}
    given = parse_given(framework, words)
    return {fact_path("servers", framework, "given", key): mask.argument(key, value) for key, value in given.items()}
