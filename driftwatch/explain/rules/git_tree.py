"""Checkouts: another commit, edits that came or that are gone. An untracked file that nothing imports is told, and weighs next to nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from driftwatch.compare.change import Change
from driftwatch.explain.case import Case, SideName
from driftwatch.explain.explanation import Command, RuledOut, Subject, Term
from driftwatch.explain.pairs import values
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import file_terms, term
from driftwatch.explain.words import command, count, listed, show
from driftwatch.model import Known, plain

_IMPORTED = re.compile(r".*\.(?:py|pyi|so|json|cu|cuh|h|hpp|cpp|toml|cfg|pth)")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each checkout whose commit moved."""
    for key in case.families("git"):
        head = next(case.moved(f"git/{key}/head"), None)
        if head is not None:
            says = f"another commit: {_short(head.good)} → {_short(head.bad)}"
            terms = (term("head moved", says, (head.path,)), *_between(case, head), *_in_trace(case, key, head))
            yield Evidence(Subject("git", _root(case, key)), terms, _wording(case, key, head))


def weigh_edits(case: Case) -> Iterator[Finding]:
    """Yield each checkout whose edits moved, and each whose commit is the same."""
    for key in case.families("git"):
        head = next(case.moved(f"git/{key}/head"), None)
        files = list(case.moved(f"git/{key}/files/*"))
        dirty = next((change for change in case.moved(f"git/{key}/dirty") if None not in values(change)), None)
        terms = tuple(_edits(case, key, [*files, *([dirty] if dirty is not None else [])]))
        if terms:
            yield Evidence(Subject("git", _root(case, key)), terms, _wording(case, key, head))
        yield from _same_commit(case, key, files)


def weigh_submodules(case: Case) -> Iterator[Finding]:
    """Yield the submodules that stand at another commit; the commit of the tree around them may be the same."""
    for change in case.moved("git/*/submodules/*"):
        name, root = plain(change.path.rsplit("/", 1)[1]), _root(case, change.path.split("/")[1]).rstrip("/")
        good, bad = values(change)
        terms = [term("head moved", f"its submodule {name} stands at another commit: {show(good)} → {show(bad)}", (change.path,))]
        place = f"{root}/{name}/" if root.startswith("/") else f"/{name}/"
        if place in case.text or place in case.trace:
            terms.append(term("path named", f"the error names a file in {name}", (change.path,)))
        commands = (
            Command("confirm", command(["git", "-C", root, "submodule", "status"])),
            Command("try", command(["git", "-C", root, "submodule", "update", "--init", "--", name]), "checks out what the tree asks for"),
        )
        verdict = f"The submodule {name} of {root} stands at another commit: {show(good)} → {show(bad)}."
        wording = Wording("checkout", f"{root}/{name}", "~", show(good), show(bad), verdict, commands=commands)
        yield Evidence(Subject("git", f"{root}/{name}"), tuple(terms), wording)


def _root(case: Case, key: str) -> str:
    root = case.value("bad", f"git/{key}/root") or case.value("good", f"git/{key}/root")
    return root if isinstance(root, str) and root else key


def _in_trace(case: Case, key: str, head: Change) -> Iterator[Term]:
    """Yield that the traceback ends in a file of the checkout, or goes through some."""
    root = _root(case, key).rstrip("/") + "/"
    if root.startswith("/") and root in case.trace:
        is_last = root in case.trace.rstrip().rpartition("\n")[2]
        says = "the traceback ends in a file of it" if is_last else "the traceback goes through files of it"
        yield term("file in the traceback" if is_last else "in the traceback", says, (head.path,))


def _edits(case: Case, key: str, changes: list[Change]) -> Iterator[Term]:
    facts = tuple(change.path for change in changes)
    if not facts:
        return
    tracked = [change for change in changes if not _is_idle(change)]
    if not tracked:
        yield term("untracked only", f"only untracked files that nothing imports: {listed(_name(path) for path in facts)}", facts)
    else:
        names = listed(_name(change.path) for change in tracked if "/files/" in change.path) or "in which files is not told"
        is_gone = _is_gone(case, key, tracked)
        says = f"{'uncommitted edits of the good side are gone' if is_gone else 'edits that are in no commit'}: {names}"
        yield term("edits gone" if is_gone else "edits came", says, facts)
    yield from next((named for change in tracked if (named := file_terms(case, _name(change.path), (change.path,)))), ())
    if tracked and all(_only(change) for change in tracked):
        yield term("blanks only", f"they differ from the commit only in {' and '.join(sorted({str(_only(change)) for change in tracked}))}", facts)


