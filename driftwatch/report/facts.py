"""Facts as lines of ``path  value``: one fact, one line, made for grep. The value is whole, so a line may be wider than the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftwatch.model import answer, is_unknown
from driftwatch.report.page import Page
from driftwatch.report.words import absent_word, say_status, say_value


def render_facts(facts: Mapping[str, Any], page: Page) -> str:
    """Return the facts in the order of their paths; a fact that could not be read shows ``?``, its status and why."""
    return "".join(f"{page.say(path)}  {_value(path, facts[path], page)}\n" for path in sorted(facts))


def _value(path: str, value: Any, page: Page) -> str:
    if not is_unknown(value):
        return page.say(say_value(value, absent=absent_word(path), limit=None))
    found = answer(value)
    reason = getattr(found, "reason", "")
    shown = page.say(f"? {say_status(str(value['unknown']))}{': ' if reason else ''}{reason}")
    return page.paint("unknown", shown)
