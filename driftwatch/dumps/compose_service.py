"""The settings of a Docker Compose service in the shape of ``docker inspect``, so that both are told by one parser. Pure: a map in, a map out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

_SIZE = re.compile(r"(?P<number>\d{1,15}(?:\.\d{1,6})?)\s?(?P<unit>[kmgt]?)(?:i?b)?\Z", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_HOST = {
    "ipc": "IpcMode", "pid": "PidMode", "network_mode": "NetworkMode", "runtime": "Runtime", "cpuset": "CpusetCpus", "cgroup_parent": "CgroupParent",
}


def inspected(service: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object that docker inspect would print of a service's container, as far as its settings tell it."""
    words = [*_words(service.get("entrypoint")), *_words(service.get("command"))]
    image = service.get("image")
    return {
        "Config": {"Image": image if isinstance(image, str) else None, "Env": list(_variables(service.get("environment")))},
        "HostConfig": _host(service), "Mounts": [mount for one in _list(service.get("volumes")) if (mount := _mount(one))],
        "Path": words[0] if words else None, "Args": words[1:],
    }


def _host(service: Mapping[str, Any]) -> dict[str, Any]:
    host: dict[str, Any] = {there: service[here] for here, there in _HOST.items() if isinstance(service.get(here), str)}
    limits = _below(service, "deploy", "resources", "limits")
    host["ShmSize"] = _bytes(service.get("shm_size"))
    host["Memory"] = _bytes(service.get("mem_limit") or limits.get("memory"))
    host["PidsLimit"] = _whole(service.get("pids_limit") or limits.get("pids"))
    host["Privileged"] = service.get("privileged") == "true"
    host["CapAdd"], host["SecurityOpt"] = _texts(service.get("cap_add")), _texts(service.get("security_opt"))
    host["Devices"] = [{"PathOnHost": one.partition(":")[0]} for one in _texts(service.get("devices"))]
    host["Ulimits"] = list(_limits(service.get("ulimits")))
    host["DeviceRequests"] = list(_requests(service))
    return host


def _below(service: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    value: Any = service
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    return [one for one in _list(value) if isinstance(one, str)]


def _words(value: Any) -> list[str]:
    """Return the words of a command: a list's own, or those of a text as a shell would split it."""
    if not isinstance(value, str):
        return _texts(value)
    try:
        return shlex.split(value.replace("\\\n", " ").replace("\\ ", " "))
    except ValueError:
        return value.split()


def _variables(value: Any) -> Iterator[str]:
    """Yield ``NAME=VALUE``; a name alone takes its value from elsewhere, so it tells nothing."""
    if isinstance(value, Mapping):
        yield from (f"{name}={told}" for name, told in value.items() if isinstance(told, str))
    else:
        yield from (one for one in _texts(value) if "=" in one)


def _bytes(value: Any) -> int | None:
    """Return a size in bytes; units are powers of 1024, as docker has them."""
    found = _SIZE.match(value) if isinstance(value, str) else None
    return int(float(found["number"]) * 1024 ** _POWERS[found["unit"].lower()]) if found else None


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value) else None


def _limits(value: Any) -> Iterator[dict[str, Any]]:
    for name, told in value.items() if isinstance(value, Mapping) else ():
        soft, hard = (told.get("soft"), told.get("hard")) if isinstance(told, Mapping) else (told, told)
        yield {"Name": name, "Soft": _whole(soft), "Hard": _whole(hard)}


def _requests(service: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the devices that a service asks for, by its own key or below ``deploy``; one without capabilities, which Compose demands there, is a piece."""
    if service.get("gpus") == "all":
        yield {"Driver": "", "Count": -1, "DeviceIDs": None, "Capabilities": [["gpu"]], "Options": None}
    reserved = _list(_below(service, "deploy", "resources", "reservations").get("devices"))
    for one in [*(one for one in reserved if isinstance(one, Mapping) and one.get("capabilities")), *_list(service.get("gpus"))]:
        if isinstance(one, Mapping):
            ids = _texts(one.get("device_ids")) or None
            count = -1 if one.get("count") == "all" or (ids is None and "count" not in one) else _whole(one.get("count")) or 0
            able = _texts(one.get("capabilities")) or ["gpu"]
            yield {"Driver": one.get("driver") or "", "Count": count, "DeviceIDs": ids, "Capabilities": [able], "Options": None}


def _mount(one: Any) -> dict[str, Any] | None:
    """Return a mount of the short form ``SOURCE:TARGET:MODE`` or of the long one."""
    if isinstance(one, Mapping):
        return {"Destination": one.get("target"), "Source": one.get("source"), "RW": one.get("read_only") != "true"} if one.get("target") else None
    source, colon, rest = str(one).partition(":")
    target, _, mode = rest.partition(":")
    return {"Destination": target, "Source": source, "RW": "ro" not in mode.split(",")} if colon else {"Destination": source, "Source": ""}
