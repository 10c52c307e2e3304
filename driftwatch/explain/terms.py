"""Short ways to make evidence: every weight is looked up by its name in ``weights.py``, so that no rule holds a number of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Term
from driftwatch.explain.naming import names_file
from driftwatch.explain.weights import GROUP_OF, WEIGHTS
from driftwatch.explain.words import command


def term(name: str, says: str, facts: Iterable[str] = ()) -> Term:
    """Return a term whose weight stands under ``name`` in the table."""
    return Term(says, WEIGHTS[name], tuple(facts), GROUP_OF[name])


def before_unknown(case: Case, what: str, *facts: str) -> tuple[Term, ...]:
    """Return what it takes from a thing of the bad side that the good side does not tell whether it was so there; nothing where all these facts are known."""
    if all(case.known(fact) is not None for fact in facts):
        return ()
    return (term("before unknown", f"whether {what} on the good side is not known", facts),)


def file_terms(case: Case, path: str, facts: Iterable[str]) -> tuple[Term, ...]:
    """Return that the error text names a file, or else that its traceback passes through it; nothing where neither does."""
    if names_file(case.text, path):
        return (term("named in the error", f"the error text names {path.rsplit('/', 1)[-1]}", facts),)
    if names_file(case.trace, path):
        return (term("file in the traceback", f"the traceback passes through {path.rsplit('/', 1)[-1]}", facts),)
    return ()


def mark(good: Any, bad: Any) -> str:
    """Return ``+`` for a thing that is new, ``-`` for one that is gone, else ``~``."""
    return "+" if good is None else "-" if bad is None else "~"


def python_of(case: Case) -> str:
    """Return the interpreter that the bad side's facts are of, ``python3`` where none is told."""
    for target in case.bad.targets:
        if isinstance(target.get("python"), str) and target["python"]:
            return str(target["python"])
    found = case.value("bad", "python/executable")
    return found if isinstance(found, str) and found else "python3"


def pip(case: Case, *words: str) -> str:
    """Return a pip command line for the serving interpreter, by uv where uv installed its packages."""
    python = python_of(case)
    if "uv" in case.installers:
        return command(["uv", "pip", words[0], "--python", python, *words[1:]])
    return command([python, "-m", "pip", *words])
