"""The culprits that are planted: each changes the bad side (and prepares both, where the recorded host has no such thing) and says what it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from driftwatch.model import Symptom

Facts = dict[str, Any]
MOVED_AT = "2026-03-04T09:12:00Z"
SITE = "/root/ml-env/lib/python3.12/site-packages"


@dataclass(frozen=True)
class Sides:
    """Both sides' facts, to be changed in place, and the seeded choice."""

    good: Facts
    bad: Facts
    random: Random

    def both(self, facts: Facts) -> None:
        """Add facts to both sides."""
        self.good.update(facts)
        self.bad.update(facts)

    def gpu(self) -> str:
        """Return one GPU's UUID."""
        return str(self.random.choice(self.gpus()))

    def gpus(self) -> list[str]:
        """Return the UUIDs of all GPUs."""
        return sorted({path.split("/")[1] for path in self.good if path.startswith("gpus/GPU-")})

    def stop(self, error: str) -> None:
        """Let the bad side's server be dead, its log ending in an error."""
        for path in [one for one in self.bad if one.startswith("servers/sglang/log/") and one.rsplit("/", 1)[1] in (
                "ready", "throughput_tok_s", "tokens", "kv_cache_gib", "graph_gib", "free_at_end_gib")]:
            del self.bad[path]
        self.bad.update({"servers/sglang/running": False, "servers/sglang/log/ready": False, "servers/sglang/log/error": error})
        for gpu in self.gpus():
            for path in [one for one in self.bad if one.startswith(f"gpus/{gpu}/holders/")]:
                del self.bad[path]
            self.bad.update({f"gpus/{gpu}/memory_used_mib": 4, f"gpus/{gpu}/memory_free_mib": 97_240, f"gpus/{gpu}/unattributed_mib": 4})

    def move(self, name: str, version: str) -> None:
        """Let a package be of another version on the bad side."""
        self.bad[f"packages/{name}/version"] = version
        self.bad[f"packages/{name}/record"] = f"sha256:{name}-{version}"
        self.bad[f"packages/{name}/installed_at"] = MOVED_AT
        if f"packages/{name}/text_version" in self.bad:
            self.bad[f"packages/{name}/text_version"] = version


@dataclass(frozen=True)
class Planted:
    """What was planted: kinds (several by ``|``) and a part of the name under which it may be blamed, and how the failure shows: a symptom, or the log."""

    accepts: tuple[tuple[str, str], ...]
    symptom: Symptom | None = None
    log: str = ""


def crash(sides: Sides, klass: str, error: str) -> Symptom:
    """Return the symptom of a server that died with an error."""
    sides.stop(error.rpartition("\n")[2])
    return Symptom(klass, error)


def package_moved_and_named(sides: Sides) -> Planted:
    sides.move("xgrammar", "0.1.28")
    error = f"File \"{SITE}/xgrammar/matcher.py\", line 12 in run\nAttributeError: module 'xgrammar' has no attribute 'GrammarMatcher'"
    return Planted((("package", "xgrammar"),), crash(sides, "startup-crash", error))


def package_moved_kernel(sides: Sides) -> Planted:
    sides.move("sgl-kernel", "0.3.20")
    error = f"ImportError: {SITE}/sgl_kernel/sm100/common_ops.abi3.so: undefined symbol: _ZN3c104cuda9SetDeviceEa"
    return Planted((("package", "sgl-kernel"),), crash(sides, "import-error", error))


def package_moved_slow(sides: Sides) -> Planted:
    sides.move("flashinfer-python", "0.6.1")
    sides.bad["servers/sglang/log/throughput_tok_s"] = 41.2
    return Planted((("package", "flashinfer"),), Symptom("slow"))


def package_moved_wrong_output(sides: Sides) -> Planted:
    sides.move("triton", "3.5.0")
    return Planted((("package", "triton"),), Symptom("wrong-output"))


