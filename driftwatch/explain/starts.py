"""What one snapshot tells of how its SGLang server started: the two measurements, the fraction, and what its default would depend on.

An argument is the resolved one of the log where that is known, else the one of the command line. What could not be read stays Unknown.
"""

from __future__ import annotations

from typing import Any

from driftwatch.explain.default_fraction import TEXT_ONLY, Launch
from driftwatch.explain.memory import NEW_SWITCH, OLD_SWITCH, Start
from driftwatch.explain.releases import Release, parse_release
from driftwatch.explain.servers import framework
from driftwatch.explain.words import number
from driftwatch.model import Known, Snapshot, Unknown, is_unknown

FRACTION = "mem_fraction_static"
BEFORE, AFTER = "free_before_load_gib", "free_after_load_gib"
NO_TOWER = Unknown("not_recorded", "the settings of its vision tower were not read")


def servers_in(snapshot: Snapshot) -> list[str]:
    """Return the SGLang servers that a snapshot tells of; ``sglang`` where it tells of none, so that its unknowns can be named."""
    found = {path.split("/")[1] for path in snapshot.facts if path.startswith("servers/") and path.count("/") > 1}
    return sorted(one for one in found if framework(one) == "sglang") or ["sglang"]


def told(snapshot: Snapshot, server: str, name: str) -> Any:
    """Return an argument's value, None where nobody gave it, or Unknown."""
    for source in ("args", "given"):
        path = f"servers/{server}/{source}/{name}"
        answer = snapshot.get(path)
        if path in snapshot.facts and isinstance(answer, Known):
            return answer.value
        if _has(snapshot, server, source):
            return None
    return snapshot.get(f"servers/{server}/args") if isinstance(snapshot.get(f"servers/{server}/args"), Unknown) else snapshot.get(f"servers/{server}/given")


def _has(snapshot: Snapshot, server: str, source: str) -> bool:
    return any(not is_unknown(value) for value in snapshot.below(f"servers/{server}/{source}").values())


def was_given(snapshot: Snapshot, server: str, name: str) -> bool | Unknown:
    """Return whether an argument stood on the command line."""
    if f"servers/{server}/given/{name}" in snapshot.facts:
        return True
    if _has(snapshot, server, "given"):
        return False
    answer = snapshot.get(f"servers/{server}/given")
    return answer if isinstance(answer, Unknown) else Unknown("not_recorded", "no command line is told")


def figure(snapshot: Snapshot, server: str, name: str) -> float | Unknown:
    """Return a figure of the server's log, or why it is not known."""
    answer = snapshot.get(f"servers/{server}/log/{name}")
    if isinstance(answer, Unknown):
        return answer
    value = number(answer.value)
    return Unknown("not_recorded", "the log does not tell it") if value is None else value


def fraction_of(snapshot: Snapshot, server: str) -> float | Unknown:
    """Return the fraction that the server ran with; unknown where it was left to the default and no log tells what became of it."""
    value = told(snapshot, server, FRACTION)
    if isinstance(value, Unknown):
        return value
    found = number(value)
    if found is None or not 0 < found < 1:
        return Unknown("not_recorded", "it was not given, and no log tells the default that was taken")
    return found


def start_of(snapshot: Snapshot, server: str) -> Start | Unknown:
    """Return the numbers of the start that a snapshot tells of, or which of them is not known and why."""
    before, after, fraction = figure(snapshot, server, BEFORE), figure(snapshot, server, AFTER), fraction_of(snapshot, server)
    for found, label in ((before, "free before load"), (after, "free after load"), (fraction, FRACTION)):
        if isinstance(found, Unknown):
            return Unknown(found.status, f"{label}: {found.reason or found.status}")
    if not isinstance(before, float) or not isinstance(after, float) or not isinstance(fraction, float) or before <= 0:
        return Unknown("error", f"{before} GiB free before load are no start")
    return Start(before, after, fraction, tuple(f"servers/{server}/{name}" for name in (f"log/{BEFORE}", f"log/{AFTER}", f"args/{FRACTION}")))


def others_in(snapshot: Snapshot) -> list[str]:
    """Return the servers of other frameworks that a snapshot tells of, where it tells of no SGLang."""
    found = {path.split("/")[1] for path in snapshot.facts if path.startswith("servers/") and path.count("/") > 1}
    return [] if any(framework(one) == "sglang" for one in found) else sorted(found)


