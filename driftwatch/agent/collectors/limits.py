"""Limits as they are configured, for what starts next: limits.conf, units of systemd, and the kernel's own settings.

What a running server really has stands under ``servers/SERVER/limits``.

| path | what |
|---|---|
| limits/security/DOMAIN/{soft,hard}/NAME | as in /etc/security/limits.conf and limits.d, the last line counts; ``*`` is ``everyone`` |
| limits/unit/UNIT/NAME | LimitNOFILE, LimitMEMLOCK, TasksMax, MemoryMax, CPUAffinity …: of this host's own services, and of those for containers and jobs |
| limits/systemd/NAME | DefaultLimitNOFILE and its kin in /etc/systemd/system.conf and its drop-ins |
| limits/sysctl/NAME | the kernel's setting as it is now: vm.max_map_count, kernel.numa_balancing, fs.file-max … |

Where a file or folder cannot be read, ``limits/security``, ``limits/unit``, ``limits/unit/UNIT`` or ``limits/systemd`` is unknown, and below it only what
counts for certain is told.
"""
from __future__ import annotations

from ..host import Host
from ..limit_texts import parse_limits_conf, parse_unit_limits
from ..probe import Fact, Probe, Unknown, fact_path
from ..typed import Any, Dict, Generator, Iterator, List, Tuple

SECURITY = "/etc/security/limits"
SYSTEMD = "/etc/systemd/system"
SHIPPED = ("/usr/lib/systemd/system/", "/lib/systemd/system/")
OF_INTEREST = ("docker.service", "containerd.service", "crio.service", "podman.service", "slurmd.service", "kubelet.service", "k3s.service", "ollama.service")
SYSCTLS = {
    "vm": "max_map_count overcommit_memory overcommit_ratio swappiness zone_reclaim_mode min_free_kbytes dirty_ratio dirty_background_ratio panic_on_oom",
    "kernel": "numa_balancing shmmax shmall shmmni sem pid_max dmesg_restrict yama.ptrace_scope perf_event_paranoid hung_task_timeout_secs io_uring_disabled"
              " sched_rt_runtime_us core_pattern apparmor_restrict_unprivileged_userns unprivileged_userns_clone unprivileged_bpf_disabled",
    "user": "max_user_namespaces",
    "fs": "file-max nr_open aio-max-nr inotify.max_user_watches inotify.max_user_instances",
    "net": "core.rmem_max core.wmem_max core.somaxconn core.netdev_max_backlog core.bpf_jit_enable core.bpf_jit_harden core.bpf_jit_limit"
           " ipv4.tcp_rmem ipv4.tcp_wmem ipv4.ip_local_port_range",
}


def collect(host: Host) -> Iterator[Fact]:
    """Yield the kernel's settings, then what the configuration files state."""
    for name in (top + "." + one for top, names in SYSCTLS.items() for one in names.split()):
        text = host.try_read("/proc/sys/" + name.replace(".", "/"))
        if text is not None:
            yield "limits/sysctl/" + name, parse_setting(text) if isinstance(text, str) else text
    yield from _security(host)
    yield from _systemd(host, "limits/systemd", [SYSTEMD + ".conf", *_below(host, SYSTEMD + ".conf.d")])
    yield from _units(host)


def parse_setting(text: str) -> Any:
    """Return a setting as a number, or as its words with single blanks."""
    words = " ".join(text.split())
    return int(words) if words.lstrip("-").isdigit() else words


def _below(host: Host, folder: str) -> List[Any]:
    """Return the ``.conf`` files in a folder, in the order in which they count; Unknown in their place where it cannot be listed."""
    names = host.try_list(folder)
    return [names] if isinstance(names, Unknown) else ["%s/%s" % (folder, name) for name in names or () if name.endswith(".conf")]


def _texts(host: Host, top: str, files: List[Any]) -> Generator[Fact, None, List[str]]:
    """Return the texts that certainly count: those behind the last one that could not be read. Yield that ``top`` is unknown where there is such a one."""
    texts: List[str] = []
    for file in filter(None, files):
        text = file if isinstance(file, Unknown) else host.try_read(file)
        if isinstance(text, Unknown):
            yield top, text
            texts.clear()
        texts += [text] if isinstance(text, str) else []
    return texts


def _security(host: Host) -> Iterator[Fact]:
    found: Dict[Tuple[str, str, str], str] = {}
    for text in (yield from _texts(host, "limits/security", [SECURITY + ".conf", *_below(host, SECURITY + ".d")])):
        found.update(parse_limits_conf(text))
    for where, value in found.items():
        yield fact_path("limits", "security", *where), parse_setting(value)


def _units(host: Host) -> Iterator[Fact]:
    """Yield the limits of each unit: this host's own file, else the shipped one, and the drop-ins after it."""
    names = host.try_list(SYSTEMD)
    if isinstance(names, Unknown):
        yield "limits/unit", names
        return
    own = set(names or ())
    units = {name for name in own if name.endswith(".service")} | {name[:-2] for name in own if name.endswith(".service.d")} | set(OF_INTEREST)
    for unit in sorted(units):
        files = [SYSTEMD + "/" + unit] if unit in own else [next((top + unit for top in SHIPPED if host.attempt(host.exists, top + unit) is True), "")]
        if host.attempt(host.link, files[0]) != "/dev/null":
            yield from _systemd(host, fact_path("limits", "unit", unit), [*files, *_below(host, SYSTEMD + "/" + unit + ".d")])


def _systemd(host: Host, top: str, files: List[Any]) -> Iterator[Fact]:
    found: Dict[str, str] = {}
    for text in (yield from _texts(host, top, files)):
        found.update(parse_unit_limits(text))
    for name, value in sorted(found.items()):
        yield "%s/%s" % (top, name), value


PROBES = (Probe(
    "limits", collect, deadline_s=5.0, tells=("limits", "limits/*"), reads="/etc/security/limits*, unit files in /etc/systemd and their drop-ins, /proc/sys"),)
