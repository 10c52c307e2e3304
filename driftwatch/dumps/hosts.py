"""Several dumps of one tool in one paste: of one host, or of two? Where they contradict each other in what makes a host, nothing is mixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

TOOLS = ("sglang-check-env", "torch-collect-env", "vllm-collect-env", "flashinfer-collect-env", "transformers-env")
TELLING = frozenset({
    "torch/version", "python/version", "kernel/release", "driver/version", "os/name", "packages/sglang/version", "packages/vllm/version", "gpus/index-0/name",
})


def told_by_some(dumps: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, dict[str, str]]:
    """Return as open what only some of a tool's dumps tell, where those dumps contradict each other. ``dumps``: the tool's name and its facts."""
    found: dict[str, dict[str, str]] = {}
    for tool in TOOLS:
        mine = [facts for name, facts in dumps if name == tool and facts]
        shared = set(mine[0]).intersection(*mine[1:]) if len(mine) > 1 else set()
        if any(len({str(facts[path]) for facts in mine}) > 1 for path in shared & TELLING):
            reason = f"the paste holds {len(mine)} dumps of {tool} that contradict each other, and only some tell this"
            found.update({path: {"unknown": "error", "reason": reason} for facts in mine for path in facts if path not in shared})
    return found