def _between(case: Case, head: Change) -> Iterator[Term]:
    """Yield what the user's clone tells of the commits between: how many, their first lines, and whether the error names a file that they touched."""
    good, bad = (side.value if isinstance(side, Known) and isinstance(side.value, str) else "" for side in (head.good, head.bad))
    commits = case.commits.get((good, bad), ())
    if not commits:
        return
    yield term("moved", f"{count(len(commits), 'commit')} between: {listed(f'{one.id[:10]} {one.subject}' for one in commits)}", (head.path,))
    for commit in commits:
        named = [path for path in commit.files if path.rsplit("/", 1)[-1] in case.text]
        if named:
            yield term("edited for the symptom", f"the error names {named[0]}, which {commit.id[:10]} touched", (head.path,))
            return


def _name(path: str) -> str:
    return plain(path.rsplit("/", 1)[1])


def _short(side: Any) -> str:
    return show(side.value)[:12] if isinstance(side, Known) else "not known"


def _entries(change: Change) -> list[dict[str, Any]]:
    return [side.value for side in (change.bad, change.good) if isinstance(side, Known) and isinstance(side.value, dict)]


def _is_idle(change: Change) -> bool:
    """Tell whether a change is an untracked file of a kind that no server imports."""
    entries = _entries(change)
    untracked = bool(entries) and all(str(entry.get("status", "")).strip(" ?").lower() in ("", "untracked") for entry in entries)
    return untracked and _IMPORTED.fullmatch(_name(change.path)) is None


def _only(change: Change) -> Any:
    entries = _entries(change)
    return entries[0].get("only") if entries else None


def _is_gone(case: Case, key: str, tracked: list[Change]) -> bool:
    dirty = case.known(f"git/{key}/dirty")
    return all(change.kind == "removed" for change in tracked) or dirty == (True, False)


def _state(case: Case, side: SideName, key: str) -> str:
    dirty = case.value(side, f"git/{key}/dirty")
    many = len(case.under(side, f"git/{key}/files"))
    return f"{count(many, 'file')} not as committed" if many else "not known" if dirty is None else "dirty" if dirty else "clean"


def _wording(case: Case, key: str, head: Change | None) -> Wording:
    root = _root(case, key)
    look = Command("confirm", command(["git", "-C", root, "status", "--short", "--branch"])) if root.startswith("/") else None
    commands: tuple[Command, ...] = (look,) if look is not None else ()
    if head is not None:
        good, bad = values(head)
        if root.startswith("/") and isinstance(good, str) and isinstance(bad, str):
            commands += (Command("look", command(["git", "-C", root, "log", "--oneline", f"{good[:12]}..{bad[:12]}"]), "the commits between"),)
            commands += (Command("try", command(["git", "-C", root, "switch", "--detach", good]), "then start the server"),)
        verdict = f"{root} is at another commit, {_short(head.good)} → {_short(head.bad)}."
        return Wording("checkout", f"{root}, commit", "~", good, bad, verdict, commands=commands)
    good, bad = _state(case, "good", key), _state(case, "bad", key)
    return Wording("checkout", root, "~", good, bad, f"The working tree of {root} moved: {good} → {bad}.", commands=commands)


def _same_commit(case: Case, key: str, files: list[Change]) -> Iterator[Finding]:
    """Yield that a checkout is at the same commit, where its edits are the same too or reach nothing."""
    head, dirty = case.known(f"git/{key}/head"), case.known(f"git/{key}/dirty")
    if head is None or head[0] is None or head[0] != head[1] or dirty is None or not all(_is_idle(change) for change in files):
        return
    if case.is_open_below(f"git/{key}", "probes/git"):
        return
    if dirty[0] != dirty[1] and not files:
        return
    untracked = f"other untracked files: {listed(_name(change.path) for change in files)}"
    edits = untracked if files else "the same edits" if any(dirty) else "clean"
    says = f"commit {show(head[0])[:12]} on both sides, {edits}"
    yield RuledOut(Subject("git", f"git head of {_root(case, key)}"), says, (f"git/{key}/head", f"git/{key}/dirty"))


RULES = (
    Rule("git_edits", needs=("git/*/dirty",), weigh=weigh_edits, blames=("git",)),
    Rule("git_submodules", needs=(), weigh=weigh_submodules, blames=("git",)),
    Rule("git_tree", needs=("git/*/head",), weigh=weigh, blames=("git",)),
)
