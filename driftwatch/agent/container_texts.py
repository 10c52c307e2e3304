"""What the tools and the settings files of containers and of Slurm say, as facts. Pure: text in, values out; secrets are masked by the caller's mask.

Knows docker's and podman's JSON, the plain part of TOML that NVIDIA's runtime is configured with, CDI specifications and Slurm's ``NAME=VALUE`` files.
"""
from __future__ import annotations

import json
import re

from .probe import Denied, Refusal, Unreadable
from .typed import Any, Dict, List, Regex, Tuple

_SHELLS = (("/docker/", "docker"), ("/docker-", "docker"), ("/kubepods", "kubernetes"), ("kubepods-", "kubernetes"), ("/libpod-", "podman"), ("/lxc/", "lxc"))
_ID = Regex(r"/containers/([0-9a-f]{64})/|(?:docker|libpod|cri-containerd)[-/]([0-9a-f]{64})")
_HOST = """
    ShmSize=shm_bytes IpcMode=ipc_mode PidMode=pid_mode NetworkMode=network_mode Runtime=runtime Memory=memory_bytes NanoCpus=nano_cpus CpusetCpus=cpuset
    PidsLimit=pids_limit Privileged=privileged CapAdd=capabilities_added SecurityOpt=security_options CgroupParent=cgroup_parent DeviceRequests=device_requests
"""
_STATE = "Status=state ExitCode=exit_code OOMKilled=oom_killed StartedAt=started_at Pid=pid"
_WHOLE = "Id=id Image=digest Created=created_at RestartCount=restart_count"
_ZERO_SAYS_SOMETHING = ("oom_killed", "exit_code", "shm_bytes")
_SLURM_NAMES = """
    GresTypes TaskPlugin ProctrackType SelectType SelectTypeParameters PrologFlags Prolog TaskProlog LaunchParameters CgroupPlugin PropagateResourceLimits
    PropagateResourceLimitsExcept AccountingStorageTRES SlurmdParameters
"""
_SLURM = {name.lower(): name for name in _SLURM_NAMES.split()}


def parse_inside(cgroup: str, mounts: str, *, is_docker: bool, is_podman: bool) -> Tuple[str, str]:
    """Return which container we are in (docker, podman, kubernetes, lxc, or "" for none) and its id, where it can be told.

    ``is_docker`` and ``is_podman``: whether the file is there that each puts into its containers.
    """
    found = _ID.search(mounts) or _ID.search(cgroup)
    kind = next((name for mark, name in _SHELLS if mark in cgroup), "")
    if not kind:
        kind = "kubernetes" if "/kubelet/pods/" in mounts else "podman" if is_podman else "docker" if is_docker else ""
    return kind, (found.group(1) or found.group(2)) if found else ""


def parse_ps(text: str) -> List[Dict[str, Any]]:
    """Return the containers that ``ps --format {{json .}}`` lists, running ones first."""
    try:
        found = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        raise Unreadable("ps: no JSON in %r" % text[:80]) from None
    listed = [one for one in found if isinstance(one, dict) and one.get("ID")]
    return sorted(listed, key=lambda one: (one.get("State") != "running", str(one.get("Names"))))


def refused(tool: str, errors: str) -> Refusal:
    """Return the refusal that a failed command's words stand for."""
    said = " ".join(errors.split())[:200]
    kind = Denied if re.search(r"permission denied|must be root|not permitted", said, re.IGNORECASE) else Unreadable
    return kind("%s: %s" % (tool, said or "failed without a word"))


def parse_inspect(text: str, mask: Any) -> Dict[str, Any]:
    """Return the facts of one container from ``inspect``, its variables under ``env``; values that are empty or that mean no limit are left out."""
    try:
        facts = _facts(json.loads(text)[0], mask)
    except (ValueError, LookupError, AttributeError, TypeError, RecursionError):
        raise Unreadable("inspect: no JSON list of a container in %r" % text[:80]) from None
    return {key: value for key, value in facts.items() if value or (key in _ZERO_SAYS_SOMETHING and value is not None)}