def package_dragged(sides: Sides) -> Planted:
    sides.move("starlette", "1.1.0")
    sides.move("fastapi", "0.137.1")
    error = "AttributeError: 'APIRouter' object has no attribute 'on_startup'"
    sides.bad.update({"servers/sglang/log/error": error, "servers/sglang/log/ready": True})
    return Planted((("package", "fastapi"), ("package", "starlette")), Symptom("runtime-crash", f'File "{SITE}/fastapi/routing.py", line 99 in run\n{error}'))


def requirement_unmet(sides: Sides) -> Planted:
    sides.move("nvidia-cutlass-dsl", "4.2.0")
    error = "ImportError: cannot import name 'make_ptr' from 'cutlass.cute.runtime'"
    return Planted((("package", "nvidia-cutlass-dsl"), ("package", "quack-kernels")), crash(sides, "import-error", error))


def requirement_unmet_partner_unchanged(sides: Sides) -> Planted:
    sides.move("torch", "2.10.0")
    sides.bad.update({"torch/version": "2.10.0+cu128", "packages/torch/text_version": "2.10.0+cu128"})
    error = f"OSError: {SITE}/torchaudio/lib/libtorchaudio.so: undefined symbol: torch_library_impl"
    return Planted((("package", "torchaudio"), ("package", "torch")), crash(sides, "import-error", error))


def package_gone(sides: Sides) -> Planted:
    for path in [one for one in sides.bad if one.startswith("packages/soundfile/")]:
        del sides.bad[path]
    return Planted((("package", "soundfile"),), crash(sides, "import-error", "ModuleNotFoundError: No module named 'soundfile'"))


def env_set(sides: Sides) -> Planted:
    sides.bad["servers/sglang/env/NCCL_P2P_DISABLE"] = "1"
    return Planted((("env-var", "NCCL_P2P_DISABLE"),), Symptom("slow"))


def env_unset(sides: Sides) -> Planted:
    del sides.bad["servers/sglang/env/NCCL_P2P_LEVEL"]
    return Planted((("env-var", "NCCL_P2P_LEVEL"),), Symptom("hang", "Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE)"))


def env_structured(sides: Sides) -> Planted:
    name = "PYTORCH_CUDA_ALLOC_CONF"
    sides.both({f"servers/sglang/env/{name}": "max_split_size_mb:512"})
    sides.bad[f"servers/sglang/env/{name}"] = "max_split_size_mb:512,expandable_segments:True"
    return Planted((("env-var", name),), crash(sides, "runtime-crash", "RuntimeError: CUDA error: invalid argument in custom_all_reduce.cuh:455"))


def env_threads(sides: Sides) -> Planted:
    sides.both({"servers/sglang/env/OMP_NUM_THREADS": "16"})
    sides.bad["servers/sglang/env/OMP_NUM_THREADS"] = "1"
    return Planted((("env-var", "OMP_NUM_THREADS"),), Symptom("slow"))


def launch_fraction(sides: Sides) -> Planted:
    sides.bad.update({f"servers/sglang/{part}/mem_fraction_static": 0.55 for part in ("args", "given")})
    error = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=0.55"
    return Planted((("launch-arg", "mem_fraction_static"),), crash(sides, "oom", error))


def launch_backend(sides: Sides) -> Planted:
    sides.bad.update({f"servers/sglang/{part}/attention_backend": "flashinfer" for part in ("args", "given")})
    error = "AssertionError: flashinfer attention backend does not support this head size"
    return Planted((("launch-arg", "attention_backend"),), crash(sides, "startup-crash", error))


def launch_quantization(sides: Sides) -> Planted:
    sides.bad.update({f"servers/sglang/{part}/kv_cache_dtype": "fp8_e4m3" for part in ("args", "given")})
    return Planted((("launch-arg", "kv_cache_dtype"),), Symptom("accuracy"))


def file_edited(sides: Sides) -> Planted:
    path = "sources/sglang/files/srt%2Fmodel_executor%2Fmodel_runner_kv_cache_mixin.py"
    sides.bad.update({path: f"sha256:{'ab' * 32} 33702", "sources/sglang/tree": f"sha256:{'cd' * 32}"})
    error = "File \"/root/sglang/python/sglang/srt/model_executor/model_runner_kv_cache_mixin.py\", line 80 in run\nNameError: name 'rest' is not defined"
    return Planted((("file|git", "model_runner_kv_cache_mixin"),), crash(sides, "startup-crash", error))


