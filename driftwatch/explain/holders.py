"""Who holds GPU memory that is not the server's: listed processes that belong to no running server, and memory that no listed process holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from driftwatch.explain import servers
from driftwatch.explain.case import Case, SideName
from driftwatch.explain.explanation import Subject
from driftwatch.explain.words import TIMES, listed, number
from driftwatch.model import plain

LEAST_MIB = 256
_INTERPRETER = re.compile(r"(?:.*/)?python[\d.]*")
_MOST_PIDS = 8


@dataclass(frozen=True)
class Holder:
    """Processes of one name on one GPU: how many, the memory they hold (None: not told), and their PIDs, for words only."""

    gpu: str
    name: str
    many: int
    used_mib: float | None
    pids: tuple[int, ...]
    path: str


def gpus(case: Case, side: SideName) -> list[str]:
    """Return the GPUs that a side tells of."""
    return sorted({path.split("/")[1] for path, _ in case.below(side, "gpus") if path.count("/") > 1})


def foreign(case: Case) -> list[Holder]:
    """Return the holders on the bad side that belong to no server of the case running there and that held no such memory on the good side.

    Where nobody knows whether a server runs on the bad side, what held as much on the good side, a server's own processes too, is none of them.
    """
    is_known = case.unanswered("bad", "servers/*/running") is None
    before = {(holder.gpu, holder.name): holder for holder in (_not_of_a_server(case, "good") if is_known else _every(case, "good"))}
    return [holder for holder in _not_of_a_server(case, "bad") if _grew(before.get((holder.gpu, holder.name)), holder)]


def foreign_on(case: Case, side: SideName) -> list[Holder]:
    """Return the holders of one side that belong to no server running there, small ones left out."""
    return [holder for holder in _not_of_a_server(case, side) if holder.used_mib is None or holder.used_mib >= LEAST_MIB]


def subject(found: list[Holder]) -> Subject:
    """Return the name to blame for these holders: what they are, how many, and their PIDs."""
    names = Counter({name: sum(holder.many for holder in found if _role(holder.name) == name) for name in sorted({_role(holder.name) for holder in found})})
    pids = sorted({pid for holder in found for pid in holder.pids})
    told = f" (pid {listed((str(pid) for pid in pids), _MOST_PIDS)})" if pids else ""
    name = " and ".join(f"{name} {TIMES}{many}" for name, many in names.most_common(3))
    return Subject("gpu-process", name + told)


def unlisted(case: Case) -> list[tuple[str, float]]:
    """Return the GPUs of the bad side on which memory is held that no listed process holds, with the MiB beyond the good side's where it tells them.

    Only where no server runs on the bad side: inside a container a running server's own memory is listed for nobody.
    """
    if servers.runs(case, "bad"):
        return []
    found = []
    for gpu in gpus(case, "bad"):
        held = number(case.value("bad", f"gpus/{gpu}/unattributed_mib"))
        usual = None if servers.runs(case, "good") else number(case.value("good", f"gpus/{gpu}/unattributed_mib"))
        more = held - (usual or 0.0) if held is not None else 0.0
        if more >= 2 * LEAST_MIB:
            found.append((gpu, more))
    return found


def unnamed(case: Case, cards: Collection[str]) -> list[Holder]:
    """Return the processes that have some GPUs open on the bad side as its kernel tells it, that NVML lists on none, and that were not there before.

    Those of a running server are none of them.
    """
    by_nvml = {path.split("/")[3] for path, _ in case.below("bad", "gpus") if "/holders/" in path}
    found = []
    for path, value in case.below("bad", "holders"):
        name = path.split("/")[1]
        opened = [one for one in value if one in cards] if path.endswith("/gpus") and isinstance(value, list) else []
        top = f"holders/{name}"
        many, usual = (number(case.value(side, f"{top}/count")) or 0 for side in ("bad", "good"))
        if opened and name not in by_nvml and many > usual and case.value("bad", f"{top}/used_by") is None:
            pids = case.value("bad", f"{top}/pids")
            told = tuple(pid for pid in pids if isinstance(pid, int)) if isinstance(pids, list) else ()
            found.append(Holder(opened[0], plain(name), int(many), None, told, path))
    return found


def _grew(before: Holder | None, now: Holder) -> bool:
    if now.used_mib is None:
        return before is None
    usual = (before.used_mib or 0.0) if before is not None else 0.0
    return now.used_mib - usual >= LEAST_MIB


def _every(case: Case, side: SideName) -> list[Holder]:
    return [_holder(path, value) for path, value in case.below(side, "gpus") if "/holders/" in path and isinstance(value, dict) and "unknown" not in value]


def _not_of_a_server(case: Case, side: SideName) -> list[Holder]:
    running = {servers.framework(server) for server in servers.own(case, side)}
    every = _every(case, side)
    of_server = {holder.gpu for holder in every if any(name in holder.name.lower() for name in running)}
    return [holder for holder in every if not _belongs(holder, running, has_server_here=holder.gpu in of_server)]


def _belongs(holder: Holder, running: set[str], *, has_server_here: bool) -> bool:
    """Tell whether a holder is a running server's: by its title, or as a bare interpreter where no title tells better."""
    if any(name in holder.name.lower() for name in running):
        return True
    return bool(running) and not has_server_here and _INTERPRETER.fullmatch(holder.name) is not None


def _holder(path: str, value: dict[str, Any]) -> Holder:
    _, gpu, _, name = path.split("/", 3)
    pids = value.get("pids")
    many = number(value.get("count"))
    return Holder(
        gpu, plain(name), max(1, int(many or 1)), number(value.get("used_mib")),
        tuple(pid for pid in pids if isinstance(pid, int)) if isinstance(pids, list) else (), path,
    )


def _role(name: str) -> str:
    """Return a process title without its rank: ``sglang::scheduler`` for ``sglang::scheduler_TP3``."""
    return re.sub(r"(?:_(?:TP|DP|PP|EP)\d+)+$", "", name)[:60]
