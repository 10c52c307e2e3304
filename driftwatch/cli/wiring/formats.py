"""The report formats: one file ``report/NAME.py`` with ``render``, found by its text and imported only when it is asked for."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from driftwatch import report

if TYPE_CHECKING:
    from driftwatch.explain.explanation import Explanation
    from driftwatch.report.page import Page

FIRST = "text"
_RENDER = re.compile(r"^def render\(explanation", re.MULTILINE)


def report_formats() -> tuple[str, ...]:
    """Return the names of the formats, text first."""
    found = [path.stem for path in sorted(Path(report.__path__[0]).glob("*.py")) if _RENDER.search(path.read_text(encoding="utf-8"))]
    return tuple(sorted(found, key=lambda name: (name != FIRST, name)))


def load_render(name: str, *, is_whole: bool, is_brief: bool = False, has_weights: bool = False) -> Callable[[Explanation, Page], str]:
    """Return the function that renders a format, with those of the wishes that it knows: every change, only the findings, the weights too."""
    render: Callable[..., str] = importlib.import_module(f"{report.__name__}.{name}").render
    wishes = {"all_changes": is_whole, "is_brief": is_brief, "has_weights": has_weights}
    return partial(render, **{wish: True for wish, is_wanted in wishes.items() if is_wanted and wish in (render.__kwdefaults__ or {})})
