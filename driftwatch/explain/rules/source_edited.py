"""Source files of the server whose bytes moved, and trees of which files were only touched. A file that an upgrade brought is the upgrade's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from driftwatch.compare.change import Change
from driftwatch.explain.case import SIDES, Case
from driftwatch.explain.effect_time import out_of_order
from driftwatch.explain.explanation import Command, RuledOut, Subject, Term
from driftwatch.explain.pairs import values
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import file_terms, mark, term
from driftwatch.explain.words import command, count, listed, shorten, utc_minute
from driftwatch.model import Known, plain

_OF_SYMPTOM = {
    "oom": re.compile(r"mem_cache|memory|model_runner|alloc|kv_cache|pool|server_args"),
    "slow": re.compile(r"layers|attention|kernel|schedul|config|cuda_graph|moe|quant"),
    "hang": re.compile(r"distributed|parallel|communicat|schedul|all_?reduce"),
    "wrong-output": re.compile(r"layers|attention|quant|models|sampl|moe|kernel"),
    "accuracy": re.compile(r"layers|attention|quant|models|sampl|moe|kernel"),
    "startup-crash": re.compile(r"launch|server_args|model_loader|configs?|models|entrypoint"),
    "import-error": re.compile(r"__init__\.py|version\.py"), "runtime-crash": re.compile(r"layers|models|schedul|manager|kernel"),
}
_NEVER_IMPORTED = re.compile(r"(?:.*/)?(?:tests?|docs?|benchmarks?|examples?)/.*|.*\.(?:md|rst|txt|ipynb|log|orig|rej|bak|swp)|(?:.*/)?\.[^/]*")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each file whose bytes moved, and each tree that is the same to the byte."""
    blanks = _blanks_only(case)
    for change in case.moved("sources/*/files/*"):
        yield _edited(case, change, blanks)
    for key in case.families("sources"):
        yield from _same_tree(case, key)


def _place(case: Case, key: str, relative: str) -> str:
    root = case.value("bad", f"sources/{key}/root") or case.value("good", f"sources/{key}/root")
    return f"{root.rstrip('/')}/{relative}" if isinstance(root, str) and root else f"{key}/{relative}"


def _blanks_only(case: Case) -> dict[tuple[str, str], tuple[str, str]]:
    """Return what alone differs in a file from its commit, with the fact that tells it, by key and file name."""
    found = {}
    for path, value in case.below("bad", "git"):
        parts = path.split("/", 3)
        if len(parts) > 3 and parts[2] == "files" and isinstance(value, dict) and value.get("only"):
            found[parts[1], plain(parts[3]).rsplit("/", 1)[-1]] = (str(value["only"]), path)
    return found


def _edited(case: Case, change: Change, blanks: dict[tuple[str, str], tuple[str, str]]) -> Evidence:
    _, key, _, relative = change.path.split("/", 3)
    relative = plain(relative)
    path = _place(case, key, relative)
    good, bad = map(_digest, values(change))
    verdict = f"{shorten(path)} was {'added' if good is None else 'removed' if bad is None else 'edited'}."
    commands = (Command("look", command(["ls", "-l", "--time-style=full-iso", path])),) if path.startswith("/") else ()
    wording = Wording("source file", path, mark(good, bad), good, bad, verdict, commands=commands)
    at = case.value("bad", f"sources/{key}/times/{change.path.split('/', 3)[3]}")
    late = out_of_order(case, at[0] if isinstance(at, list) and at else None, (change.path,))
    terms = (*_terms(case, change, relative), *late, *_only(blanks.get((key, relative.rsplit("/", 1)[-1])), relative))
    return Evidence(Subject("file", path), terms, wording)


def _only(told: tuple[str, str] | None, relative: str) -> Iterator[Term]:
    if told is not None and _ends_alike(plain(told[1].split("/", 3)[3]), relative):
        yield term("blanks only", f"it differs from its commit only in {told[0]}", (told[1],))


def _digest(value: Any) -> Any:
    """Return a stored ``sha256:HEX SIZE`` in short."""
    return re.sub(r"^(sha256:[0-9a-f]{8})[0-9a-f]+ (\d+)$", r"\1… \2 bytes", value) if isinstance(value, str) else value


def _terms(case: Case, change: Change, relative: str) -> Iterator[Term]:
    facts = (change.path,)
    yield term("source edited", "its bytes are not those of the good side", facts)
    if _NEVER_IMPORTED.fullmatch(relative):
        yield term("never imported", "the server never imports it", facts)
    fitting = _OF_SYMPTOM.get(case.klass or "")
    if fitting is not None and fitting.search(relative):
        yield term("edited for the symptom", "its path is of the part that the symptom shows in", facts)
    yield from file_terms(case, relative, facts)


def _ends_alike(one: str, other: str) -> bool:
    return one == other or one.endswith("/" + other) or other.endswith("/" + one)


def _same_tree(case: Case, key: str) -> Iterator[Finding]:
    """Yield that a tree is the same, file by file, where every file is known on both sides."""
    top = f"sources/{key}/"
    if case.has_moved(top + "files/*"):
        return
    files = {path for side in SIDES for path, _ in case.under(side, top + "files")}
    if not files or case.unanswered("bad", top + "files") is not None or any(not _is_equal(case, path) for path in files):
        return
    if case.is_open_below(f"sources/{key}", "probes/sources"):
        return
    says = f"{count(len(files), 'file')}, the same digests on both sides"
    touched = _touched(case, top)
    if touched:
        says += f"; {touched}"
    has_tree = case.known(top + "tree") not in (None, (None, None))
    yield RuledOut(Subject("file", f"{key} sources"), says, (top + "tree",) if has_tree else tuple(sorted(files)[:50]))


def _is_equal(case: Case, path: str) -> bool:
    both = case.known(path)
    return both is not None and both[0] == both[1]


def _touched(case: Case, top: str) -> str:
    """Return which files have another time but the same bytes, and when they were touched."""
    times = [change for change in case.changes if change.path.startswith(top + "times/") and change.kind == "changed" and isinstance(change.bad, Known)]
    names = [plain(change.path.rsplit("/", 1)[1]).rsplit("/", 1)[-1] for change in times]
    if not times:
        return ""
    first = times[0].bad.value if isinstance(times[0].bad, Known) else None
    at = utc_minute(first[0]) if isinstance(first, list) and first else ""
    return f"{listed(names, 2)} {'was' if len(names) == 1 else 'were'} touched{' at ' + at if at and len(names) == 1 else ''} but byte for byte the same"


RULES = (Rule("source_edited", needs=("sources/*/files",), weigh=weigh, blames=("file",)),)
