"""Containers: whether we are in one, which there are and how each was made, and how GPUs get into them: NVIDIA's runtime, CDI, docker's settings, Slurm.

NAME is the container's name; podman's (root's own) stand behind ``podman:``. A container with a name made up by docker gets a new one each time it is made.

| path | what |
|---|---|
| container_runtime/inside, inside_id (volatile) | docker, podman, kubernetes or lxc, or false; the id of the container we are in |
| containers/NAME/{image, digest, state, runtime} | as docker inspect has them; digest is that of the image's configuration, ``sha256:…`` |
| containers/NAME/{shm_bytes, memory_bytes, nano_cpus, cpuset, pids_limit, ulimits} | its limits, where there is one; shm_bytes is the size of its /dev/shm |
| containers/NAME/{ipc_mode, pid_mode, network_mode, privileged, capabilities_added, security_options, cgroup_parent} | what it shares, and may |
| containers/NAME/{devices, device_requests, mounts, command} | what was given to it, and what it runs; secrets masked |
| containers/NAME/{oom_killed, exit_code, error, restart_count, created_at} | how it ended, how often it was started again, and when it was made |
| containers/NAME/{id, pid, started_at} (volatile) | of its present run |
| containers/NAME/env/VARIABLE | what it was made with: listed variables, secrets as keyed digests |
| container_runtime/nvidia_ctk | version of NVIDIA's container toolkit |
| container_runtime/nvidia/SECTION.KEY | of /etc/nvidia-container-runtime/config.toml |
| container_runtime/docker/KEY | of /etc/docker/daemon.json |
| container_runtime/files/PATH | ``sha256:HEX`` of each of these settings files |
| container_runtime/cdi/FILE | {"kind", "devices", "driver": versions of the libraries that it names, "digest"} |
| slurm/version, slurm/{slurm, cgroup}/KEY, slurm/gres, slurm/files/PATH | of slurmd, and of its settings files |

A daemon that does not answer is asked once: ``containers`` is then unknown. Beyond 40 containers, running ones first, no more are looked at.
"""
from __future__ import annotations

from ..container_texts import (
    parse_cdi,
    parse_daemon,
    parse_gres,
    parse_inside,
    parse_inspect,
    parse_ps,
    parse_settings,
    parse_slurm,
    parse_toml,
    parse_version,
    refused,
)
from ..host import Host, Ran, sha256_of
from ..podman_files import parse_containers
from ..podman_files import parse_settings as parse_podman
from ..probe import Fact, Probe, Unknown, fact_path
from ..typed import Any, Callable, Dict, Iterator, List, Optional

PS_S = 3.0
INSPECT_S = 2.0
MOST = 40
FORMAT = "{{json .}}"
CDI = ("/etc/cdi", "/var/run/cdi")
PODMAN, PODMAN_RUN, PODMAN_DRIVERS = "/var/lib/containers/storage", "/run/containers/storage", ("overlay", "vfs", "btrfs")
SLURM = ("/etc/slurm", "/etc/slurm-llnl")


def collect(host: Host) -> Iterator[Fact]:
    """Yield what files tell, then what tools tell, at last what a daemon has to be asked for."""
    yield from _inside(host)
    yield from _settings(host, "/etc/nvidia-container-runtime/config.toml", "container_runtime/nvidia", parse_toml)
    yield from _settings(host, "/etc/docker/daemon.json", "container_runtime/docker", parse_daemon)
    yield from _digest(host, "/etc/containerd/config.toml", "container_runtime")
    yield from _cdi(host)
    yield from _slurm(host)
    yield from _tool(host, ["nvidia-ctk", "--version"], "container_runtime/nvidia_ctk")
    yield from _containers(host, "docker", "")
    for driver in PODMAN_DRIVERS:
        yield from _podman(host, driver)


def _inside(host: Host) -> Iterator[Fact]:
    told = [host.try_read(path) for path in ("/proc/1/cgroup", "/proc/self/mountinfo")]
    marks = [host.attempt(host.exists, path) is True for path in ("/.dockerenv", "/run/.containerenv")]
    cgroup, mounts = (text if isinstance(text, str) else "" for text in told)
    kind, number = parse_inside(cgroup, mounts, is_docker=marks[0], is_podman=marks[1])
    yield "container_runtime/inside", kind or next((one for one in told if isinstance(one, Unknown)), False)
    if kind and number:
        yield "container_runtime/inside_id", number


def _settings(host: Host, path: str, top: str, parse: Callable[[str], Dict[str, Any]]) -> Iterator[Fact]:
    """Yield the settings in a file and its digest; one that is not there tells nothing."""
    text = host.try_read(path)
    if isinstance(text, Unknown):
        yield top, text
    if isinstance(text, str):
        yield from _file(top.partition("/")[0], path, text)
        settings = host.attempt(parse, text)
        if isinstance(settings, Unknown):
            yield top, settings
        for key, value in sorted(settings.items()) if isinstance(settings, dict) else ():
            yield top + "/" + fact_path(key), host.mask.argument(key, value)


def _file(room: str, path: str, text: str) -> Iterator[Fact]:
    yield fact_path(room, "files", path), "sha256:" + sha256_of(text.encode("utf-8", "surrogateescape"))


def _digest(host: Host, path: str, room: str) -> Iterator[Fact]:
    text = host.try_read(path)
    if isinstance(text, Unknown):
        yield fact_path(room, "files", path), text
    elif text is not None:
        yield from _file(room, path, text)


def _cdi(host: Host) -> Iterator[Fact]:
    for folder in CDI:
        names = host.try_list(folder)
        if isinstance(names, Unknown):
            yield "container_runtime/cdi", names
        for name in names if isinstance(names, list) else ():
            text = host.try_read("%s/%s" % (folder, name))
            if isinstance(text, str):
                text = dict(parse_cdi(text), digest="sha256:" + sha256_of(text.encode("utf-8", "surrogateescape")))
            yield "container_runtime/" + fact_path("cdi", "%s/%s" % (folder, name)), text