def release_of(snapshot: Snapshot) -> Release | Unknown:
    """Return SGLang's release on this host."""
    for name in ("version", "text_version"):
        found = snapshot.get(f"packages/sglang/{name}")
        if isinstance(found, Known) and isinstance(found.value, str):
            return parse_release(found.value)
    return Unknown("not_recorded", "SGLang's version is not told")


def variables_of(snapshot: Snapshot, server: str) -> dict[str, str]:
    """Return the switches of the balance check that are set in the server's environment."""
    found = {name: snapshot.get(f"servers/{server}/env/{name}") for name in (OLD_SWITCH, NEW_SWITCH)}
    return {name: one.value for name, one in found.items() if isinstance(one, Known) and isinstance(one.value, str)}


def launch_of(snapshot: Snapshot, server: str, release: Release | Unknown) -> Launch:
    """Return what the default fraction depends on, as far as this snapshot tells. A model's vision tower is never told."""

    def whole(name: str, absent: int | None) -> Any:
        value = told(snapshot, server, name)
        found = number(value)
        return value if isinstance(value, Unknown) else absent if found is None else int(found)

    def text(name: str) -> Any:
        value = told(snapshot, server, name)
        return None if value in (None, "null", "none", "None", False) else value

    def flag(name: str) -> Any:
        value = told(snapshot, server, name)
        return value if isinstance(value, Unknown) else value in (True, "true", "True")

    split, exchange = text("disaggregation_mode"), text("moe_a2a_backend")
    return Launch(
        gpu_mib=smallest_card(snapshot), tp=whole("tp_size", 1), pp=whole("pp_size", 1), dp=whole("dp_size", 1),
        graph_bs=_graph_bs(whole("cuda_graph_max_bs", None), release), chunk=whole("chunked_prefill_size", None),
        max_prefill=whole("max_prefill_tokens", 16384), has_dp_attention=flag("enable_dp_attention"), speculative=text("speculative_algorithm"),
        piecewise_tokens=_piecewise(snapshot, server, release),
        has_deepep=exchange if isinstance(exchange, Unknown) else exchange == "deepep", is_split=split if isinstance(split, Unknown) else split is not None,
        vision=NO_TOWER,
    )


def smallest_card(snapshot: Snapshot) -> float | Unknown:
    """Return the least total memory of all GPUs of the host in MiB; unknown where one of them is."""
    totals = [snapshot.get(path) for path in snapshot.facts if path.startswith("gpus/") and path.endswith("/memory_total_mib")]
    open_ = next((one for one in totals if isinstance(one, Unknown)), None)
    sizes = [size for one in totals if isinstance(one, Known) and (size := number(one.value)) is not None]
    if open_ is not None or not sizes:
        asked = open_ or snapshot.get("gpus/_/memory_total_mib")
        return asked if isinstance(asked, Unknown) else Unknown("not_recorded", "no GPU is told")
    return min(sizes)


def _graph_bs(found: Any, release: Release | Unknown) -> Any:
    """Return the largest graph batch; since 0.5.15 it stands inside another argument, which is not read."""
    is_elsewhere = not isinstance(release, Unknown) and release >= (0, 5, 15)
    return Unknown("not_recorded", "it stands inside cuda_graph_config") if found is None and is_elsewhere else found


def _piecewise(snapshot: Snapshot, server: str, release: Release | Unknown) -> tuple[int, int] | Unknown:
    """Return how many sizes of prefill graphs there are, and the largest; none where they are off."""
    if isinstance(release, Unknown) or release < (0, 5, 6):
        return 0, 0
    is_on_by_default = release >= (0, 5, 10)
    switch = told(snapshot, server, "disable_piecewise_cuda_graph" if is_on_by_default else "enable_piecewise_cuda_graph")
    if isinstance(switch, Unknown):
        return switch
    if (switch in (True, "true")) == is_on_by_default:
        return 0, 0
    sizes = told(snapshot, server, "piecewise_cuda_graph_tokens")
    whole = [int(size) for one in sizes if (size := number(one)) is not None] if isinstance(sizes, list) else []
    return (len(whole), max(whole)) if whole else Unknown("not_recorded", "no log tells them")


def is_text_only(factor: float) -> bool:
    """Tell whether a factor is that of a model that sees nothing, up to the rounding of the default."""
    return abs(factor - TEXT_ONLY) < 0.001
