"""What NVML tells of one GPU: each call through ``pynvml`` as a fact below ``gpus/KEY``, in the words of nvidia_smi.py. Makes no CUDA context.

A fact is left out where the GPU or the driver has no such thing (NVML 3, 6, 13), and Unknown where no answer came.
"""
from __future__ import annotations

from .gpus import Gpu, Process, pci_address
from .probe import Fact, Unknown
from .typed import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

SILENT = (3, 6, 13)
STATUSES = {4: "denied", 10: "timeout"}
REASONS = (
    "gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "sync_boost", "sw_thermal_slowdown", "hw_thermal_slowdown",
    "hw_power_brake_slowdown", "display_clocks_setting",
)
COMPUTE_MODES = ("Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process")
PSTATE_UNKNOWN = 32
LISTS = ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses")


class Nvml:
    """NVML as questions: the one place where its errors become values, so that no reader of a field needs a ``try``."""

    def __init__(self, library: Any, asking: Callable[[str], None], about: str = "") -> None:
        self.library = library
        self.asking = asking
        self.about = about

    def of(self, index: int) -> "Nvml":
        """Return the same library, whose questions are said to be about this GPU."""
        return Nvml(self.library, self.asking, " of GPU %d" % index)

    def call(self, name: str, *arguments: Any) -> Tuple[int, Any]:
        """Return 0 and what a call gave, or NVML's error code and its words."""
        self.asking("call %s%s" % (name, self.about))
        try:
            return 0, getattr(self.library, name)(*arguments)
        except self.library.NVMLError as failed:
            return int(failed.value), str(failed)
        except UnicodeDecodeError:
            return 999, "a text that is no UTF-8"

    def ask(self, name: str, *arguments: Any) -> Any:
        """Return what a call gives: None where this GPU or driver has no such thing, Unknown with NVML's code where no answer came."""
        code, answer = self.call(name, *arguments)
        if code == 0:
            return answer
        return None if code in SILENT else Unknown(STATUSES.get(code, "error"), "%s (NVML %d): %s%s" % (answer, code, name, self.about))

    def first(self, names: Sequence[str], *arguments: Any) -> Any:
        """Return the answer of the first of some calls that this driver knows."""
        answers = (self.ask(name, *arguments) for name in names)
        return next((one for one in answers if one is not None), None)


class Device(NamedTuple):
    """One GPU that gave a handle: the library asked about it, its handle, its key in paths, its number, its PCI address (None: not told)."""

    nvml: Nvml
    handle: Any
    key: str
    number: int
    pci: Optional[str]


def device(nvml: Nvml, index: int) -> Any:
    """Return the GPU at a position, or Unknown where it gives no handle or does not tell its UUID: it is lost."""
    about = nvml.of(index)
    handle = about.ask("nvmlDeviceGetHandleByIndex", index)
    if handle is None or isinstance(handle, Unknown):
        return handle or Unknown("error", "no handle (NVML 6): GPU %d" % index)
    uuid = about.ask("nvmlDeviceGetUUID", handle)
    if isinstance(uuid, Unknown):
        return uuid
    place = about.ask("nvmlDeviceGetPciInfo", handle)
    bus = getattr(place, "busId", "")
    return Device(about, handle, uuid or "index-%d" % index, index, pci_address(bus.decode() if isinstance(bus, bytes) else bus) or None)


def identity(one: Device) -> Iterator[Fact]:
    """Yield what a GPU is: name, address, position."""
    yield from told("name", one.nvml.ask("nvmlDeviceGetName", one.handle))
    yield from told("pci", one.pci)
    yield "index", one.number


def details(one: Device) -> Iterator[Fact]:
    """Yield memory, then every other figure, one call each."""
    yield from memory(one)
    for path, names, arguments, convert in FIELDS:
        yield from told(path, one.nvml.first(names, one.handle, *arguments), convert)
    yield from _mig_devices(one)


def memory(one: Device) -> Iterator[Fact]:
    """Yield total, used, free and reserved memory in MiB and the version of the call that told them; version 1 knows no ``reserved``."""
    answer = one.nvml.ask("nvmlDeviceGetMemoryInfo", one.handle, one.nvml.library.nvmlMemory_v2)
    version = "v2"
    if not hasattr(answer, "used"):
        answer = one.nvml.ask("nvmlDeviceGetMemoryInfo", one.handle)
        version = "v1"
    for name in ("total", "used", "free", "reserved"):
        size = answer if isinstance(answer, Unknown) else getattr(answer, name, None)
        yield from told("memory_%s_mib" % name, size, _mib)
    if hasattr(answer, "used"):
        yield "memory_api", version


def occupied(one: Device) -> Gpu:
    """Return the GPU with the memory in use and the processes on it, asked right after each other."""
    used = dict(memory(one)).get("memory_used_mib")
    return Gpu(one.key, one.pci, (), used, processes(one))


def processes(one: Device) -> Any:
    """Return the processes of both lists, each once; None where the GPU keeps no list, Unknown where one gave no answer."""
    lists = [one.nvml.first([call + "_v3", call + "_v2"], one.handle) for call in LISTS]
    failed = [listed for listed in lists if isinstance(listed, Unknown)]
    if failed or lists == [None, None]:
        return failed[0] if failed else None
    compute, graphics = (listed or [] for listed in lists)
    seen = {_place(process) for process in compute}
    return tuple(_process(process) for process in [*compute, *(extra for extra in graphics if _place(extra) not in seen)])


def _place(process: Any) -> Tuple[Any, ...]:
    return process.pid, getattr(process, "gpuInstanceId", None), getattr(process, "computeInstanceId", None)


def _process(process: Any) -> Process:
    return Process(int(process.pid), None if process.usedGpuMemory is None else _mib(process.usedGpuMemory))