def _slurm(host: Host) -> Iterator[Fact]:
    yield from _tool(host, ["slurmd", "-V"], "slurm/version")
    folder = next((one for one in SLURM if host.attempt(host.exists, one) is not False), SLURM[0])
    yield from _settings(host, folder + "/slurm.conf", "slurm/slurm", parse_slurm)
    yield from _settings(host, folder + "/cgroup.conf", "slurm/cgroup", parse_settings)
    gres = host.try_read(folder + "/gres.conf")
    if gres is not None:
        yield "slurm/gres", parse_gres(gres) if isinstance(gres, str) else gres


def _tool(host: Host, argv: List[str], path: str) -> Iterator[Fact]:
    """Yield the version that a tool tells; of one that is not there nothing."""
    ran = host.try_run(argv, 2.0)
    if isinstance(ran, Ran):
        ran = host.attempt(parse_version, ran.stdout) if ran.rc == 0 else Unknown("error", "%s: exit code %d: %s" % (" ".join(argv), ran.rc, ran.stderr[:120]))
    if ran is not None:
        yield path, ran


def _containers(host: Host, tool: str, lead: str) -> Iterator[Fact]:
    """Yield the containers that a tool lists. Each is inspected by itself; the first that does not answer in time ends it."""
    listed = _asked(host, [tool, "ps", "-a", "--no-trunc", "--format", FORMAT], PS_S, parse_ps)
    if isinstance(listed, Unknown):
        yield "containers", listed
    silent: Optional[Unknown] = None
    for number, one in enumerate(listed if isinstance(listed, list) else ()):
        top = fact_path("containers", lead + str(one.get("Names") or one["ID"][:12]))
        if number >= MOST:
            yield "containers", Unknown("error", "%s: more than %d containers, the others were not looked at" % (tool, MOST))
            return
        text = silent or _asked(host, [tool, "inspect", str(one["ID"])], INSPECT_S, str)
        silent = text if isinstance(text, Unknown) and text.status == "timeout" else silent
        yield from _container(host, top, one, text)


def _podman(host: Host, driver: str) -> Iterator[Fact]:
    """Yield root's podman containers of one storage driver, from podman's own files."""
    listed = host.try_read("%s/%s-containers/containers.json" % (PODMAN, driver))
    images = host.try_read("%s/%s-images/images.json" % (PODMAN, driver)) if isinstance(listed, str) else None
    found = host.attempt(parse_containers, listed, images if isinstance(images, str) else "[]") if isinstance(listed, str) else listed
    if isinstance(found, Unknown) and found.status != "not_recorded":
        yield "containers", found
    for one in found[:MOST] if isinstance(found, list) else ():
        top = fact_path("containers", "podman:" + one["name"])
        text = host.try_read("%s/%s-containers/%s/userdata/config.json" % (PODMAN, driver, one["id"]))
        facts = host.attempt(parse_podman, text, host.mask) if isinstance(text, str) else {}
        if isinstance(text, Unknown) or isinstance(facts, Unknown):
            yield top, text if isinstance(text, Unknown) else facts
        yield from _facts(top, dict(one, **(facts if isinstance(facts, dict) else {}), state=_podman_state(host, driver, one["id"])))


def _podman_state(host: Host, driver: str, number: str) -> Any:
    """Return running where the process that podman noted is there, exited where it is not, created where none was noted."""
    noted = host.try_read("%s/%s-containers/%s/userdata/pidfile" % (PODMAN_RUN, driver, number))
    if not isinstance(noted, str):
        return noted or "created"
    return "running" if host.attempt(host.exists, "/proc/" + noted.strip()) is True else "exited"


def _container(host: Host, top: str, listed: Dict[str, Any], text: Any) -> Iterator[Fact]:
    facts = host.attempt(parse_inspect, text, host.mask) if isinstance(text, str) else text
    if not isinstance(facts, dict):
        yield top, facts or Unknown("error", "inspect: gone while it was asked")
        facts = {"image": listed.get("Image"), "state": listed.get("State"), "id": listed["ID"]}
    yield from _facts(top, facts)


def _facts(top: str, facts: Dict[str, Any]) -> Iterator[Fact]:
    for name, value in sorted(facts.pop("env", {}).items()):
        yield top + "/" + fact_path("env", name), value
    for key, value in facts.items():
        if value is not None and key != "name":
            yield "%s/%s" % (top, key), value


def _asked(host: Host, argv: List[str], deadline_s: float, parse: Callable[[str], Any]) -> Any:
    """Return what a tool's answer means, None where there is no such tool, else Unknown."""
    ran = host.try_run(argv, deadline_s)
    return host.attempt(_answer, argv[0], ran, parse) if isinstance(ran, Ran) else ran


def _answer(tool: str, ran: Ran, parse: Callable[[str], Any]) -> Any:
    if ran.rc != 0:
        raise refused(tool, ran.stderr or ran.stdout)
    return parse(ran.stdout)


PROBES = (Probe(
    "containers", collect, deadline_s=10.0, cap_bytes=1 << 20,
    tells=("containers", "containers/*", "container_runtime/*", "slurm/*"),
    volatile=("containers/*/id", "containers/*/pid", "containers/*/started_at", "container_runtime/inside_id"),
    reads="docker ps and docker inspect, podman's own files (its commands write), nvidia-ctk --version, slurmd -V, "
          "settings files of docker, NVIDIA's runtime, CDI and Slurm",
    root_shows="docker's containers, where the user is not in group docker, and podman's"),)