def git_dirty(sides: Sides) -> Planted:
    path = "python%2Fsglang%2Fsrt%2Fmanagers%2Fscheduler.py"
    sides.bad.update({"git/sglang/dirty": True, f"git/sglang/files/{path}": {"status": "M", "sha256": "ef" * 32, "only": None}})
    error = 'File "/root/sglang/python/sglang/srt/managers/scheduler.py", line 310 in run\nTypeError: run_batch() takes 2 positional arguments but 3 were given'
    return Planted((("file|git", "scheduler.py"), ("git", "/root/sglang")), crash(sides, "runtime-crash", error))


def git_head(sides: Sides) -> Planted:
    sides.bad.update({"git/sglang/head": "0a1b2c3d" * 5, "git/sglang/committed_at": "2026-03-03T08:00:00Z", "sources/sglang/tree": f"sha256:{'aa' * 32}",
                      "sources/sglang/files/version.py": f"sha256:{'bb' * 32} 22"})
    error = 'File "/root/sglang/python/sglang/srt/server_args.py", line 411 in run\nValueError: unknown argument'
    return Planted((("git", "sglang"),), crash(sides, "startup-crash", error))


def driver_pair(sides: Sides) -> Planted:
    new = "580.159.03"
    sides.bad.update({f"driver/library/{lib}/version": new for lib in ("libcuda", "libnvidia-ml")})
    sides.bad.update({f"driver/library/{lib}/path": f"/usr/lib/x86_64-linux-gnu/{lib}.so.{new}" for lib in ("libcuda", "libnvidia-ml")})
    sides.bad["os_packages/libnvidia-compute-580-server/version"] = f"{new}-0ubuntu0.24.04.1"
    return Planted((("driver", "NVIDIA driver"),), crash(sides, "device-lost", "NVMLError_LibRmVersionMismatch: Driver/library version mismatch"))


def kernel_without_module(sides: Sides) -> Planted:
    for path in [one for one in sides.bad if one.startswith(("driver/module", "modules/nvidia/", "driver/on_disk"))]:
        del sides.bad[path]
    new = "6.8.0-101-generic"
    sides.bad.update({"kernel/release": new, f"kernel/installed/{new}": {"nvidia_module": False, "path": None}, "kernel/booted_at": "2026-03-05T02:00:00Z",
                      "kernel/boot_id": "11111111-c30a-4962-8cf5-d7aa9fd2b70e"})
    return Planted((("kernel-module|driver|kernel", ""),), crash(sides, "device-lost", "RuntimeError: No CUDA GPUs are available"))


def gpu_holder(sides: Sides) -> Planted:
    error = "ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes."
    symptom = crash(sides, "startup-crash", error)
    gpu = sides.gpu()
    held = sides.random.randint(18_000, 60_000)
    sides.bad.update({f"gpus/{gpu}/holders/python3 train.py": {"count": 1, "used_mib": held, "pids": [77121]}, f"gpus/{gpu}/memory_used_mib": held + 24,
                      f"gpus/{gpu}/memory_free_mib": 97_887 - 637 - held - 24})
    return Planted((("gpu-process|gpu-memory", ""),), symptom)


def limit_files(sides: Sides) -> Planted:
    sides.bad["servers/sglang/limits/open_files"] = {"hard": 1_048_576, "soft": 1024}
    return Planted((("limit", "open files"),), crash(sides, "startup-crash", "OSError: [Errno 24] Too many open files"))


def limit_memlock(sides: Sides) -> Planted:
    sides.bad["servers/sglang/limits/locked_memory_bytes"] = {"hard": 65_536, "soft": 65_536}
    return Planted((("limit", "locked memory"),), crash(sides, "startup-crash", "NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory"))


