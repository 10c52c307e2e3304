"""The GPUs, as NVML tells them through ``pynvml``; where it cannot be loaded or replayed, as ``nvidia-smi -q -x`` does, under the same paths.

Makes no CUDA context. Any call may hang for ever: what is cheap is told first, what has hung in the field (the lists of processes) last.
KEY is a GPU's UUID, or ``index-N`` where it tells none. A fact that is not told does not apply to that GPU (NVML 3, 13; ``N/A``).

| path | what |
|---|---|
| nvml/how, nvml/version, nvml/said | ``nvml`` or ``nvidia-smi``; the library's version; lines that nvidia-smi printed around its answer |
| nvml/listed_by_kernel | PCI addresses in /proc/driver/nvidia/gpus: a GPU that stands here and not below ``gpus`` is there, but gave no answer |
| driver/version, cuda/driver | of the running driver; the newest CUDA that it serves, such as 12.8 |
| gpus/count | GPUs that NVML counts, lost ones too |
| gpus/KEY/{name,pci,vbios,compute_mode,persistence} | ``pci`` as the kernel writes it; persistence is Enabled or Disabled |
| gpus/KEY/license | where a license may be needed (virtual GPUs): Licensed or Unlicensed, without its end |
| gpus/KEY/compute_capability | such as 9.0; nvidia-smi -q -x of most drivers does not tell it |
| gpus/KEY/memory_{total,used,free,reserved}_mib | used and free are volatile |
| gpus/KEY/memory_api | who told it: v2 and nvidia-smi (if ``reserved`` is told) do not count reserved memory as used, v1 does |
| gpus/KEY/unattributed_mib (volatile) | used memory that no listed process holds |
| gpus/KEY/holders/NAME (volatile) | ``{"count", "used_mib" (null: not told), "pids"}`` of the processes of one name |
| gpus/KEY/{pstate,temperature_c,utilization_percent,power_draw_w,event_reasons,index} (volatile) | event_reasons: sorted names |
| gpus/KEY/clocks/NAME_mhz (volatile), clocks_max/NAME_mhz | NAME: graphics, sm, memory, video |
| gpus/KEY/power_limit_w, power_limit_requested_w, power_limit_default_w | enforced now, set by software, set by the maker |
| gpus/KEY/ecc/{current,pending}, ecc/{volatile,aggregate}_{corrected,uncorrected} | mode; errors since the driver was loaded, ever |
| gpus/KEY/remapped_rows/{corrected,uncorrected,pending,failed} | counts, and whether one is pending or failed |
| gpus/KEY/mig/{current,pending,devices} | mode; how many MIG devices there are while it is Enabled |
| gpus/KEY/link/{generation (volatile),generation_max,width,width_max} | PCIe; the generation falls on an idle GPU |
"""
from __future__ import annotations

import re

from .. import loader, nvidia_smi, nvml_calls
from ..gpus import COMM_LENGTH, NOT_VISIBLE, Process, holder_facts, pci_address, whole_name
from ..host import Host
from ..nvml_calls import Device, Nvml, told
from ..probe import Absent, Denied, Fact, NotRecorded, Probe, TimedOut, Unknown, Unreadable, fact_path
from ..processes_seen import is_contained
from ..typed import Callable, Iterator, List, NoReturn, Optional, Tuple

KERNEL_LIST = "/proc/driver/nvidia/gpus"
LIBRARY = "libnvidia-ml.so.1"
QUERY_S = 14.0  # ends before the TERM of the probe, so that it is we who end nvidia-smi and say so
DENIED, NO_DEVICES, NO_DRIVER, TIMEOUT, NO_LIBRARY, MISMATCH = 4, 6, 9, 10, 12, 18


def collect(host: Host) -> Iterator[Fact]:
    """Yield what the kernel lists, then what NVML tells of each GPU, or nvidia-smi in its place."""
    listed = host.try_list(KERNEL_LIST)
    if listed is not None:
        yield "nvml/listed_by_kernel", listed
    library = host.attempt(host.nvml)
    if library is None or isinstance(library, Unknown):
        yield from _by_nvidia_smi(host)
        return
    nvml = Nvml(library, host.asking)
    code, said = nvml.call("nvmlInit")
    if code == NO_LIBRARY:
        _refuse_library(host)
        yield from _by_nvidia_smi(host)
        return
    version = nvml.ask("nvmlSystemGetNVMLVersion")
    yield "nvml/how", "nvml"
    yield from told("nvml/version", version)
    if code == 0:
        yield from _by_nvml(host, nvml)
    else:
        words = "the library is %s" % version if code == MISMATCH and isinstance(version, str) else "%s (NVML %d)" % (said, code)
        yield from _not_started(host, code, "nvmlInit: " + words)


