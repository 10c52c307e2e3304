"""Where rules come from: the folder ``rules/``, the entry-point group ``driftwatch.rules`` of installed packages, and those that the caller brings."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from typing import Any

from driftwatch.explain import rules as folder
from driftwatch.explain.rule import ExplainError, Rule

GROUP = "driftwatch.rules"


def load_rules(extra: Iterable[Rule] = (), *, has_entry_points: bool = True) -> tuple[Rule, ...]:
    """Return all rules, our own first, in the order of their file names. Raises ExplainError where one is none or a name is taken twice."""
    found = [*_own(), *(_of_others() if has_entry_points else ()), *extra]
    names = [rule.name for rule in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ExplainError(f"two rules are named {twice!r}: rename one of them")
    return tuple(found)


def rules_of(module: Any, where: str) -> Iterator[Rule]:
    """Yield the rules of a module's ``RULES``, or of a value that is a rule or holds some. Raises ExplainError where it holds anything else."""
    offered = getattr(module, "RULES", module)
    for one in (offered,) if isinstance(offered, Rule) else offered if isinstance(offered, (tuple, list)) else (None,):
        if not isinstance(one, Rule):
            raise ExplainError(f"{where} offers no rules: it needs RULES = (Rule(...), ...)")
        yield one


def _own() -> Iterator[Rule]:
    for module in sorted(pkgutil.iter_modules(folder.__path__), key=lambda found: found.name):
        name = f"{folder.__name__}.{module.name}"
        yield from rules_of(importlib.import_module(name), name)


def _of_others() -> Iterator[Rule]:
    from importlib_metadata import entry_points  # noqa: PLC0415  only a diff asks for it: it costs start-up time elsewhere

    for point in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        where = f"entry point {point.name} = {point.value}"
        try:
            loaded = point.load()
        except (Exception, SystemExit) as wrong:
            raise ExplainError(f"{where} cannot be loaded: {type(wrong).__name__}: {wrong}") from wrong
        yield from rules_of(loaded, where)