def shm_small(sides: Sides) -> Planted:
    sides.bad.update({"shm/size_bytes": 67_108_864, "disks/%2Fdev%2Fshm/size_bytes": 67_108_864, "shm/free_bytes": 60_000_000})
    error = "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-a1b2 (size 9637888): No space left on device"
    return Planted((("limit|mount|disk", "/dev/shm"),), crash(sides, "startup-crash", error))


def mount_silent(sides: Sides) -> Planted:
    sides.bad["mounts/%2Fdata/answers"] = {"unknown": "timeout", "reason": "no answer in 2 s"}
    return Planted((("mount", "/data"),), Symptom("hang", "Load weight begin. avail mem=94.50 GB"))


def cache_older(sides: Sides) -> Planted:
    cache = {"path": "/root/.triton/cache", "files": 4210, "bytes": 9_120_000, "oldest": "2026-02-10T08:00:00Z", "newest": "2026-02-25T10:00:00Z",
             "entries": 412, "empty_files": [], "versions": []}
    sides.both({f"caches/triton/{name}": value for name, value in cache.items()})
    sides.good["packages/triton/installed_at"] = "2026-02-09T09:00:00Z"
    sides.move("triton", "3.5.2")
    sides.bad["caches/triton/newest"] = "2026-03-05T14:00:00Z"
    return Planted((("cache", "triton"), ("package", "triton")), Symptom("wrong-output"))


def cache_damaged(sides: Sides) -> Planted:
    cache = {"path": "/root/.triton/cache", "files": 4210, "bytes": 9_120_000, "oldest": "2026-02-10T08:00:00Z", "newest": "2026-02-25T10:00:00Z",
             "entries": 412, "empty_files": []}
    sides.both({f"caches/triton/{name}": value for name, value in cache.items()})
    sides.bad.update({"caches/triton/empty_files": ["AB12/kernel.json"], "kernel/booted_at": "2026-03-05T02:00:00Z"})
    error = f'File "{SITE}/triton/compiler/compiler.py", line 300 in run\njson.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)'
    return Planted((("cache", "triton"),), crash(sides, "startup-crash", error))


def two_owners(sides: Sides) -> Planted:
    path = "python/owned_twice/nvidia_cutlass_dsl%2Fpython_packages%2Fcutlass%2F__init__.py"
    sides.bad[path] = {"by": ["nvidia-cutlass-dsl", "nvidia-cutlass-dsl-libs-base"], "as": "nvidia-cutlass-dsl-libs-base"}
    sides.bad.update({"packages/nvidia-cutlass-dsl-libs-base/version": "4.3.4", "packages/nvidia-cutlass-dsl-libs-base/location": SITE})
    error = f"File \"{SITE}/nvidia_cutlass_dsl/python_packages/cutlass/__init__.py\", line 4 in run\nImportError: cannot import name '_mlir' from 'cutlass'"
    return Planted((("package|file", "cutlass"),), crash(sides, "import-error", error))


def text_differs(sides: Sides) -> Planted:
    sides.bad["packages/sgl-kernel/text_version"] = "0.3.19"
    error = f"File \"{SITE}/sgl_kernel/__init__.py\", line 8 in run\nAttributeError: module 'sgl_kernel' has no attribute 'moe_fused_gate'"
    return Planted((("package", "sgl-kernel"),), crash(sides, "startup-crash", error))


def package_altered(sides: Sides) -> Planted:
    sides.bad["packages/transformers/altered/transformers%2Fconfiguration_utils.py"] = {"size": 812, "recorded_size": 61_022, "sha256": "cd" * 32}
    sides.bad["packages/transformers/verified"] = {"files": 3, "altered": 1, "missing": 0, "unhashed": 0}
    error = f'File "{SITE}/transformers/configuration_utils.py", line 30 in run\nSyntaxError: unexpected EOF while parsing'
    return Planted((("package|file", "transformers"),), crash(sides, "startup-crash", error))


