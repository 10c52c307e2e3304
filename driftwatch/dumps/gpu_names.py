"""GPUs of tools that give an index and a name, but no UUID: paths ``gpus/index-N/…``. Pure text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from driftwatch.agent.probe import fact_path
from driftwatch.model import Unknown

_UUID = re.compile(r"\s*\(UUID:?[^)]{0,80}\)?\s*\Z")


def index_facts(indices: Iterable[str], key: str, value: str, *, is_cut: bool = False) -> dict[str, Any]:
    """Return one fact of each of several GPUs; a value at a cut end is unknown, for the rest of it may be missing."""
    told = Unknown("error", f"the text ends in its row, at {value[:60]!r}") if is_cut else _UUID.sub("", value).strip()
    return {fact_path("gpus", f"index-{int(index[:6])}", key): told for index in indices}