def _facts(whole: Dict[str, Any], mask: Any) -> Dict[str, Any]:
    host, config, state = (whole.get(key) or {} for key in ("HostConfig", "Config", "State"))
    facts: Dict[str, Any] = {"image": config.get("Image")}
    for source, names in ((whole, _WHOLE), (state, _STATE), (host, _HOST)):
        facts.update((name, source.get(key)) for key, name in (pair.split("=") for pair in names.split()))
    if facts["state"] == "running":
        facts["exit_code"] = None
    facts["error"] = mask.text(str(state.get("Error") or ""))
    facts["ulimits"] = {str(one["Name"]): {"soft": one.get("Soft"), "hard": one.get("Hard")} for one in host.get("Ulimits") or ()}
    facts["devices"] = sorted(str(one.get("PathOnHost")) for one in host.get("Devices") or ())
    facts["mounts"] = sorted(_mount(one) for one in whole.get("Mounts") or ())
    facts["command"] = mask.arguments([str(whole["Path"]), *map(str, whole.get("Args") or ())]) if whole.get("Path") else None
    pairs = (str(one).partition("=") for one in config.get("Env") or ())
    facts["env"] = {name: mask.value(name, value) for name, _, value in pairs if mask.is_shown(name)}
    return facts


def _mount(one: Dict[str, Any]) -> str:
    return "%s: %s%s" % (one.get("Destination"), one.get("Source") or one.get("Name"), "" if one.get("RW", True) else " (read only)")


def parse_daemon(text: str) -> Dict[str, Any]:
    """Return the settings of docker's daemon.json."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise Unreadable("daemon.json: no JSON: %s" % wrong) from None
    return found if isinstance(found, dict) else {}


def parse_toml(text: str) -> Dict[str, Any]:
    """Return the plain ``section.key`` values of a TOML file: texts, numbers, truths and lists of one line; anything else as its text."""
    found: Dict[str, Any] = {}
    section = ""
    for line in text.splitlines():
        plain = line.strip()
        key, sign, value = (piece.strip() for piece in plain.partition("="))
        if plain.startswith("["):
            section = plain.partition("]")[0].strip("[ ") + "."
        elif sign and not plain.startswith("#"):
            found[section + key] = _plain_value(value)
    return found


def _plain_value(text: str) -> Any:
    for piece in (text, text.rpartition("#")[0].strip()):
        try:
            return json.loads(piece)
        except (ValueError, RecursionError):
            continue
    return text.strip("'")


def parse_cdi(text: str) -> Dict[str, Any]:
    """Return what a CDI specification was made for: kind, device names, and the versions of the driver's libraries that it names."""
    lines = re.findall(r"^[ \t]*(?:- )?\"?name\"?:(.*)$", text, re.MULTILINE)
    names = [one.group(1).strip() for one in (re.fullmatch(r"\"?([^\",]+)\"?,?", line.strip()) for line in lines) if one]
    kind = re.search(r"\"?kind\"?:\s*\"?([\w./-]+)", text)
    return {"kind": kind.group(1) if kind else "", "devices": sorted(set(names)),
            "driver": sorted(set(re.findall(r"\b(?:libcuda|libnvidia-ml)\.so\.(\d+(?:\.\d+)+)", text)))}


def parse_settings(text: str) -> Dict[str, str]:
    """Return the ``NAME=VALUE`` settings of a file such as Slurm's cgroup.conf."""
    pairs = (line.partition("#")[0].partition("=") for line in text.split("\n"))
    return {name.strip(): value.strip() for name, mark, value in pairs if mark and re.fullmatch(r"\w+", name.strip())}


def parse_slurm(text: str) -> Dict[str, str]:
    """Return those settings of slurm.conf that decide which GPUs a step sees and what it may use."""
    return {_SLURM[key.lower()]: value for key, value in parse_settings(text).items() if key.lower() in _SLURM}


def parse_gres(text: str) -> List[str]:
    """Return the lines of gres.conf without comments, blanks made one."""
    lines = (" ".join(line.partition("#")[0].split()) for line in text.splitlines())
    return [line for line in lines if line]


def parse_version(text: str) -> str:
    """Return the first version in what a tool printed."""
    found = re.search(r"(?<!\d)\d+(?:\.\d+)+[\w.~+-]*", text)
    if found is None:
        raise Unreadable("no version in %r" % text[:80])
    return found.group()