def mig_enabled(sides: Sides) -> Planted:
    error = "RuntimeError: No CUDA GPUs are available"
    symptom = crash(sides, "device-lost", error)
    for gpu in sides.gpus():
        sides.both({f"gpus/{gpu}/mig/devices": 0})
        sides.bad.update({f"gpus/{gpu}/mig/current": "Enabled", f"gpus/{gpu}/mig/pending": "Enabled"})
    return Planted((("mig", ""),), symptom)


def ecc_growth(sides: Sides) -> Planted:
    gpu = sides.gpu()
    sides.bad.update({f"gpus/{gpu}/ecc/aggregate_uncorrected": 6, f"gpus/{gpu}/remapped_rows/uncorrected": 2, f"gpus/{gpu}/remapped_rows/pending": True,
                      f"gpus/{gpu}/ecc/volatile_uncorrected": 6})
    accepts = (("ecc", ""), ("gpu", gpu), ("gpu", str(sides.bad[f"gpus/{gpu}/pci"])))
    return Planted(accepts, crash(sides, "runtime-crash", "RuntimeError: CUDA error: uncorrectable ECC error encountered"))


def link_narrow(sides: Sides) -> Planted:
    gpu = sides.gpu()
    address = str(sides.bad[f"gpus/{gpu}/pci"])
    sides.bad.update({f"gpus/{gpu}/link/width": 4, f"pci/{address}/link/width": 4})
    return Planted((("pcie-link", address),), Symptom("slow"))


def gpu_lost(sides: Sides) -> Planted:
    symptom = crash(sides, "device-lost", "RuntimeError: CUDA error: no CUDA-capable device is detected")
    gpu = sides.gpu()
    address = str(sides.bad[f"gpus/{gpu}/pci"])
    for path in [one for one in sides.bad if one.startswith(f"gpus/{gpu}/")]:
        del sides.bad[path]
    sides.both({"gpus/count": 8})
    sides.bad.update({"gpus/count": 7, f"kernel_log/xid/{address}/79": 1})
    return Planted((("gpu", gpu), ("gpu", address)), symptom)


def power_limit(sides: Sides) -> Planted:
    sides.bad.update({f"gpus/{gpu}/power_limit_w": 300.0 for gpu in sides.gpus()} | {f"gpus/{gpu}/power_limit_requested_w": 300.0 for gpu in sides.gpus()})
    return Planted((("power-clock", ""),), Symptom("slow"))


def fabric_manager(sides: Sides) -> Planted:
    sides.both({"fabricmanager/version": "580.126.09", "services/nvidia-fabricmanager/active": "active", "pci_count/nvswitch": 4})
    sides.bad.update({"services/nvidia-fabricmanager/active": "failed", "fabricmanager/version": "580.105.08"})
    error = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized"
    return Planted((("service", "fabricmanager"),), crash(sides, "device-lost", error))


def disk_full(sides: Sides) -> Planted:
    sides.bad.update({"disks/%2F/free_bytes": 4096, "disks/%2F/used_bytes": 1_869_999_995_904})
    return Planted((("disk", "/"),), crash(sides, "startup-crash", "OSError: [Errno 28] No space left on device: '/root/.cache/torch_extensions'"))


def governor(sides: Sides) -> Planted:
    sides.bad["cpu/governor"] = "powersave"
    return Planted((("power-clock", "governor"),), Symptom("slow"))


CULPRITS: dict[str, Callable[[Sides], Planted]] = {
    one.__name__: one for one in (
        package_moved_and_named, package_moved_kernel, package_moved_slow, package_moved_wrong_output, package_dragged, package_gone, requirement_unmet,
        requirement_unmet_partner_unchanged, env_set, env_unset, env_structured, env_threads, launch_fraction, launch_backend, launch_quantization,
        file_edited, git_dirty, git_head, driver_pair, kernel_without_module, gpu_holder, limit_files, limit_memlock, shm_small, mount_silent, cache_older,
        cache_damaged, two_owners, text_differs, package_altered, mig_enabled, ecc_growth, link_narrow, gpu_lost, power_limit, fabric_manager, disk_full,
        governor)
}
