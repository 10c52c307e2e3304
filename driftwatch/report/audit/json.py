"""An audit as one JSON document (docs/audit.md, format 1)."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from driftwatch.report.audit.night import Night
from driftwatch.report.page import Page

FORMAT = 1


def render(night: Night, _page: Page) -> str:
    """Return the audit as JSON, the same bytes for the same audit."""
    return json.dumps(document(night), indent=1, ensure_ascii=True, sort_keys=False) + "\n"


def document(night: Night) -> dict[str, Any]:
    """Return the audit as JSON values: ``hosts`` are the rows, ``ways`` the ways of differing."""
    told = asdict(night)
    rows = told.pop("rows")
    return {"format": FORMAT, "kind": "driftwatch audit", **told, "hosts": rows, "elapsed_s": round(night.elapsed_s, 3)}
