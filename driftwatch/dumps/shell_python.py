"""Output of Python one-liners, of an interactive session, of ``pip show`` and of listings that set files beside the RECORDs that name them. Evaluates nothing.

| path | what |
|---|---|
| torch/version, torch/cuda, torch/hip, nccl/version, cudnn/version, python/version | where the printed expression is one that is known |
| packages/NAME/imported_version, imported_file | of ``NAME.__version__`` and ``NAME.__file__`` |
| packages/NAME/version, location | of ``pip show`` |
| packages/NAME/altered/PATH, python/owned_twice/PATH | as the record and ownership collectors tell them; absent where a RECORD has the file's digest |
| files/PATH/{sha256, bytes} | of the file itself |
| transcript/python/EXPRESSION | the printed text of any other expression |
"""

from __future__ import annotations

import ast
import re
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from driftwatch.agent.dist_metadata import canonical
from driftwatch.agent.probe import fact_path
from driftwatch.dumps.shell import Simple, Told

_KNOWN: Mapping[str, tuple[str, str]] = MappingProxyType({
    "torch.__version__": ("torch/version", r"\d[\w.+-]*"), "torch.version.cuda": ("torch/cuda", r"\d[\d.]*"), "torch.version.hip": ("torch/hip", r"\d[\w.-]*"),
    "torch.cuda.nccl.version()": ("nccl/version", r"\(\d+(?:, \d+)+\)"), "torch.backends.cudnn.version()": ("cudnn/version", r"\d{4,6}"),
    "sys.version": ("python/version", r"\d+\.\d+\.\d+"), "sys.version.split()[0]": ("python/version", r"\d+\.\d+\.\d+"),
    "torch.cuda.is_available()": ("torch/cuda_available", r"(?:True|False)\Z"),
    "platform.python_version()": ("python/version", r"\d+\.\d+\.\d+"), "sys.executable": ("python/executable", r"/\S+"),
})
_MODULE = re.compile(r"([A-Za-z_]\w*)\.__(version|file)__\Z")
_ON_DISK = re.compile(r"\s+on disk\s+sha256=([\w-]{40,64}={0,2}) size=(\d+)\s*\Z")
_RECORD = re.compile(r"\s+RECORD ([\w.-]+) (\S+)\s+sha256=([\w-]{40,64}={0,2}) size=(\d+)\s*\Z")
_PATH = re.compile(r"[\w./~@+-]*/[\w.@+-]+\.\w+\Z")
_SHOWN = re.compile(
    r"(Name|Version|Location|Editable project location|Summary|Home-page|Author|Author-email|License|License-Expression"
    r"|Requires|Required-by|Installer): ?(.*)\Z")
_MOST = 200
_AND = "\0"
_LONGEST = 300


def read_python(command: Simple, lines: Sequence[str]) -> Told:
    """Return what a Python command printed: its version, the expressions of ``-c``, or a listing of files and RECORDs."""
    if command.has("-V", "-VV", "--version"):
        found = re.match(r"Python (\d+\.\d+\.\d+\S*)\s*(?:\(.*)?\Z", lines[0]) if lines else None
        return Told(1, {"python/version": found.group(1)}) if found else Told(0, {})
    if "-c" in command.words[:-1]:
        return printed(expressions(command.words[command.words.index("-c") + 1]), lines)
    return _ownership(lines)


def expressions(code: str) -> list[str]:
    """Return the expressions that a program prints, in order, where it does nothing but import, assign and print them one by one; else nothing."""
    try:
        tree = ast.parse(code[:_LONGEST * 10])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.Assign)):
            continue
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "print" or not call.args or call.keywords:
            return []
        found.append(_AND.join(map(ast.unparse, call.args)))
    return found


def echoed(code: str) -> list[str]:
    """Return the expression whose value an interactive session shows below a line: its last one, behind imports and assignments."""
    try:
        tree = ast.parse(code[:_LONGEST])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr) or not all(isinstance(node, (ast.Import, ast.ImportFrom, ast.Assign)) for node in tree.body[:-1]):
        return []
    is_print = isinstance(last.value, ast.Call) and isinstance(last.value.func, ast.Name) and last.value.func.id == "print"
    shown = ast.unparse(last.value)
    return expressions(code) if is_print else [shown] if re.match(r"[\w.]+(?:\(\))?\Z", shown) else []


def printed(names: Sequence[str], lines: Sequence[str]) -> Told:
    """Return the values that lines show of expressions, one a line; nothing where there are fewer lines, or an error among them."""
    shown = lines[:len(names)]
    if not names or len(shown) < len(names) or any(re.match(r"Traceback|\s+File |[A-Z]\w+Error", line) for line in shown):
        return Told(0, {})
    facts: dict[str, Any] = {}
    for name, line in zip(names, shown, strict=True):
        for one, text in zip(*_apart(name, line.strip()[:_LONGEST]), strict=True):
            facts.update(_value(one, text))
    return Told(len(names), facts)


