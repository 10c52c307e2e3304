"""What podman keeps of its containers in files: its lists of containers and images, and the OCI settings of a container. Pure: text in, values out.

Podman itself is never run: even ``podman ps`` takes locks, creates files and mounts.
"""
from __future__ import annotations

import json

from .probe import Unreadable
from .typed import Any, Dict, List

NO_LIMIT = 1 << 62  # as bytes: podman writes the largest number there is where nothing limits
RLIMIT = "RLIMIT_"


def parse_containers(text: str, images: str) -> List[Dict[str, Any]]:
    """Return id, name, image, digest (that of the image's configuration) and created_at of each container in ``containers.json``."""
    digests = {one.get("id"): "sha256:%s" % one.get("id") for one in _listed(images)}
    return [_container(one, digests) for one in _listed(text) if one.get("id")]


def parse_settings(text: str, mask: Any) -> Dict[str, Any]:
    """Return the facts of a container's ``config.json`` (OCI runtime specification), its listed variables under ``env``; secrets masked."""
    try:
        whole = json.loads(text)
        process, system = whole.get("process") or {}, whole.get("linux") or {}
        resources = system.get("resources") or {}
        pairs = [str(one).partition("=") for one in process.get("env") or ()]
        facts = {
            "command": mask.arguments([str(one) for one in process.get("args") or ()]), "cgroup_parent": (system.get("cgroupsPath") or "").rpartition("/")[0],
            "ulimits": {_limit(one): {"soft": _bounded(one.get("soft")), "hard": _bounded(one.get("hard"))} for one in process.get("rlimits") or ()},
            "mounts": sorted(_mount(one) for one in whole.get("mounts") or () if one.get("type") == "bind" and "/userdata/" not in str(one.get("source"))),
            "devices": sorted(str(one.get("path")) for one in system.get("devices") or ()),
            "memory_bytes": (resources.get("memory") or {}).get("limit"), "pids_limit": (resources.get("pids") or {}).get("limit"),
            "cpuset": (resources.get("cpu") or {}).get("cpus"), "env": {name: mask.value(name, value) for name, _, value in pairs if mask.is_shown(name)},
        }
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise Unreadable("config.json: no settings of a container in %r" % text[:80]) from None
    return {key: value for key, value in facts.items() if value}


def _listed(text: str) -> List[Dict[str, Any]]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable("podman: no JSON in %r" % text[:80]) from None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _container(one: Dict[str, Any], digests: Dict[Any, str]) -> Dict[str, Any]:
    try:
        told = json.loads(one.get("metadata") or "{}")
    except (ValueError, RecursionError):
        told = {}
    name = (one.get("names") or [one["id"][:12]])[0]
    return {"id": one["id"], "name": str(name), "image": told.get("image-name") if isinstance(told, dict) else None,
            "digest": digests.get(one.get("image")), "created_at": one.get("created")}


def _limit(one: Dict[str, Any]) -> str:
    return str(one.get("type")).replace(RLIMIT, "").lower()


def _bounded(number: Any) -> Any:
    return -1 if isinstance(number, int) and number >= NO_LIMIT else number


def _mount(one: Dict[str, Any]) -> str:
    return "%s: %s%s" % (one.get("destination"), one.get("source"), " (read only)" if "ro" in (one.get("options") or ()) else "")
