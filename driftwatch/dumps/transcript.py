"""Shell sessions: commands behind a prompt (``$``, ``user@host:~#``, ``>>>``) and what they printed.

What the readers of shell_*.py know becomes facts by the common paths; lines of other commands become ``transcript/COMMAND/KEY``. Output that another
format knows is left to that format.

A command's output ends at the next prompt, at a fence, or where its lines no longer look like it. Only output that ends at a prompt, or where that of
another command of the same line begins, is known to be whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType

from driftwatch.agent.launch_args import recognise
from driftwatch.dumps import shell_answers, shell_files, shell_os_packages, shell_places, shell_system
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.shell import Prompted, Simple, Told, prompted, simple_commands
from driftwatch.dumps.shell_answers import read_environment
from driftwatch.dumps.shell_git import read_git
from driftwatch.dumps.shell_inspect import is_template, read_template
from driftwatch.dumps.shell_other import read_any
from driftwatch.dumps.shell_programs import existence, read_version
from driftwatch.dumps.shell_python import echoed, printed, read_pip, read_python

KNOWN, FOREIGN, SILENT, OTHER = 0.85, 0.86, 0.84, 0.3
OF_PROCESS = 0.89  # surer than a command line without a prompt (launch_lines.py)
_READERS: Mapping[str, Callable[[Simple, Sequence[str]], Told]] = MappingProxyType({
    **shell_system.READERS, **shell_os_packages.READERS, **shell_answers.READERS, **shell_places.READERS,
    "ls": shell_files.read_ls, "ll": shell_files.read_ls, "find": shell_files.read_find, "wc": shell_files.read_wc,
    "du": shell_files.read_du, "stat": shell_files.read_stat, "sha256sum": shell_files.read_digests, "md5sum": shell_files.read_digests,
    "sha1sum": shell_files.read_digests, "sha512sum": shell_files.read_digests, "git": read_git, "pip": read_pip, "pip3": read_pip,
    "python": read_python, "python3": read_python,
})
_VOLATILE = (*shell_files.VOLATILE, *shell_os_packages.VOLATILE, *shell_system.VOLATILE)
_OURS = (KNOWN, OF_PROCESS)
_SILENT = frozenset(
    ("export", "cd", "source", "set", "unset", "alias", "true", "mkdir", "rm", "sudo", "pushd", "popd", "clear", "sleep",
     "touch", "kill", "date", "uptime"))
_SPEAKING = frozenset(("date", "uptime"))  # of the silent ones: they print what is no fact
_FOREIGN = re.compile(
    r"(?:\S*/)?(?:nvidia-smi|nvcc|conda list|env|printenv|cat \S*(?:\.env|/environ|/environment) |vllm |sglang "
    r"|rocm-smi|rocminfo|amd-smi|npu-smi|journalctl (?:\S{1,80} ){0,8}(?:-\w{0,8}u|--unit\b)|transformers-cli|transformers env"
    r"|(?:uv )?pip3? (?:list|freeze|inspect)|(?:docker|podman)(?: container| image)? inspect"
    r"|python[\d.]* (?:-m (?:sglang|vllm|torch|flashinfer|pip|transformers)|\S*(?:collect_env|check_env|launch_server|api_server)\b))")
_CARRIERS = frozenset(("docker", "podman", "nerdctl", "kubectl", "oc", "ssh", "srun"))  # they run what stands behind, in a container or elsewhere
_MOST_BEFORE = 10
_MOST_SKIPPED = 20
_COUNTING = frozenset(("ls", "find"))
_PYTHON = re.compile(r"\s{0,4}>>> (\S.*)\Z")
_ONE_LINER = re.compile(r"\s{0,8}python[\d.]{0,6}(?:\.exe)? -c [\"']")
_STARTERS = frozenset((*_READERS, "nvidia-smi", "nvcc", "conda", "hostname", "lscpu", "lspci", "numactl", "ibstat", "rpm", "dpkg", "apt", "mount", "ps", "top"))
_MOST_COMMANDS = 2000
_LONGEST = 1000


@dataclass(frozen=True)
class Shown:
    """A command in a paste: where it stands, where its output ends, and what it is."""

    at: int
    after: int
    prompt: Prompted
    commands: tuple[Simple, ...]


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield known commands with the output that their readers use and the commands right behind it, and unknown commands each alone."""
    run: Stretch | None = None
    for shown in _shown(lines):
        sure = _sureness(shown)
        if sure == FOREIGN and not _starts_server(shown):
            yield from _spare(shown, lines)
        mine = Stretch(shown.at, shown.at + 1 + _used(shown, lines, sure), sure)
        is_next = run is not None and run.sure in _OURS and run.after == shown.at and sure != OTHER
        run, done = (Stretch(run.first, mine.after, run.sure), None) if run is not None and is_next else (mine, run)
        if done is not None and done.sure in (*_OURS, OTHER):
            yield done
    if run is not None and run.sure in (*_OURS, OTHER):
        yield run