def _by_nvml(host: Host, nvml: Nvml) -> Iterator[Fact]:
    yield from told("driver/version", nvml.ask("nvmlSystemGetDriverVersion"))
    yield from told("cuda/driver", nvml.ask("nvmlSystemGetCudaDriverVersion"), cuda_version)
    count = nvml.ask("nvmlDeviceGetCount")
    yield from told("gpus/count", count)
    if not isinstance(count, int):
        yield "gpus", count or Unknown("error", "NVML does not tell how many GPUs there are")
        return
    asked = [nvml_calls.device(nvml, index) for index in range(count)]
    devices = [one for one in asked if isinstance(one, Device)]
    yield from _of_each(devices, nvml_calls.identity)
    yield from _lost(host, [one.pci for one in devices], [one for one in asked if isinstance(one, Unknown)])
    yield from _of_each(devices, nvml_calls.details)
    is_inside, name_of = is_contained(host), _namer(host)
    yield from _of_each(devices, lambda one: holder_facts(nvml_calls.occupied(one), name_of, is_contained=is_inside))
    nvml.call("nvmlShutdown")


def _of_each(devices: List[Device], facts: Callable[[Device], Iterator[Fact]]) -> Iterator[Fact]:
    for one in devices:
        for path, value in facts(one):
            yield "%s/%s" % (fact_path("gpus", one.key), path), value


