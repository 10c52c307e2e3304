"""Facts of a paste without secrets: a pasted secret is still one. Variables by their names, all else by names and known shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftwatch.agent.redact import Redactor
from driftwatch.agent.secret_names import is_harmless, is_secret_variable
from driftwatch.model import is_unknown

MOST_NAMES = 200
ENVIRONMENTS = ("env", "environ")


def left_out(facts: Mapping[str, Any], redactor: Redactor) -> int:
    """Return how many variables have names that are not among those that are shown."""
    parts = [path.split("/") for path in facts]
    return sum(len(one) > 1 and one[-2] in ENVIRONMENTS and not redactor.is_shown(one[-1]) for one in parts)


def masked(facts: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """Return the facts with every secret masked, also in their paths. Of a variable that is not listed the name alone is told, as a collector does."""
    found: dict[str, Any] = {}
    names: dict[str, list[str]] = {}
    for path, value in facts.items():
        *above, name = path.split("/")
        is_variable = bool(above) and above[-1] in ENVIRONMENTS
        if is_variable and not redactor.is_shown(name):
            names.setdefault("/".join([*above[:-1], "env_left_out"]), []).append(redactor.text(name))
            continue
        found[redactor.text(path)] = _variable(name, value, redactor) if is_variable else _value(name, value, redactor)
    return {**found, **{path: sorted(told)[:MOST_NAMES] for path, told in names.items()}}


def _variable(name: str, value: Any, redactor: Redactor) -> Any:
    if not isinstance(value, str):
        return value
    if is_secret_variable(name) and not is_harmless(name, value):
        return redactor.keyed(value)
    return redactor.text(value)


def _value(name: str, value: Any, redactor: Redactor) -> Any:
    return {**value, "reason": redactor.text(value["reason"])} if is_unknown(value) else redactor.argument(name, value)
