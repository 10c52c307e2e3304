"""Output of commands that look at files: ls, find, wc, du, stat, sha256sum, md5sum.

PATH is as printed, with ``~`` for the home folder wherever the text tells which one that is. A cache is known by its place.

| path | what |
|---|---|
| files/PATH/{bytes, size, lines, mode, owner, sha256, md5, link, kind} | size is a rounded text such as ``1.2G``, bytes a whole number |
| files/PATH/digest_begin | the first digits of a digest that ``cut`` shortened |
| files/PATH/modified (volatile) | as printed |
| files/PATH/exists | true for each name that ``ls`` without ``-l`` lists |
| files/PATH/file_system | kind and mount point of where a path lies, as ``df`` tells them |
| caches/NAME/{path, entries, files, size, bytes, oldest, newest} | of a known cache: triton, torchinductor, flashinfer … ; oldest and newest are of its files |
| folders/PATH/… | the same of any other folder |
| folders/PATH/listed_to (volatile) | the last name of a sorted ``ls -l`` of one folder, or (PATH ends in ``*``) of what begins alike: all up to it were shown |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from driftwatch.agent.cache_places import PLACES
from driftwatch.agent.probe import fact_path
from driftwatch.dumps.shell import Simple, Told

FILTERS = frozenset(("sort", "head", "tail", "grep", "egrep", "uniq", "sed", "cat", "less", "more", "tee", "column"))
ORDERINGS = frozenset(("sort", "cat", "less", "more", "tee", "column"))
VOLATILE = ("files/*/modified", "caches/*/modified", "folders/*/modified", "folders/*/listed_to")
_MOST_FILES = 2000
_KEPT_AT = tuple(  # the longest place decides: flashinfer's cubins lie in flashinfer's folder
    (name, rule.lstrip("~").rstrip("@")) for name, rules in PLACES.items() for rule in rules.split() if rule.startswith(("~", "/tmp/torch")))  # noqa: S108  # a table of places
_DATE = r"(?:\d{4}-\d\d-\d\d[ _T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: [+-]\d{4})?|[A-Z][a-z]{2} [ \d]\d (?:\d\d:\d\d|[ ]?\d{4})|\d\d-\d\d \d\d:\d\d)"
_LISTED = re.compile(rf"([-dlbcps])([rwxsStT-]{{9}})[.+@]?\s+\d+\s+(\S+)\s+(\S+)\s+(\d[\d.]*[KMGTP]?)\s+({_DATE})\s+(\S.*?)(?: -> (\S.*))?\Z")
_KINDS: Mapping[str, str] = MappingProxyType({"d": "folder", "l": "link", "b": "device", "c": "device", "p": "pipe", "s": "socket"})
_DIGEST = re.compile(r"\\?([0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128}) [ *](\S.*)\Z")
_CUT_DIGEST = re.compile(r"\\?([0-9a-f]{6,127}) [ *]?(\S.*)\Z")
DIGESTING = ("sha256sum", "md5sum", "sha1sum", "sha512sum")
_DIGESTS: Mapping[int, str] = MappingProxyType({32: "md5", 40: "sha1", 64: "sha256", 128: "sha512"})
_COUNTED = re.compile(r"\s*(\d+)(?:\s+(\S.*))?\Z")
_USED = re.compile(r"(\d[\d.]*[KMGTP]?)\s+(\S.*)\Z")
_DIRECTIVES: Mapping[str, str] = MappingProxyType({
    "p": r"(?P<path>\S.*?)", "P": r"(?P<path>\S.*?)", "f": r"(?P<path>[^/\n]+?)", "n": r"(?P<path>\S.*?)", "N": r"'?(?P<path>[^']+?)'?", "s": r"(?P<bytes>\d+)",
    "TY-%Tm-%Td": r"(?P<modified>\d{4}-\d\d-\d\d)", "TY-%Tm-%Td %TH:%TM": r"(?P<modified>\d{4}-\d\d-\d\d \d\d:\d\d)",
    "T+": r"(?P<modified>\d{4}-\d\d-\d\d\+[\d:.]+)", "T@": r"(?P<modified>\d+(?:\.\d+)?)",
    "Tc": r"(?P<modified>\S.*?)", "y": r"(?P<modified>\S.*?)", "Y": r"(?P<modified>\d+)", "t": r"(?P<modified>\S.*?)",
    "TF": r"(?P<modified>\d{4}-\d\d-\d\d)", "TT": r"[\d:.]+", "TH:%TM": r"\d\d:\d\d", "TH:%TM:%TS": r"[\d:.]+",
    "m": r"(?P<mode>\d+)", "a": r"(?P<mode>\d+)", "u": r"(?P<owner>\S+)", "U": r"(?P<owner>\S+)", "l": r"\S*",
})
_DOWNLOADS = re.compile(r"huggingface|modelscope|/hub\b|/(?:pip|uv|conda|apt)\b|models?/|datasets")
_NAME = re.compile(r"[\w.@+~#%,=-][\w.@+~#%,=/-]{0,254}\Z")
_OTHERWISE = ("-d", "-R", "-t", "-S", "-r", "-U", "-f", "-X", "-v")  # options of ls by which it is no list of one folder by name
_STAT_ROW = re.compile(r"\s*(File|Size|Modify|Access): +(.*)\Z")


def place(path: str) -> str:
    """Return where facts about a folder stand: its cache, if it is a known one, else the folder itself."""
    held = [(len(where), name) for name, where in _KEPT_AT if re.search(re.escape(where) + ("[^/]*/?\\Z" if where.endswith("_") else "/?\\Z"), path)]
    name = max(held)[1] if held else None
    return fact_path("caches", name) if name else fact_path("folders", path.rstrip("/") or "/")


def shortened(path: str, command: Simple) -> str:
    """Return a path with ``~`` for the home folder, where the prompt or an operand of the same command tells which that is."""
    if command.home and path.startswith(command.home + "/"):
        return "~" + path[len(command.home):]
    for operand in command.operands:
        if operand.startswith("~/") and path.startswith("/") and (path.endswith(operand[1:]) or operand[1:].rstrip("/") + "/" in path):
            return "~" + path[path.index(operand[1:].rstrip("/")):]
    return path


def read_ls(command: Simple, lines: Sequence[str]) -> Told:
    """Return what ``ls`` printed: rows of ``-l``; of a count behind ``| wc -l`` the entries of the folder."""
    folder = command.operands[0] if command.operands else command.cwd or "."
    if command.pipes and command.pipes[-1][0] == "wc":
        return _count(f"{place(folder)}/entries", lines)
    facts: dict[str, Any] = {}
    names: list[str] = []
    used = 0
    shown = folder
    for line in lines[:_MOST_FILES]:
        row = _LISTED.match(line)
        header = re.match(r"(\S.*):\Z", line)
        if row:
            facts.update(_listed(row, command, "" if command.has("-d") else shown))
            names.append(row.group(7))
        elif header and not row:
            shown = header.group(1)
        elif line.strip() and not line.startswith("total "):
            break
        used += 1
    is_empty = not facts and used == 1 and lines[0].startswith("total 0")
    entries = _entries(command, folder, names) if facts or is_empty else {}
    return Told(used, {**facts, **_range(command, folder, names)}, if_whole=entries) if facts or is_empty else _names(command, folder, lines)


def _entries(command: Simple, folder: str, names: Sequence[str]) -> dict[str, Any]:
    """Return how many entries a listing of one folder shows, links to itself and above left out."""
    if len(command.operands) > 1 or command.has("-d", "-R") or command.pipes or re.search(r"[*?\[]", folder):
        return {}
    top = place(folder)
    return {f"{top}/entries": len([name for name in names if name not in (".", "..")]), f"{top}/path": shortened(folder.rstrip("/"), command)}


def _range(command: Simple, folder: str, names: Sequence[str]) -> dict[str, Any]:
    """Return up to which name a listing of one folder shows all, where it is sorted by name, in the C locale or in one that sorts by letters."""
    is_pattern = re.fullmatch(r"[^*?\[]+/[^*?\[/]*\*", folder) is not None
    is_one = len(command.operands) < 2 and not command.has(*_OTHERWISE) and (is_pattern or not re.search(r"[*?\[]", folder)) and not command.pipes
    shown = [name.rpartition("/")[2] if is_pattern else name for name in names if name not in (".", "..")]
    letters = [re.sub(r"[^a-z0-9]", "", name.lower()) for name in shown]
    is_sorted = shown == sorted(shown) or letters == sorted(letters)
    path = fact_path("folders", shortened(folder.rstrip("/") or "/", command))
    return {f"{path}/listed_to": shown[-1]} if is_one and is_sorted and len(shown) > 1 else {}


def _names(command: Simple, folder: str, lines: Sequence[str]) -> Told:
    """Return the names that ``ls`` lists without ``-l``: one a line, or in columns. With a pattern they are paths themselves."""
    is_path = command.has("-d") or any(re.search(r"[*?\[]", operand) for operand in command.operands)
    facts: dict[str, Any] = {}
    used = 0
    before: list[str] = []
    for line in () if command.has("-l", "-n", "-o", "-g", "-R") or command.operands[1:] else lines[:_MOST_FILES]:
        names = re.split(r"\t|\s{2,}", line.strip())
        if not all(map(_NAME.match, names)) or line[:1].isspace() or _is_out_of_order(command, before, names):
            break
        before = names
        for name in names:
            path = name if is_path else f"{folder.rstrip('/')}/{name}"
            path = path.rstrip("/") if path.startswith(("/", "~", "./")) else "./" + path.rstrip("/")
            facts[f"{fact_path('files', shortened(path, command))}/exists"] = True
        used += 1
    below = () if is_path else (fact_path("files", shortened(folder.rstrip("/"), command)) + "%2F*/exists",)
    return Told(used, facts, tells_if_whole=below if facts else ())


def _is_out_of_order(command: Simple, before: Sequence[str], names: Sequence[str]) -> bool:
    """Tell whether a line of one name goes before the one above it, by whatever locale: then it is of the next command."""
    if len(before) != 1 or len(names) != 1 or command.has(*_OTHERWISE):
        return False
    last, name = before[0], names[0]
    return name < last and re.sub(r"[^a-z0-9]", "", name.lower()) < re.sub(r"[^a-z0-9]", "", last.lower())


def _listed(row: re.Match[str], command: Simple, folder: str) -> Iterator[tuple[str, Any]]:
    kind, mode, owner, group, size, modified, name, target = row.groups()
    if name in (".", ".."):
        return
    is_operand = name in command.operands or name.startswith("/")
    path = shortened(name if is_operand or not folder or folder == "." else f"{folder.rstrip('/')}/{name}", command)
    top = place(path) if kind == "d" else fact_path("files", path)
    yield from ((f"{top}/modified", modified), (f"{top}/mode", mode), (f"{top}/owner", f"{owner}:{group}"))
    if kind == "d":
        yield f"{top}/path", path
        return
    if kind in _KINDS:
        yield f"{top}/kind", _KINDS[kind]
    if target:
        yield f"{top}/link", target
    elif kind == "-":
        yield (f"{top}/bytes", int(size)) if size.isdigit() and not command.has("-h") else (f"{top}/size", size)


def _count(path: str, lines: Sequence[str]) -> Told:
    found = re.fullmatch(r"\s*(\d{1,12})\s*", lines[0]) if lines else None
    return Told(1, {path: int(found.group(1))}) if found else Told(0, {})


def read_digests(command: Simple, lines: Sequence[str]) -> Told:
    """Return the digests that sha256sum, md5sum and their like printed."""
    facts: dict[str, Any] = {}
    used = 0
    for line in lines[:_MOST_FILES]:
        row = _DIGEST.match(line)
        short = _CUT_DIGEST.match(line) if row is None and any(stage[0] == "cut" for stage in command.pipes) else None
        if row is None and short is None:
            break
        if row is not None:
            facts[f"{fact_path('files', shortened(row.group(2), command))}/{_DIGESTS[len(row.group(1))]}"] = row.group(1)
        elif short is not None:
            facts[f"{fact_path('files', shortened(short.group(2), command))}/digest_begin"] = short.group(1)
        used += 1
    return Told(used, facts)


def read_wc(command: Simple, lines: Sequence[str]) -> Told:
    """Return the lines or bytes of files that ``wc -l`` or ``wc -c`` counted."""
    kind = "lines" if command.has("-l") else "bytes" if command.has("-c") else None
    facts: dict[str, Any] = {}
    used = 0
    for line in lines[:_MOST_FILES] if kind else ():
        row = _COUNTED.match(line)
        if row is None or not row.group(2):
            break
        if row.group(2) != "total":
            facts[f"{fact_path('files', shortened(row.group(2), command))}/{kind}"] = int(row.group(1))
        used += 1
    return Told(used, facts)


def read_du(command: Simple, lines: Sequence[str]) -> Told:
    """Return the sizes that ``du`` printed: bytes only with ``-b``, else the text."""
    facts: dict[str, Any] = {}
    used = 0
    for line in lines[:_MOST_FILES]:
        row = _USED.match(line)
        if row is None:
            break
        size, path = row.groups()
        top = place(shortened(path, command))
        facts.update({f"{top}/bytes": int(size)} if command.has("-b") and size.isdigit() and not command.has("-h") else {f"{top}/size": size})
        used += 1
    return Told(used, facts)


def read_find(command: Simple, lines: Sequence[str]) -> Told:
    """Return what ``find`` printed: a count, or rows of its ``-printf``; rows without a path tell the oldest and the newest."""
    folder = command.operands[0] if command.operands else "."
    if command.pipes and command.pipes[-1][0] == "wc":
        return _count(f"{place(folder)}/{'files' if 'f' in command.words else 'entries'}", lines)
    pattern = _format_of(command, "-printf")
    if pattern is None or any(stage[0] not in FILTERS for stage in command.pipes):
        return Told(0, {})
    rows = _rows(pattern, lines)
    if any("%P" in word for word in command.words):  # below the folder that was searched
        rows = [{**row, "path": f"{folder.rstrip('/')}/{row['path']}"} if "path" in row else row for row in rows]
    facts = dict(_of_rows(rows, command))
    dates = sorted(row["modified"] for row in rows if row.get("modified"))
    if dates and ("path" not in rows[0] or _holds_compiled(folder)):
        ends = [stage for stage in command.pipes if stage[0] in ("sed", "head", "tail")]
        is_sorted = any(stage[0] == "sort" for stage in command.pipes)
        facts.update(_oldest_and_newest(place(folder), dates, [" ".join(stage) for stage in ends], is_sorted=is_sorted))
        facts[f"{place(folder)}/path"] = folder
    is_read = bool(rows) or not any(line.strip() for line in lines)  # nothing found is an answer too
    return Told(len(rows), facts, tells_if_whole=tuple(_below(command)) if is_read else ())


def _holds_compiled(folder: str) -> bool:
    """Tell whether a folder is a cache of compiled code, whose age tells something: not one of downloads."""
    return place(folder).startswith("caches/") or ("cache" in folder.lower() and not _DOWNLOADS.search(folder.lower()))


def _below(command: Simple) -> Iterator[str]:
    """Yield the globs of the files that ``find`` shows whole: all below its folders, unless it was asked for some of them only."""
    tests = [word for word in command.words[1:] if word.startswith("-")]
    shown = command.words[command.words.index("-printf") + 1] if "-printf" in command.words[:-1] else ""
    if tests == ["-printf"] and "%p" in shown:
        folders = command.operands[:-1] or (".",)
        yield from (f"{fact_path('files', shortened(folder.rstrip('/'), command))}%2F*/*" for folder in folders)
    elif tests == ["-name", "-printf"] and re.search("%[pP]", shown) and re.fullmatch(r"\*[\w.-]+", name := command.words[command.words.index("-name") + 1]):
        yield f"{fact_path('files', shortened(command.operands[0].rstrip('/'), command))}%2F{name}/*"


def _oldest_and_newest(top: str, dates: Sequence[str], ends: Sequence[str], *, is_sorted: bool) -> dict[str, Any]:
    """Return the first and the last date, as far as what was cut away left them."""
    shows_first = not any(end.startswith("tail") for end in ends)
    shows_last = not any(end.startswith("head") for end in ends)
    if ends and not is_sorted:
        return {}
    return {**({f"{top}/oldest": dates[0]} if shows_first else {}), **({f"{top}/newest": dates[-1]} if shows_last else {})}


def read_stat(command: Simple, lines: Sequence[str]) -> Told:
    """Return what ``stat`` printed: its own layout, or the rows of ``-c``."""
    pattern = _format_of(command, "-c", "--format", "--printf")
    if pattern is not None:
        rows = _rows(pattern, lines)
        if rows and "path" not in rows[0] and len(rows) == len(command.operands) == 1:
            rows[0]["path"] = command.operands[0]
        return Told(len(rows), dict(_of_rows(rows, command)))
    facts: dict[str, Any] = {}
    top, used = "", 0
    for line in lines[:_MOST_FILES]:
        row = _STAT_ROW.match(line)
        if row and row.group(1) == "File":
            top = fact_path("files", shortened(row.group(2).split(" -> ")[0].strip("'\u2018\u2019"), command))
        elif row and top:
            facts.update(_stat_row(top, row.group(1), row.group(2)))
        elif not re.match(r"\s*(?:Device|Change|Birth|Context):|\s*\Z", line):
            break
        used += 1
    return Told(used if facts else 0, facts)


def _stat_row(top: str, name: str, text: str) -> dict[str, Any]:
    digits = re.match(r"\d+", text)
    mode = re.match(r"\((\d+)/", text)
    if name == "Size" and digits:
        return {f"{top}/bytes": int(digits.group())}
    if name == "Modify":
        return {f"{top}/modified": text}
    return {f"{top}/mode": mode.group(1)} if name == "Access" and mode else {}


def _format_of(command: Simple, *options: str) -> re.Pattern[str] | None:
    """Return the pattern of the rows that a format option asks for; None without one, or where it asks for what is not known here."""
    for at, word in enumerate(command.words):
        given = next((one for one in options if word == one or word.startswith(one + "=")), None)
        if given:
            text = word.partition("=")[2] if "=" in word else command.words[at + 1] if at + 1 < len(command.words) else ""
            return _pattern(text.replace("\\n", "").replace("\\t", "\t"))
    return None


def _pattern(text: str) -> re.Pattern[str] | None:
    pieces: list[str] = []
    seen: set[str] = set()
    while text:
        name = next((one for one in sorted(_DIRECTIVES, key=len, reverse=True) if text.startswith("%" + one)), None) if text[0] == "%" else None
        if text[0] == "%" and name is None:
            return None
        piece = _DIRECTIVES[name] if name else r"\s+" if text[0].isspace() else re.escape(text[0])
        group = re.match(r".*?\(\?P<(\w+)>", piece)
        if group and group.group(1) in seen:
            piece = piece.replace(f"?P<{group.group(1)}>", "?:")
        seen |= {group.group(1)} if group else set()
        pieces.append(piece)
        text = text[len(name) + 1:] if name else text[1:]
    return re.compile("".join(pieces) + r"\s*\Z") if seen else None


def _rows(pattern: re.Pattern[str], lines: Sequence[str]) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []
    for line in lines[:_MOST_FILES * 10]:
        found = pattern.match(line[:2000])
        if found is None:
            break
        rows.append({name: value for name, value in found.groupdict().items() if value})
    return rows


def _of_rows(rows: Sequence[Mapping[str, str]], command: Simple) -> Iterator[tuple[str, Any]]:
    for row in rows[:_MOST_FILES]:
        if "path" in row:
            top = fact_path("files", shortened(row["path"], command))
            yield from ((f"{top}/{name}", int(value) if name == "bytes" else value) for name, value in row.items() if name != "path")
