"""The formats of an audit: one file ``report/audit/NAME.py`` with ``render(night``, found by its text and imported only when it is asked for."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from driftwatch.cli.wiring.desk import Desk
from driftwatch.report import audit
from driftwatch.report.audit.night import Night
from driftwatch.report.page import Page

FIRST = "text"
WHOLE = "is_whole"
_RENDER = re.compile(r"^def render\(night", re.MULTILINE)


def night_formats() -> tuple[str, ...]:
    """Return the names of the formats, text first."""
    found = [path.stem for path in sorted(Path(audit.__path__[0]).glob("*.py")) if _RENDER.search(path.read_text(encoding="utf-8"))]
    return tuple(sorted(found, key=lambda name: (name != FIRST, name)))


FORMATS = night_formats()


def load_render(name: str, *, is_whole: bool) -> Callable[[Night, Page], str]:
    """Return the function that renders a format; with ``is_whole`` each host has a row, where the format leaves any out."""
    render: Callable[..., str] = importlib.import_module(f"{audit.__name__}.{name}").render
    return partial(render, is_whole=True) if is_whole and WHOLE in (render.__kwdefaults__ or {}) else render


def is_quiet(night: Night, desk: Desk) -> bool:
    """Tell whether nothing is to be printed: with -q, a night of text without a finding says nothing, so that cron sends no mail."""
    return desk.given.quiet and desk.given.format == FIRST and night.exit_code == 0