def cuda_version(number: int) -> str:
    """Return NVML's number for a CUDA version, such as 12080, as 12.8."""
    return "%d.%d" % (number // 1000, number % 1000 // 10)


def _by_nvidia_smi(host: Host) -> Iterator[Fact]:
    text, code = _query(host)
    yield "nvml/how", "nvidia-smi"
    if "<nvidia_smi_log" not in text:
        yield from _not_started(host, code, "nvidia-smi -q -x: exit code %d: %s" % (code, " ".join(text.split())[:300] or "no text"))
        return
    query = nvidia_smi.parse_query(text)
    for path, value in (("driver/version", query.driver), ("cuda/driver", query.cuda), ("gpus/count", query.attached), ("nvml/said", list(query.said) or None)):
        yield from told(path, value)
    is_inside, name_of = is_contained(host), _namer(host)
    for gpu in query.gpus:
        for path, value in (*gpu.facts, *holder_facts(gpu, name_of, is_contained=is_inside)):
            yield "%s/%s" % (fact_path("gpus", gpu.key), path), value
    if query.cut:
        raise Unreadable(query.cut)
    silent = Unknown("error", "GPU is lost: nvidia-smi -q -x (exit code %d) counts it and does not show it" % code)
    yield from _lost(host, [gpu.pci for gpu in query.gpus], [silent] * ((query.attached or 0) - len(query.gpus)))


def _query(host: Host) -> Tuple[str, int]:
    """Return the text of ``nvidia-smi -q -x`` and its exit code; asked once more where it says ERR!, which often passes."""
    ran = host.try_run(nvidia_smi.QUERY, QUERY_S)
    if ran is None:
        _refuse_library(host)
        raise Absent("no NVIDIA driver here: no %s in the loader's folders, and no nvidia-smi" % LIBRARY)
    if isinstance(ran, Unknown):
        _raise(ran)
    again = host.try_run(nvidia_smi.QUERY, QUERY_S / 3) if "ERR!" in ran.stdout else None
    best = ran if again is None or isinstance(again, Unknown) else again
    return best.stdout or best.stderr, best.rc


def _raise(unknown: Unknown) -> NoReturn:
    raise next((kind for kind in (Denied, TimedOut, NotRecorded) if kind.status == unknown.status), Unreadable)(unknown.reason)


def _refuse_library(host: Host) -> None:
    """Raise Unreadable where the loader has a file that it did not take; return where it has none. NVML says 12 for both."""
    variables = host.attempt(host.environ)
    folders = variables.get("LD_LIBRARY_PATH", "").split(":") if isinstance(variables, dict) else []
    for path in ["%s/%s" % (folder, LIBRARY) for folder in folders if folder] + loader.candidates(host, LIBRARY):
        if host.attempt(host.exists, path):
            start = host.attempt(host.head, path, 4)
            why = start.reason if isinstance(start, Unknown) else "the loader refused it" if start == "\x7fELF" else "it is no shared library"
            raise Unreadable("cannot load: %s (NVML 12): %s" % (path, why))


def _not_started(host: Host, code: int, said: str) -> Iterator[Fact]:
    """Yield what can still be told of the GPUs where NVML does not start, then raise what its code means."""
    if code == NO_DEVICES:
        yield "gpus/count", 0
        return
    if code == NO_DRIVER:
        raise Absent("the NVIDIA driver is not loaded: %s" % said)
    if code == NO_LIBRARY:
        _refuse_library(host)
        raise Absent("no %s in the loader's folders: %s" % (LIBRARY, said))
    for pci, uuid, name in _kernel_gpus(host):
        if uuid:
            yield fact_path("gpus", uuid, "pci"), pci
            yield from told(fact_path("gpus", uuid, "name"), name)
    if code == MISMATCH:
        loaded = host.try_read("/sys/module/nvidia/version")
        module = "; the loaded module is %s: reload it, or reboot" % loaded.strip() if isinstance(loaded, str) else ""
        raise Unreadable("driver/library version mismatch (NVML 18): %s%s" % (said, module))
    raise {DENIED: Denied, TIMEOUT: TimedOut}.get(code, Unreadable)(said)


def _kernel_gpus(host: Host) -> List[Tuple[str, Optional[str], Optional[str]]]:
    """Return PCI address, UUID and name of each GPU that the kernel lists."""
    texts = [(address, host.try_read("%s/%s/information" % (KERNEL_LIST, address))) for address in host.noted_names(KERNEL_LIST)]
    return [(pci_address(address), *parse_information(text if isinstance(text, str) else "")) for address, text in texts]


def parse_information(text: str) -> Tuple[Optional[str], Optional[str]]:
    """Return UUID and model from the kernel's text about a GPU; None for what it does not know (it prints question marks)."""
    found = dict(re.findall(r"^([A-Za-z ]+):[ \t]+(\S(?:.*\S)?)[^\S\n]*$", text, re.MULTILINE))
    uuid = found.get("GPU UUID", "?")
    return None if "?" in uuid else uuid, found.get("Model")


def _lost(host: Host, answered: List[Optional[str]], lost: List[Unknown]) -> Iterator[Fact]:
    """Yield that nothing is known of the GPUs that gave no answer: by UUID where the kernel tells which these are, else by its PCI address.

    Where a UUID is not told, nothing is known of any GPU that was not told: a lost one must never look removed.
    """
    silent = [one for one in _kernel_gpus(host) if one[0] not in answered]
    lost = lost + [Unknown("error", "the kernel lists this GPU, but it was not counted")] * (len(silent) - len(lost))
    if not lost:
        return
    is_told = len(silent) == len(lost)
    keys = [uuid or pci for pci, uuid, _ in silent] if is_told else [_position(one) for one in lost]
    for key, reason in zip(keys, lost):
        if key:
            yield fact_path("gpus", key), reason
    if not is_told or any(uuid is None for _, uuid, _ in silent):
        said = "%d of %d GPUs gave no answer, and nothing tells their UUIDs: %s" % (len(lost), len(lost) + len(answered), lost[0].reason)
        yield "gpus", Unknown("error", said)


def _position(lost: Unknown) -> str:
    """Return ``index-N`` where the reason tells which GPU was asked, else ""."""
    match = re.search(r"GPU (\d+)$", lost.reason)
    return "index-" + match.group(1) if match else ""


def _namer(host: Host) -> Callable[[Process], str]:
    return lambda process: holder_name(host, process)


def holder_name(host: Host, process: Process) -> str:
    """Return a process's name: the kernel's, and where it cut that, the longer one that begins with it; NOT_VISIBLE for a PID that is not in /proc.

    A title such as ``sglang::scheduler_TP0`` stands whole only in its command line, which is read in a child of its own.
    """
    comm = host.try_read("/proc/%d/comm" % process.pid)
    if not isinstance(comm, str):
        return process.name or NOT_VISIBLE
    short = comm.strip()
    if len(short) < COMM_LENGTH:
        return short or NOT_VISIBLE
    line = process.name or host.attempt(host.read_apart, "/proc/%d/cmdline" % process.pid, 0.25)
    title = line.split(b"\0")[0].decode("utf-8", "replace") if isinstance(line, bytes) else line
    return whole_name(short, title) if isinstance(title, str) else short


PROBES = (
    Probe(
        "nvml", collect, deadline_s=20.0, early_term_s=5.0,
        tells=("nvml/*", "driver/version", "cuda/driver", "gpus", "gpus/*"),
        reads="NVML through pynvml (no CUDA context), else nvidia-smi -q -x; /proc/driver/nvidia/gpus; names in /proc/PID/comm",
        volatile=(
            "gpus/*/memory_used_mib", "gpus/*/memory_free_mib", "gpus/*/unattributed_mib", "gpus/*/holders", "gpus/*/holders/*", "gpus/*/pstate",
            "gpus/*/clocks/*", "gpus/*/power_draw_w", "gpus/*/temperature_c", "gpus/*/utilization_percent", "gpus/*/event_reasons", "gpus/*/index",
            "gpus/*/link/generation",
        ),
        root_shows="names of other users' processes where /proc hides them",
    ),
)
