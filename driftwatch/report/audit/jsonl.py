"""An audit as JSON lines: one a host, for whatever reads logs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from driftwatch.report.audit.night import Night, Way
from driftwatch.report.page import Page


def render(night: Night, _page: Page) -> str:
    """Return one line a host, with the audit's time and baseline, the first suspect and the marks of its way."""
    ways = {way.letter: way for way in night.ways}
    lines = []
    for row in night.rows:
        way = ways.get(row.way)
        told = {} if way is None else {"says": way.says, "cells": dict(way.cells), **_lists(way)}
        lines.append(json.dumps({"at": night.began_at, "against": night.against, **asdict(row), **told}, ensure_ascii=True))
    return "".join(line + "\n" for line in lines)


def _lists(way: Way) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, tuple[Any, ...]] = {"told_suspects": way.suspects, "told_differences": way.differences, "told_unanswered": way.silent}
    return {key: [asdict(one) for one in told] for key, told in found.items()}