def _mig_devices(one: Device) -> Iterator[Fact]:
    """Yield how many MIG devices there are, where the mode is on."""
    modes = one.nvml.ask("nvmlDeviceGetMigMode", one.handle)
    if modes is not None and not isinstance(modes, Unknown) and modes[0] == 1:
        most = one.nvml.ask("nvmlDeviceGetMaxMigDeviceCount", one.handle)
        places = range(most) if isinstance(most, int) else ()
        handles = [one.nvml.ask("nvmlDeviceGetMigDeviceHandleByIndex", one.handle, place) for place in places]
        unknown = [handle for handle in (most, *handles) if isinstance(handle, Unknown)]
        yield "mig/devices", unknown[0] if unknown else sum(handle is not None for handle in handles)


def told(path: str, answer: Any, convert: Callable[[Any], Any] = lambda value: value) -> Iterator[Fact]:
    """Yield an answer as facts: nothing for None, the path itself for Unknown, one fact a name for a dict, else the one value."""
    value = answer if answer is None or isinstance(answer, Unknown) else convert(answer)
    if isinstance(value, dict):
        for name, single in value.items():
            yield "%s/%s" % (path, name), single
    elif value is not None:
        yield path, value


def _mib(size_bytes: int) -> int:
    return int(size_bytes) >> 20


def _pstate(number: int) -> Optional[str]:
    return None if number == PSTATE_UNKNOWN else "P%d" % number


def _watts(milliwatts: int) -> float:
    return round(milliwatts / 1000, 3)


def _switch(number: int) -> str:
    return "Enabled" if number else "Disabled"


def _modes(pair: Sequence[int]) -> Dict[str, str]:
    return {"current": _switch(pair[0]), "pending": _switch(pair[1])}


def _rows(four: Sequence[int]) -> Dict[str, Any]:
    corrected, uncorrected, pending, failed = four
    return {"corrected": corrected, "uncorrected": uncorrected, "pending": bool(pending), "failed": bool(failed)}


def _reasons(bits: int) -> List[str]:
    """Return the names of the bits that are set; a bit without a name as its number."""
    named = [name for place, name in enumerate(REASONS) if bits >> place & 1]
    beyond = [hex(1 << place) for place in range(len(REASONS), 64) if bits >> place & 1]
    return sorted(named + beyond)


def _compute_mode(number: int) -> str:
    return COMPUTE_MODES[number] if number < len(COMPUTE_MODES) else str(number)


def _capability(pair: Sequence[int]) -> str:
    return "%d.%d" % (pair[0], pair[1])


def _license(told: Any) -> Optional[str]:
    """Return in nvidia-smi's word whether a virtual GPU has a license; None for a GPU that needs none."""
    features = told.gridLicensableFeatures[: told.licensableFeaturesCount] if told.isGridLicenseSupported else ()
    return ("Licensed" if any(one.featureState for one in features) else "Unlicensed") if features else None


def _utilization(rates: Any) -> int:
    return int(rates.gpu)


Field = Tuple[str, Tuple[str, ...], Tuple[int, ...], Callable[[Any], Any]]


def _clocks(top: str, call: str) -> Tuple[Field, ...]:
    return tuple(("%s/%s_mhz" % (top, name), (call,), (number,), int) for number, name in enumerate(("graphics", "sm", "memory", "video")))


def _errors() -> Tuple[Field, ...]:
    return tuple(
        ("ecc/%s_%s" % (counter, kind), ("nvmlDeviceGetTotalEccErrors",), (first, second), int)
        for second, counter in enumerate(("volatile", "aggregate")) for first, kind in enumerate(("corrected", "uncorrected"))
    )


FIELDS: Tuple[Field, ...] = (
    ("pstate", ("nvmlDeviceGetPerformanceState",), (), _pstate),
    *_clocks("clocks", "nvmlDeviceGetClockInfo"),
    *_clocks("clocks_max", "nvmlDeviceGetMaxClockInfo"),
    ("power_limit_w", ("nvmlDeviceGetEnforcedPowerLimit",), (), _watts),
    ("power_limit_requested_w", ("nvmlDeviceGetPowerManagementLimit",), (), _watts),
    ("power_limit_default_w", ("nvmlDeviceGetPowerManagementDefaultLimit",), (), _watts),
    ("power_draw_w", ("nvmlDeviceGetPowerUsage",), (), _watts),
    ("temperature_c", ("nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV"), (0,), int),
    ("utilization_percent", ("nvmlDeviceGetUtilizationRates",), (), _utilization),
    ("event_reasons", ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"), (), _reasons),
    ("ecc", ("nvmlDeviceGetEccMode",), (), _modes),
    *_errors(),
    ("remapped_rows", ("nvmlDeviceGetRemappedRows",), (), _rows),
    ("mig", ("nvmlDeviceGetMigMode",), (), _modes),
    ("persistence", ("nvmlDeviceGetPersistenceMode",), (), _switch),
    ("compute_mode", ("nvmlDeviceGetComputeMode",), (), _compute_mode),
    ("compute_capability", ("nvmlDeviceGetCudaComputeCapability",), (), _capability),
    ("vbios", ("nvmlDeviceGetVbiosVersion",), (), str),
    ("license", ("nvmlDeviceGetGridLicensableFeatures",), (), _license),
    ("link/generation", ("nvmlDeviceGetCurrPcieLinkGeneration",), (), int),
    ("link/generation_max", ("nvmlDeviceGetMaxPcieLinkGeneration",), (), int),
    ("link/width", ("nvmlDeviceGetCurrPcieLinkWidth",), (), int),
    ("link/width_max", ("nvmlDeviceGetMaxPcieLinkWidth",), (), int),
)
