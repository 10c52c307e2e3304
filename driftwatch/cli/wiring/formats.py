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
WHOLE = "all_changes"
_RENDER = re.compile(r"^def render\(explanation", re.MULTILINE)


def report_formats() -> tuple[str, ...]:
    """Return the names of the formats, text first."""
    found = [path.stem for path in sorted(Path(report.__path__[0]).glob("*.py")) if _RENDER.search(path.read_text(encoding="utf-8"))]
    return tuple(sorted(found, key=lambda name: (name != FIRST, name)))


def load_render(name: str, *, is_whole: bool) -> Callable[[Explanation, Page], str]:
    """Return the function that renders a format; with ``is_whole`` every change is shown, where the format leaves any out."""
    render: Callable[..., str] = importlib.import_module(f"{report.__name__}.{name}").render
    return partial(render, all_changes=True) if is_whole and WHOLE in (render.__kwdefaults__ or {}) else render
