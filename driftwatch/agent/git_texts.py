"""The texts that git prints and keeps, understood; and the variables with which it may be asked on a foreign machine. Asks nothing itself."""
from __future__ import annotations

import re
from datetime import datetime, timezone

from .dist_metadata import without_userinfo
from .probe import Unreadable
from .typed import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

FIXED = {
    "safe.directory": "*", "core.fsmonitor": "", "core.hooksPath": "/dev/null", "protocol.allow": "never", "log.showSignature": "false",
    "core.quotePath": "true", "color.ui": "false", "color.diff": "false", "status.showUntrackedFiles": "normal", "diff.ignoreSubmodules": "dirty",
    "diff.noprefix": "false", "diff.mnemonicPrefix": "false", "diff.srcPrefix": "a/", "diff.dstPrefix": "b/", "diff.renames": "true", "diff.relative": "false",
    "diff.autoRefreshIndex": "false",
}
QUIET = {
    "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_PAGER": "cat", "GIT_TRACE": "0", "GIT_TRACE2": "0",
    "GIT_TRACE2_EVENT": "0", "GIT_TRACE2_PERF": "0",
}
_UNQUOTED = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}


class Status(NamedTuple):
    """What ``git status --porcelain=v2 --branch`` says; None where a thing is not there. ``files``: path -> git's two letters."""

    head: Optional[str]
    branch: Optional[str]
    upstream: Optional[str]
    ahead: Optional[int]
    behind: Optional[int]
    files: Dict[str, str]


def safe_env(root: str, filters: Sequence[str]) -> Dict[str, str]:
    """Return the variables under which git takes no lock, asks nobody, runs no monitor, hook or filter, and fetches nothing."""
    config = list(FIXED.items())
    for name in filters:
        config += [("filter.%s.%s" % (name, verb), "") for verb in ("clean", "smudge", "process")] + [("filter.%s.required" % name, "false")]
    env = dict(QUIET, GIT_DIR=root + "/.git", GIT_WORK_TREE=root, GIT_CONFIG_COUNT=str(len(config)))
    for number, (key, value) in enumerate(config):
        env["GIT_CONFIG_KEY_%d" % number] = key
        env["GIT_CONFIG_VALUE_%d" % number] = value
    return env


def parse_filters(text: str) -> List[str]:
    """Return the names of all filters that ``git config -z --list`` shows, sorted."""
    keys = (entry.partition("\n")[0] for entry in text.split("\0"))
    return sorted({key[len("filter."):].rpartition(".")[0] for key in keys if key.lower().startswith("filter.") and key.count(".") > 1})


def parse_status(text: str) -> Status:
    """Return what the status says; Unreadable where it has no header."""
    headers: Dict[str, str] = {}
    files: Dict[str, str] = {}
    for line in text.split("\n"):
        if line.startswith("# "):
            key, _, value = line[2:].partition(" ")
            headers[key] = value
        elif line:
            path, code = _entry(line)
            files[path] = code
    if "branch.oid" not in headers:
        raise Unreadable("git status: no branch.oid in %r" % text[:80])
    ahead, behind = _counts(headers.get("branch.ab", ""))
    head = headers["branch.oid"]
    return Status(None if head == "(initial)" else head, headers.get("branch.head"), headers.get("branch.upstream"), ahead, behind, files)


def _counts(text: str) -> Tuple[Optional[int], Optional[int]]:
    found = re.match(r"\+(\d+) -(\d+)\Z", text)
    return (int(found.group(1)), int(found.group(2))) if found else (None, None)


def _entry(line: str) -> Tuple[str, str]:
    """Return path and letters of one line: ``1`` changed, ``2`` renamed (path, tab, old path), ``u`` unmerged, ``?`` untracked."""
    kind = line[0]
    if kind == "?":
        return unquoted(line[2:]), "??"
    fields = {"1": 8, "2": 9, "u": 10}.get(kind)
    pieces = line.split(" ", fields or 1)
    if fields is None or len(pieces) <= fields:
        raise Unreadable("git status: a line that makes no sense: %r" % line[:80])
    return unquoted(pieces[fields].partition("\t")[0]), pieces[1]