def _spare(shown: Shown, lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield a command whose output another format should know, for the case that none does."""
    used = _used(shown, lines, OTHER)
    if any(line.strip() for line in lines[shown.at + 1:shown.at + 1 + used]):
        yield Stretch(shown.at, shown.at + 1 + used, OTHER, is_spare=True)


def _starts_server(shown: Shown) -> bool:
    """Tell whether a command starts a server, so that a log follows."""
    launches = (recognise(one.words[at:]) for one in shown.commands for at in range(min(len(one.words), _MOST_BEFORE)))
    return any(launch is not None and launch.arguments is not None for launch in launches)


def _shown(lines: Sequence[str]) -> Iterator[Shown]:
    """Yield the commands that a paste shows, the first 2,000."""
    marks = ((at, _prompt(lines, at)) for at in range(len(lines)) if _may_prompt(lines, at))
    found = list(islice(((at, prompt) for at, prompt in marks if prompt is not None), _MOST_COMMANDS))
    for number, (at, prompt) in enumerate(found):
        start = _after_command(lines, at)
        limit = found[number + 1][0] if number + 1 < len(found) else len(lines)
        after = next((one for one in range(start, limit) if lines[one] == FENCE), limit)
        yield Shown(start - 1, after, prompt, _commands(prompt, lines, at, start))


def _may_prompt(lines: Sequence[str], at: int) -> bool:
    head = lines[at][:240]
    is_alone = _ONE_LINER.match(head) is not None or (at > 0 and lines[at - 1] == FENCE and head[:1].isalpha())
    return any(sign in head for sign in "$#%\u276f\u279c>") or head.startswith("+") or is_alone


def _prompt(lines: Sequence[str], at: int) -> Prompted | None:
    """Return the prompt of a line; one that could as well begin a comment or a quote counts only before a program that is known."""
    python = _PYTHON.match(lines[at][:_LONGEST])
    if python:
        return Prompted(python.group(1), "python")
    found = prompted(lines[at])
    if found is not None and (found.mark in ("user", "short") or _starts_program(found.text)):
        return None if found.mark == "traced" else found
    is_first = at > 0 and lines[at - 1] == FENCE and _starts_program(lines[at]) and _is_bare(lines[at])
    return Prompted(lines[at].strip(), "bare") if is_first or _ONE_LINER.match(lines[at]) else None


def _starts_program(text: str) -> bool:
    words = text.split(maxsplit=1)
    return bool(words) and words[0].rpartition("/")[2] in _STARTERS


def _is_bare(line: str) -> bool:
    """Tell whether a line without prompt, the first of a fence, is a command and no sentence."""
    return len(line) < 300 and not re.search(r"[.:;!?](?:\s|\Z)", line)


def _after_command(lines: Sequence[str], at: int) -> int:
    """Return where the output begins, behind lines that a backslash carries on."""
    while at + 1 < len(lines) and lines[at].rstrip().endswith("\\"):
        at += 1
    return at + 1


def _commands(prompt: Prompted, lines: Sequence[str], at: int, start: int) -> tuple[Simple, ...]:
    if prompt.mark == "python":
        return ()
    text = " ".join([prompt.text.rstrip("\\"), *(line.strip().rstrip("\\") for line in lines[at + 1:start])]) if start > at + 1 else prompt.text
    return simple_commands(Prompted(text, prompt.mark, prompt.host, prompt.cwd, prompt.home))


def _sureness(shown: Shown) -> float:
    """Return what kind of command it is, as how sure we are of its lines; of several on one line the first decides, where its lines are read here."""
    if shown.prompt.mark == "python":
        return KNOWN
    if not shown.commands:
        return SILENT
    programs = [one.program for one in shown.commands]
    if _is_foreign(shown.commands[0]) or (any(map(_is_foreign, shown.commands)) and programs[0] not in _READERS):
        return FOREIGN
    if any(one.reads.startswith("/proc/") for one in shown.commands):
        return OF_PROCESS
    if any(one.program in _READERS or is_template(one) for one in shown.commands):
        return KNOWN
    return SILENT if all(one in _SILENT or not one for one in programs) or shown.prompt.mark == "bare" else OTHER


def _is_foreign(one: Simple) -> bool:
    if is_template(one):
        return False
    first = range(min(len(one.words), _MOST_BEFORE)) if one.program in _CARRIERS else (0,)
    return any(_FOREIGN.match(" ".join(one.words[at:]) + " ") for at in first)


def _used(shown: Shown, lines: Sequence[str], sure: float) -> int:
    """Return how many lines of output belong to a command. All up to the next prompt, but blanks, where its reader leaves nothing but blanks."""
    output = lines[shown.at + 1:shown.after]
    if sure == FOREIGN:
        return 0
    if sure == OTHER:
        return next((at for at in range(len(output)) if not output[at].strip() and (at + 1 == len(output) or not output[at + 1].strip())), len(output))
    used = sum(told.used for told in _read(shown, output))
    return len(output) if not any(line.strip() for line in output[used:]) and shown.after < len(lines) and lines[shown.after] != FENCE else used


def _read(shown: Shown, output: Sequence[str]) -> list[Told]:
    """Return what each of the commands of one line tells, in order: each takes the lines that look like its own from where the one before ended."""
    lines = [line[:_LONGEST] for line in output]
    if shown.prompt.mark == "python":
        return [printed(echoed(shown.prompt.text), lines)]
    told: list[Told] = []
    at = 0
    before: Simple | None = None  # whose output nobody reads
    for place, one in enumerate(shown.commands):
        is_foreign = _is_foreign(one) and len(shown.commands) > 1
        if is_foreign and not (place and one.words == ("env",)):
            break  # what follows is for the format that knows it
        found = read_environment(one, lines[at:]) if is_foreign else _one(one, lines[at:])
        skipped = _skipped(one, lines[at:]) if before is not None and not found.used else 0
        if before is not None and skipped:
            told.append(Told(skipped, {}) if before.program in _SILENT else read_any(before, lines[at:at + skipped]))
            found = _one(one, lines[at + skipped:])
        told.append(found)
        at += skipped + found.used
        before = one if not found.used and one.program not in _SILENT - _SPEAKING else None if found.used else before
    is_read = any(one.used or one.tells_if_whole for one in told)
    is_ours = before is not None and before.program not in _SILENT and not any(map(_is_foreign, shown.commands))
    if before is not None and is_ours and is_read and any(line.strip() for line in lines[at:]):
        told.append(read_any(before, lines[at:]))
    if not is_read and shown.prompt.mark != "bare" and any(line.strip() for line in lines):
        told.append(read_any(shown.commands[0], lines) if shown.commands else Told(0, {}))
    return [*told, Told(0, existence(shown.commands, lines))]


def _skipped(command: Simple, lines: Sequence[str]) -> int:
    """Return how many lines of the command before stand above a command's own, 0 where none of the next is its own."""
    return next((at for at in range(1, min(len(lines), _MOST_SKIPPED)) if _one(command, lines[at:]).used), 0)


def _one(command: Simple, lines: Sequence[str]) -> Told:
    reader = read_template if is_template(command) else _READERS.get(command.program)
    last = command.pipes[-1][0] if command.pipes else ""
    is_counted = last == "wc" and command.program in _COUNTING
    filters = shell_files.FILTERS | (shell_os_packages.FILTERS if command.program in shell_os_packages.READERS else frozenset())
    filters |= frozenset(("cut",)) if command.program in shell_files.DIGESTING else frozenset()
    is_filtered = all(stage[0] in filters for stage in command.pipes)
    if reader is None or not (is_counted or is_filtered):
        return read_version(command, lines) if is_filtered else Told(0, {})
    told = reader(command, lines)
    shows_all = all(stage[0] in shell_files.ORDERINGS for stage in command.pipes)
    return told if shows_all or told.minds_filters else Told(told.used, told.facts)


def parse(text: str) -> Parsed:
    """Return what the commands of a session tell."""
    lines = text.split("\n")
    facts: dict[str, object] = {}
    tells: list[str] = []
    hosts: list[str] = []
    shown = list(_shown([FENCE, *lines]))
    for number, one in enumerate(shown):
        is_whole = number + 1 < len(shown)
        hosts.append(one.prompt.host)
        read = _read(one, lines[one.at:one.after - 1])
        for place, told in enumerate(read):
            has_ended = is_whole or any(later.used for later in read[place + 1:])
            facts.update({**told.facts, **(told.if_whole if has_ended else {})})
            tells += [*told.tells, *(told.tells_if_whole if has_ended else ())]
    names = {host for host in hosts if host}
    return Parsed(facts, tells=tuple(tells), host=names.pop() if len(names) == 1 else None, volatile=_VOLATILE)


FORMAT = Format(
    name="transcript", find=find, parse=parse, looks_like="a shell session ($ COMMAND and its output)",
    never_prints=("packages/*/record", "servers/*/env/*", "servers/*/libraries/*"),
)
