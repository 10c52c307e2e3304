"""One snapshot on one page, as a good check_env would tell it: system, GPUs, driver, packages, sources, servers, and what gave no answer. Only lays out.

What is not known shows ``?`` with its status and why; what is known to be absent is said so. Sizes are in MiB and GiB.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from driftwatch.agent.probe import fact_path
from driftwatch.explain.words import count, fixed, listed
from driftwatch.model import ANSWERED, Snapshot, Unknown, is_unknown, plain
from driftwatch.report.cards import alike, cards, known, ranges
from driftwatch.report.page import Page, measure, pad
from driftwatch.report.words import VALUE_LIMIT, say_status, say_time, say_value

LABEL_COLUMNS = 18
SHOWN_ARGS = (
    "model_path", "tp_size", "dp_size", "pp_size", "ep_size", "mem_fraction_static", "cuda_graph_max_bs", "max_total_tokens", "attention_backend",
    "quantization", "kv_cache_dtype", "gpu_memory_utilization", "max_model_len",
)
PACKAGES = (
    "sglang", "vllm", "sgl-kernel", "sglang-kernel", "flashinfer-python", "triton", "transformers", "nvidia-nccl-cu12", "nvidia-nccl-cu13",
    "nvidia-cudnn-cu12", "nvidia-cudnn-cu13", "apache-tvm-ffi", "xgrammar", "flash-attn",
)
SHOWN_ENV = ("NCCL_", "CUDA_", "SGLANG_", "VLLM_", "PYTORCH_", "TORCH", "LD_")
Row = tuple[str, str]


def render_overview(snapshot: Snapshot, page: Page) -> str:
    """Return the page, each line ending with a line feed."""
    lines = _head(snapshot, page)
    for title, rows in _sections(snapshot):
        found = [row for row in rows if row[1]]
        if found:
            lines += ["", *(page.paint("head", row) for row in page.wrap(title, "", "  "))]
            lines += [line for label, text in found for line in _line(label, text, page)]
    return "\n".join(line.rstrip() for line in [*lines, *_silent(snapshot, page)]) + "\n"


def _sections(snapshot: Snapshot) -> Iterator[tuple[str, Iterable[Row]]]:
    yield "SYSTEM", _system(snapshot)
    yield "GPUS", _gpus(snapshot)
    yield "DRIVER", _driver(snapshot)
    yield "PYTHON", _python(snapshot)
    yield "SOURCES", _sources(snapshot)
    for server in sorted({path.split("/")[1] for path in snapshot.facts if path.startswith("servers/")}):
        yield f"SERVER {server}", _server(snapshot, f"servers/{server}")
    yield "ENVIRONMENT OF THE PROBING SHELL", _environment(snapshot, "env")


def _head(snapshot: Snapshot, page: Page) -> list[str]:
    answered = sum(one.status in ANSWERED for one in snapshot.probes.values())
    probes = f"{answered:,} of {len(snapshot.probes):,} probes answered, " if snapshot.source in ("snapshot", "recorded-host") else ""
    kind = "" if snapshot.source == "snapshot" else f"read as {snapshot.source}, "
    lines = page.wrap(f"{snapshot.host or 'unnamed'}  {say_time(snapshot.taken_at)}  {kind}{probes}{count(len(snapshot.facts), 'fact')}", "", "  ")
    symptom, note = snapshot.symptom, str(snapshot.extra.get("note", ""))
    rows = [("symptom", ": ".join(filter(None, (symptom.klass, symptom.signature)))) if symptom is not None else ("", ""), ("note", note)]
    return [page.paint("head", lines[0]), *lines[1:], *(line for label, text in rows if text for line in _line(label, text, page))]


def _line(label: str, text: str, page: Page) -> list[str]:
    lead = f"  {pad(page.say(label), LABEL_COLUMNS)} "
    if measure(lead) > LABEL_COLUMNS + 3:
        return [*page.wrap(label, "  ", "    "), *page.wrap(text, " " * (LABEL_COLUMNS + 3), " " * (LABEL_COLUMNS + 3))]
    return page.wrap(text, lead, " " * (LABEL_COLUMNS + 3))


def _told(snapshot: Snapshot, path: str, unit: str = "", absent: str = "") -> str:
    """Return a fact in words, empty where it is known to be absent and nothing is to be said of that, or where no probe answers for it.

    Why a whole probe gave no answer is told once, under NO ANSWER.
    """
    found = snapshot.get(path)
    if isinstance(found, Unknown):
        is_of_probe = found.reason.startswith(f"{snapshot.owner(path)}: ")
        return "" if found.reason == "no probe that answers for it was asked" else _open(found.status, "" if is_of_probe else found.reason)
    return absent if found.value is None else say_value(found.value) + unit


def _open(status: str, reason: str) -> str:
    return f"? {say_status(status)}{': ' if reason else ''}{reason}"[:VALUE_LIMIT]


def _joined(parts: Iterable[str], gap: str = ", ") -> str:
    return gap.join(part for part in parts if part)


def _gib(snapshot: Snapshot, path: str) -> str:
    value = snapshot.facts.get(path)
    return f"{fixed(value / 2**20)} GiB" if isinstance(value, (int, float)) and not isinstance(value, bool) else _told(snapshot, path)


def _system(snapshot: Snapshot) -> Iterator[Row]:
    yield "os", _joined((_told(snapshot, "os/name"), _prefixed("kernel ", _told(snapshot, "kernel/release"))))
    yield "booted", _told(snapshot, "kernel/booted_at")
    yield "processors", _joined((_told(snapshot, "system/cpu/model"), _told(snapshot, "system/cpu/count", " processors")))
    yield "memory", _gib(snapshot, "system/memory/total_kib")
    yield "hypervisor", _told(snapshot, "system/hypervisor")


def _prefixed(before: str, text: str) -> str:
    return before + text if text else ""


def _gpus(snapshot: Snapshot) -> Iterator[Row]:
    """Yield one row for GPUs that are alike, then what they hold, and whoever holds memory on them."""
    found = cards(snapshot)
    if not found:
        yield "number", _told(snapshot, "gpus/count", absent="0") or _told(snapshot, "gpus")
        return
    for numbers, (name, total, link) in alike(found, ("name", "memory_total_mib", "link/width_max")):
        size = f"{total:,} MiB" if isinstance(total, int) else ""
        yield ranges(numbers), _joined((say_value(name), size, f"PCIe x{link}" if known(link) else ""))
    for numbers, (used,) in alike(found, ("memory_used_mib",)):
        yield f"in use on {ranges(numbers)}"[:LABEL_COLUMNS], f"{used:,} MiB" if isinstance(used, int) else "" if used is None else say_value(used)
    yield "held by", listed(sorted({key.split("/")[1] for facts in found.values() for key in facts if key.startswith("holders/")}), 8)
    errors = {number: facts.get("ecc/aggregate_uncorrected") for number, facts in found.items()}
    yield "uncorrected", listed((f"GPU {number}: {value}" for number, value in errors.items() if known(value)), 8)


def _driver(snapshot: Snapshot) -> Iterator[Row]:
    flavour = _told(snapshot, "driver/module/flavour")
    yield "module", _joined((_told(snapshot, "driver/module/version"), flavour if not flavour.startswith("?") else ""))
    yield "on disk", _told(snapshot, "driver/on_disk/version")
    yield "libcuda", _told(snapshot, "driver/library/libcuda/version")
    yield "as NVML says", _told(snapshot, "driver/version")
    yield "CUDA at most", _told(snapshot, "cuda/driver")


def _python(snapshot: Snapshot) -> Iterator[Row]:
    yield "python", _joined((_told(snapshot, "python/version"), _told(snapshot, "python/executable")), "  ")
    many = len({path.split("/")[1] for path in snapshot.facts if path.startswith("packages/") and path.endswith("/version")})
    yield "packages", count(many, "distribution") if many else _told(snapshot, "packages")
    yield "torch", _joined((_told(snapshot, "torch/version"), _prefixed("built for CUDA ", _told(snapshot, "torch/cuda"))))
    for name in PACKAGES:
        yield name, _told(snapshot, fact_path("packages", name, "version"))


def _sources(snapshot: Snapshot) -> Iterator[Row]:
    for key in sorted({path.split("/")[1] for path in snapshot.facts if path.startswith(("git/", "sources/")) and path.count("/") > 1}):
        dirty = snapshot.facts.get(f"git/{key}/dirty")
        state = {True: "edited", False: "clean"}.get(dirty, "") if isinstance(dirty, bool) else ""
        files = [plain(path.rpartition("/")[2]) for path in snapshot.facts if path.startswith(f"git/{key}/files/")]
        head = _told(snapshot, f"git/{key}/head")
        edited, tree = _prefixed("not as committed: ", listed(files, 3)), _prefixed("tree ", _told(snapshot, f"sources/{key}/tree"))
        yield key, _joined((head if head.startswith("?") else head[:12], _told(snapshot, f"git/{key}/branch"), state, edited, tree))


def _server(snapshot: Snapshot, top: str) -> Iterator[Row]:
    running = snapshot.facts.get(f"{top}/running")
    yield "running", _joined((_told(snapshot, f"{top}/running"), _prefixed("since ", _told(snapshot, f"{top}/started_at")) if running is True else ""))
    for kind, title in (("given", "as launched"), ("args", "as resolved")):
        yield title, _arguments(snapshot, f"{top}/{kind}", is_whole=kind == "given")
    yield from _log(snapshot, f"{top}/log")
    yield from _environment(snapshot, f"{top}/env")


def _arguments(snapshot: Snapshot, top: str, *, is_whole: bool) -> str:
    if is_unknown(snapshot.facts.get(top)):
        return _told(snapshot, top)
    found = snapshot.below(top)
    names = sorted(found) if is_whole else [name for name in SHOWN_ARGS if name in found]
    return " ".join(f"--{name.replace('_', '-')} {say_value(found[name])}" for name in names if found[name] is not None)


def _log(snapshot: Snapshot, top: str) -> Iterator[Row]:
    if is_unknown(snapshot.facts.get(top)):
        yield "log", _told(snapshot, top)
        return
    found: dict[str, Any] = snapshot.below(top)
    yield "log", say_value(found["path"]) if "path" in found else ""
    sizes = (("free_before_load_gib", "before load"), ("free_after_load_gib", "after load"), ("kv_cache_gib", "KV cache"))
    yield "free memory", _joined(f"{title} {say_value(found[key])} GiB" for key, title in sizes if known(found.get(key)) is not None)
    yield "last error", say_value(found["error"]) if found.get("error") is not None else ""


def _environment(snapshot: Snapshot, top: str) -> Iterator[Row]:
    if is_unknown(snapshot.facts.get(top)):
        yield "environment", _told(snapshot, top)
        return
    found = snapshot.below(top)
    yield "environment", " ".join(f"{name}={say_value(found[name])}" for name in sorted(found) if name.startswith(SHOWN_ENV))


def _silent(snapshot: Snapshot, page: Page) -> list[str]:
    """Return the probes without an answer, those of one reason together; those that were not asked are counted."""
    silent = {name: one for name, one in snapshot.probes.items() if one.status not in ANSWERED}
    idle = [name for name, one in silent.items() if one.status == "not_recorded" and one.reason.startswith("not asked: ")]
    alike: dict[str, list[str]] = {}
    for name in sorted(set(silent) - set(idle)):
        alike.setdefault(_open(silent[name].status, silent[name].reason)[2:], []).append(name)
    rows = [line for why, names in alike.items() for line in _line(f"? {', '.join(names)}", why, page)]
    lines = ["", page.paint("head", "NO ANSWER"), *rows] if rows else []
    return [*lines, *(["", *page.wrap(f"not asked: {', '.join(sorted(idle))}", "", "  ")] if idle else [])]
