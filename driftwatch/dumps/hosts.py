"""Several dumps of one tool in one paste: of one host, or of two, or before and after? Where they contradict each other in what makes a host, nothing is mixed.

Lists of packages contradict each other where they tell another version or build of one package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from driftwatch.dumps.merge import UNKNOWN

TOOLS = ("sglang-check-env", "torch-collect-env", "vllm-collect-env", "flashinfer-collect-env", "transformers-env", "ds-report", "xformers-info")
LISTS = ("conda-list", "pip-list", "pip-freeze", "uv-pip-list", "conda-env-export", "pixi-list", "poetry-show")
TELLING = frozenset({
    "torch/version", "python/version", "kernel/release", "driver/version", "os/name", "packages/sglang/version", "packages/vllm/version", "gpus/index-0/name",
})


def told_by_some(dumps: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, dict[str, str]]:
    """Return as open what only some of a tool's dumps tell, where those dumps contradict each other. ``dumps``: the tool's name and its facts."""
    found: dict[str, dict[str, str]] = {}
    for tool in (*TOOLS, *LISTS):
        mine = [facts for name, facts in dumps if name == tool and facts]
        shared = set(mine[0]).intersection(*mine[1:]) if len(mine) > 1 else set()
        telling = shared & TELLING if tool in TOOLS else {path for path in shared if path.endswith(("/version", "/conda_build"))}
        if any(_contradict([str(facts[path]) for facts in mine if not isinstance(facts[path], UNKNOWN)]) for path in telling):
            reason = f"the paste holds {len(mine)} dumps of {tool} that contradict each other, and only some tell this"
            found.update({path: {"unknown": "error", "reason": reason} for facts in mine for path in facts if path not in shared})
    return found


def _contradict(values: Sequence[str]) -> bool:
    """Tell whether values cannot all be of one thing: ``2.6.0`` is ``2.6.0+cu124`` without its local part, which some tools leave out."""
    longest = max(values, key=len, default="")
    return any(value not in (longest, longest.partition("+")[0]) for value in values)
