"""A service of a Docker Compose file: how its container is to be made. What was written, by the paths of what runs: docker inspect tells what is.

| path | what |
|---|---|
| containers/NAME/… | as agent/collectors/containers.py tells them; NAME is ``container_name`` or, without one, the service's |
| containers/NAME/env_ordered | the names of the variables that the file orders: an image may set others |
| servers/FRAMEWORK/given/ARG, args/ARG, env/NAME | where the service runs a server that is known; see launch_lines.py |

Where Compose fills in a variable (``${TAG}``) the value is unknown.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from driftwatch.agent.container_texts import parse_inspect
from driftwatch.agent.launch_args import recognise
from driftwatch.agent.probe import Refusal, fact_path
from driftwatch.agent.redact import Redactor
from driftwatch.dumps import docker_inspect
from driftwatch.dumps.compose_service import inspected
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.launch_lines import VOLATILE, beside_log, has_log, parse_alone
from driftwatch.dumps.yaml_text import indent_of, load
from driftwatch.model import Unknown

MARKS = ("image:", "build:")
TOP = "services:"
_MADE_OF = re.compile(r" {1,40}(?:image|build):(?:\s|\Z)")
_SERVICE = re.compile(r" {0,40}[\w.-]{1,80}:\s*(?:&[\w-]{1,80}\s*)?(?:#.*)?\Z")
_SETTING = re.compile(
    r"\s*(?:command|entrypoint|environment|env_file|volumes|ports|deploy|shm_size|ipc|ulimits|runtime|restart|container_name|network_mode|devices|gpus|privileged"
    r"|depends_on|healthcheck|networks|working_dir):(?:\s|\Z)")
_FILLED_IN = re.compile(r"(?<!\$)\$(?:\{[^}]{1,200}\}|[A-Za-z_]\w{0,80})")
_HAS_ENTRY = re.compile(r"/vllm-openai\b")
_SHELL = re.compile(r"(?:\S*/)?(?:ba|z|da)?sh\Z")
_FARTHEST = 80
_LAUNCHING = ("entrypoint", "command")


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield the services, where no log tells the arguments of a server."""
    yield from () if has_log(lines) else find_services(lines)


def find_services(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each service with its settings: a name, and below it an image or a build beside other settings of a service."""
    done = 0
    for at, line in enumerate(lines):
        if at < done or not _MADE_OF.match(line):
            continue
        indent = indent_of(line)
        first = _name_above(lines, at, indent, done)
        if first is None:
            continue
        after = next((one for one in range(at, len(lines)) if lines[one] == FENCE or (_says(lines[one]) and indent_of(lines[one]) < indent)), len(lines))
        if any(indent_of(one) == indent and _SETTING.match(one) for one in lines[first + 1:after]):
            yield Stretch(first - bool(first > done and lines[first - 1].strip() == TOP), after, 0.93)
        done = after


def _says(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _name_above(lines: Sequence[str], at: int, indent: int, done: int) -> int | None:
    """Return the line with the service's name: the nearest above that is set in less."""
    for one in range(at - 1, max(done - 1, at - _FARTHEST), -1):
        if lines[one] == FENCE:
            return None
        if _says(lines[one]) and indent_of(lines[one]) < indent:
            return one if _SERVICE.match(lines[one]) else None
    return None


def parse(text: str) -> Parsed:
    """Return what a service's settings tell, its arguments also as what counts."""
    return told(text, parse_alone)


def told(text: str, read_launch: Callable[[str], Parsed]) -> Parsed:
    """Return what a service's settings tell; ``read_launch`` reads its command line.

    Where the text was cut, its last line is left out, and so is the setting that it belongs to, or the last option of a command.
    """
    lines = text.split("\n")[:-1]
    found = load([line for line in lines if line.strip() != TOP])
    name, service = next(iter(found.items()), ("", None)) if isinstance(found, Mapping) else ("", None)
    if not isinstance(service, Mapping):
        return Parsed({}, notes=("docker compose: the settings of the service could not be read",))
    last = "" if text.endswith("\n") else next(reversed(service))
    return told_of(str(service.get("container_name") or name)[:80], service, last, read_launch)


def told_of(name: str, service: Mapping[str, Any], last: str, read_launch: Callable[[str], Parsed]) -> Parsed:
    """Return what the settings of one container tell; ``last`` is the one in which the text ends, "" where none is."""
    one = inspected({key: value for key, value in service.items() if key != last or key in ("environment", *_LAUNCHING)})
    launch = read_launch(_command_line(_without_last(one) if last in _LAUNCHING else one) + "\n")
    facts = {**_container(name, one), **launch.facts, **dict(_server_variables(launch.facts, one))}
    if last in _LAUNCHING:
        facts[f"{fact_path('containers', name)}/command"] = Unknown("error", f"the text ends in the {last} of {name}")
    return Parsed({path: _as_known(value) for path, value in facts.items()}, notes=launch.notes, volatile=(*docker_inspect.VOLATILE, *VOLATILE))


def _without_last(one: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a container without the last option of its command, whose value may be missing."""
    words = list(one["Args"])
    at = max((at for at, word in enumerate(words) if word.startswith("-")), default=len(words))
    return {**one, "Args": words[:at]}


def _container(name: str, one: Mapping[str, Any]) -> dict[str, Any]:
    try:
        facts = parse_inspect(json.dumps([one]), Redactor())
    except Refusal:
        return {}
    top = fact_path("containers", name)
    env = facts.pop("env", {})
    told = {**facts, **{fact_path("env", key): value for key, value in env.items()}}
    names = sorted(pair.partition("=")[0] for pair in one["Config"]["Env"])
    return {f"{top}/{key}": value for key, value in {**told, **({"env_ordered": names} if names else {})}.items()}


def _server_variables(launched: Iterable[str], one: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the container's variables as those of each server that it runs."""
    pairs = [pair.partition("=") for pair in one["Config"]["Env"]]
    for framework in dict.fromkeys(path.split("/")[1] for path in launched if path.startswith("servers/")):
        yield from ((fact_path("servers", framework, "env", name), value) for name, _, value in pairs)


def _command_line(one: Mapping[str, Any]) -> str:
    """Return what a service runs as a command line; "" where it names no command."""
    words = [str(one.get("Path") or ""), *map(str, one.get("Args") or ())]
    image = str(one["Config"]["Image"] or "")
    if not words[0]:
        return ""
    if len(words) > 2 and _SHELL.match(words[0]) and words[1].startswith("-") and words[1].endswith("c"):
        return words[2]
    is_of_image = _HAS_ENTRY.search(image) is not None and recognise(words) is None
    return shlex.join(["docker", "run", image, *words] if is_of_image else words)


def _as_known(value: Any) -> Any:
    """Return a value, or Unknown where something is filled in that the file does not tell."""
    shown = value if isinstance(value, str) else json.dumps(value) if isinstance(value, (list, dict)) else ""
    found = _FILLED_IN.search(shown)
    return Unknown("not_recorded", f"{found.group()[:60]} is filled in when it starts, and the file does not tell it") if found else value


FORMAT = Format(
    name="docker-compose", find=find, parse=parse, looks_like="a service of a docker compose file", marks=MARKS, knows_cuts=True,
    never_prints=("packages/*", "driver/*", "gpus/*", "os/*", "kernel/*", "python/*", "torch/*", "git/*", "sources/*", "servers/*/log/*"),
)
BESIDE_LOG = beside_log(FORMAT, find_services, told)
