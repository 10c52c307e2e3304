"""Locks left in caches of compiled code: a builder that was killed leaves its lock, and whoever needs that build waits for it without end.

Only files called ``lock`` count, which torch's extension builder removes when it is done (torch/utils/file_baton.py); ``*.lock`` files stay by design.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.agent.cache_places import PLACES
from driftwatch.agent.cache_walk import LOCK
from driftwatch.explain.case import Case, SideName
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.memory_groups import LOG
from driftwatch.explain.pairs import logged_more
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import term
from driftwatch.explain.words import command, shorten
from driftwatch.model import Known, plain

_WAITS = re.compile(r"file_baton|filelock/|\b[Ww]aiting (?:for|to acquire) (?:the |a )?(?:\w+ )?lock\b")
_KILLED = re.compile(r"\((cc1plus|cc1|cudafe\+\+|cicc|ptxas|nvcc|ninja|ld|lld|clang|clang\+\+|g\+\+|as)\)")  # compilers, by the kernel's name of a task
_FOLDERS = tuple(rule.lstrip("~") for rules in PLACES.values() for rule in rules.split() if rule.startswith("~"))


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each lock in a cache that the good side did not tell of."""
    before = dict(_locks(case, "good"))
    for path, fact in _locks(case, "bad"):
        if path not in before:
            yield Evidence(Subject("cache", path), tuple(_terms(case, path, fact)), _wording(path))


def _locks(case: Case, side: SideName) -> Iterator[tuple[str, str]]:
    """Yield the locks of a side, path and fact: those that the caches tell, and those that a listing of files shows in the folder of a cache."""
    for fact, value in case.below(side, "caches"):
        if fact.endswith("/lock_files") and isinstance(value, list):
            top = case.value(side, fact.rpartition("/")[0] + "/path")
            yield from ((f"{top}/{name}", fact) for name in value)
    for fact, value in case.below(side, "files"):
        path = plain(fact.split("/")[1])
        if fact.endswith("/bytes") and value == 0 and path.endswith(f"/{LOCK}") and any(f"{folder}/" in path for folder in _FOLDERS):
            yield path, fact


def _terms(case: Case, path: str, fact: str) -> Iterator[Term]:
    yield term("lock left", f"{path} lies there: a builder makes it and removes it when it is done", (fact,))
    if not isinstance(case.good.get(fact), Known):
        yield term("open", "whether it lay there on the good side is not known", (fact,))
    killed = [name for line in logged_more(case, LOG) for name in _KILLED.findall(line)]
    if killed:
        yield term("builder was killed", f"the kernel killed {killed[0]}, which builds: who is killed takes no lock away", (LOG,))
    if _WAITS.search(f"{case.text}\n{case.trace}"):
        yield term("text fits", "the code that was running waits for a lock", (fact,))


def _wording(path: str) -> Wording:
    verdict = f"A lock was left in a cache, {shorten(path, 200)}: whoever needs that build waits for it."
    commands = (
        Command("confirm", command(["fuser", "-v", path]), "nobody who builds there holds it, and it does not go away"),
        Command("try", command(["mv", path, f"{path}.aside"]), "then start the server"),
        Command("undo", command(["mv", f"{path}.aside", path])),
    )
    return Wording("cache", path, "+", None, "left there", verdict, commands=commands)


RULES = (Rule("cache_locked", needs=(), weigh=weigh, blames=("cache",)),)