def unquoted(text: str) -> str:
    """Return a path as it is, where git quoted it like a C string."""
    if not (text.startswith('"') and text.endswith('"') and len(text) > 1):
        return text
    parts = re.split(r"\\([0-7]{3}|.)", text[1:-1])
    data = b""
    for plain, escaped in zip(parts[::2], [*parts[1::2], ""]):
        data += plain.encode("utf-8", "surrogateescape")
        if escaped:
            data += bytes([int(escaped, 8) & 255 if escaped[0] in "01234567" else _UNQUOTED.get(escaped, ord(escaped) & 255)])
    return data.decode("utf-8", "surrogateescape")


def parse_committed_at(text: str) -> str:
    """Return the commit time of ``git log -1 --format=%H %cI`` as ISO in UTC."""
    words = text.split()
    if len(words) != 2:
        raise Unreadable("git log: no commit and time in %r" % text[:80])
    try:
        moment = datetime.fromisoformat(words[1].replace("Z", "+00:00"))
    except ValueError as broken:
        raise Unreadable("git log: %s" % broken) from None
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_head(text: str) -> str:
    """Return the ref that a HEAD file names, else the commit."""
    return text.strip().partition("ref:")[2].strip() or text.strip()


def parse_packed(text: str, ref: str) -> Optional[str]:
    """Return the commit of a ref in packed-refs, or None."""
    found = re.search(r"^([0-9a-f]{40,64}) %s$" % re.escape(ref), text, re.MULTILINE)
    return found.group(1) if found else None


def parse_remotes(text: str) -> Dict[str, str]:
    """Return the URL of each remote in a git config file, user and password taken out."""
    remotes: Dict[str, str] = {}
    name = None
    for line in text.split("\n"):
        section = re.match(r'\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]\s*(.*)', line)
        if section:
            name = re.sub(r"\\(.)", r"\1", section.group(2)) if section.group(1).lower() == "remote" and section.group(2) else None
            line = section.group(3)  # noqa: PLW2901  # a value may stand behind the name of its section
        found = re.match(r"\s*url\s*=\s*(.*)", line, re.IGNORECASE)
        if found and name:
            remotes.setdefault(name, without_userinfo(found.group(1).strip().strip('"')))
    return remotes


def parse_diff(text: str) -> Dict[str, Optional[str]]:
    """Return for each file of a ``git diff`` what alone differs: ``line-ends``, ``encoding`` or ``whitespace``; None where more does."""
    found: Dict[str, Optional[str]] = {}
    for block in re.split(r"^diff --git ", text, flags=re.MULTILINE)[1:]:
        header, at, body = block.partition("\n@@")
        path = _path_of(header)
        if path:
            found[path] = only(list(_changes(at[1:] + body))) if at else None
    return found


def _path_of(header: str) -> Optional[str]:
    """Return the path that a file has now, else the one it had."""
    for mark in ("+++ ", "--- "):
        named = re.search("^" + re.escape(mark) + "(.*)$", header, re.MULTILINE)
        path = unquoted(named.group(1).rstrip("\t")) if named else "/dev/null"
        if path != "/dev/null":
            return path[2:]
    return None


def _changes(body: str) -> Iterator[Tuple[List[str], List[str]]]:
    """Yield the lines taken out and put in at each place of a file's diff."""
    out: List[str] = []
    put: List[str] = []
    for line in body.split("\n"):
        if line.startswith("-"):
            out.append(line[1:])
        elif line.startswith("+"):
            put.append(line[1:])
        elif not line.startswith("\\") and (out or put):
            yield out, put
            out, put = [], []
    if out or put:
        yield out, put


def only(changes: Sequence[Tuple[List[str], List[str]]]) -> Optional[str]:
    """Return the one kind of difference that explains every change, or None."""
    for kind, flattened in (("line-ends", _no_line_ends), ("encoding", _one_encoding), ("whitespace", _no_whitespace)):
        if changes and all(flattened(out) == flattened(put) for out, put in changes):
            return kind
    return None


def _no_line_ends(lines: List[str]) -> List[str]:
    return [line.rstrip("\r") for line in lines]


def _one_encoding(lines: List[str]) -> List[str]:
    """Return the lines with a byte order mark dropped and, where bytes are no UTF-8, all of them read as Latin-1."""
    is_foreign = any(re.search("[\udc80-\udcff]", line) for line in lines)
    read = [line.encode("utf-8", "surrogateescape").decode("latin-1") for line in lines] if is_foreign else lines
    return [line.replace("\ufeff", "") for line in read]


def _no_whitespace(lines: List[str]) -> List[str]:
    return ["".join("".join(lines).split())]