def _apart(names: str, line: str) -> tuple[list[str], list[str]]:
    """Return the expressions of one ``print`` with what it printed of each, its own words left out; all as one where the line does not look so."""
    parts = [part for number, name in enumerate(names.split(_AND)) for part in ([(" ", "")] * bool(number) + _parts(name))]
    asked = [code for _, code in parts if code]
    words = [re.escape(text) if text else r"(\S+)" for text, _ in parts]
    words[-1:] = ["(.+)"] if parts and parts[-1][1] else words[-1:]
    is_apart = all(re.search(r"\s", between) for between in re.findall(r"(?<=\0)[^\0]*(?=\0)", "".join(text or "\0" for text, _ in parts)))
    found = re.fullmatch("".join(words), line) if asked and is_apart else None
    return (asked, list(found.groups())) if found else ([names.replace(_AND, ", ")], [line])


def _parts(name: str) -> list[tuple[str, str]]:
    """Return an expression as what is printed of it: texts that stand there, and the code of what else, as ("", CODE)."""
    node = ast.parse(name, mode="eval").body
    if isinstance(node, ast.JoinedStr):
        return [_part(one.value if isinstance(one, ast.FormattedValue) else one) for one in node.values]
    return [_part(node)]


def _part(node: ast.expr) -> tuple[str, str]:
    return (node.value, "") if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value else ("", ast.unparse(node))


def _value(name: str, text: str) -> Iterator[tuple[str, Any]]:
    path, pattern = _KNOWN.get(name, ("", ""))
    text = text.strip("'\"")
    module = _MODULE.match(name)
    told = re.match(pattern, text) if path else None
    if told:
        yield path, _known(path, told.group())
    elif module and text not in ("None", ""):
        yield fact_path("packages", canonical(module.group(1)), f"imported_{module.group(2)}"), text
    else:
        yield fact_path("transcript", "python", name[:_LONGEST]), text


def _known(path: str, text: str) -> Any:
    if path == "nccl/version":
        return ".".join(re.findall(r"\d+", text))
    return text == "True" if path == "torch/cuda_available" else text


def _ownership(lines: Sequence[str]) -> Told:
    """Return what a listing of files tells: each path, below it the digest on disk and those of the RECORDs that name it."""
    facts: dict[str, Any] = {}
    tells: list[str] = []
    at = 0
    while at < len(lines[:_MOST]) and _PATH.match(lines[at]):
        after = at + 1
        while after < len(lines) and (_ON_DISK.match(lines[after]) or _RECORD.match(lines[after])):
            after += 1
        disk = next(filter(None, map(_ON_DISK.match, lines[at + 1:after])), None)
        if disk is None:
            break
        told, absent = _owned(lines[at], disk, [row for row in map(_RECORD.match, lines[at + 1:after]) if row])
        facts.update(told)
        tells += absent
        at = after
    return Told(at, facts, tuple(tells))


def _owned(path: str, disk: re.Match[str], records: Sequence[re.Match[str]]) -> tuple[dict[str, Any], list[str]]:
    digest, size = disk.groups()
    top = fact_path("files", path)
    facts: dict[str, Any] = {f"{top}/sha256": _hexadecimal(digest), f"{top}/bytes": int(size)}
    tells = []
    for row in records:
        where = fact_path("packages", canonical(row.group(1)), "altered", path)
        tells.append(where)
        if row.group(3) != digest:
            facts[where] = {"size": int(size), "recorded_size": int(row.group(4)), "sha256": _hexadecimal(digest)}
    if len({row.group(3) for row in records}) > 1:
        owners = [canonical(row.group(1)) for row in records]
        facts[fact_path("python", "owned_twice", path)] = {
            "by": owners, "bytes_of": [canonical(row.group(1)) for row in records if row.group(3) == digest]}
    return facts, tells


def _hexadecimal(digest: str) -> str:
    """Return a digest as hexadecimal, whether RECORD's base64 or hexadecimal already; as it stands where it is neither."""
    if re.fullmatch(r"[0-9a-f]{64}", digest):
        return digest
    try:
        return urlsafe_b64decode(digest.rstrip("=") + "=" * (-len(digest.rstrip("=")) % 4)).hex()
    except ValueError:
        return digest


def read_pip(command: Simple, lines: Sequence[str]) -> Told:
    """Return the distributions that ``pip show`` describes; other verbs are other formats'."""
    if "show" not in command.words:
        return Told(0, {})
    facts: dict[str, Any] = {}
    top, used = "", 0
    for line in lines[:_MOST * 5]:
        row = _SHOWN.match(line)
        if row is None and line != "---" and not line.startswith("  "):
            break
        used += 1
        if row and row.group(1) == "Name":
            top = fact_path("packages", canonical(row.group(2).strip()))
        elif row and top and row.group(2).strip():
            facts.update(_shown(top, row.group(1), row.group(2).strip()))
    return Told(used, facts)


def _shown(top: str, name: str, value: str) -> dict[str, Any]:
    if name == "Version" and re.match(r"\d", value):
        return {f"{top}/version": value}
    if name == "Location":
        return {f"{top}/location": value}
    return {f"{top}/editable": True, f"{top}/source": value} if name == "Editable project location" else {}
