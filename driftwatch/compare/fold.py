"""Which changes only follow from another one: a digest from a version, a count from its files. One general table; it knows no incident."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from driftwatch.compare.change import Change
from driftwatch.compare.equal import is_same_version
from driftwatch.model import Known, Snapshot, matches

RUN_SPECIFIC = ("servers/*/args/random_seed", "servers/*/args/nccl_port")  # picked anew by each start unless somebody gives them


class Follow(NamedTuple):
    """A row of the table: a path that fits ``pattern`` follows the first of ``leaders`` that moved, where ``fits`` agrees.

    Leaders are filled from the named groups of the pattern; one that ends in ``/*`` is the first change below.
    """

    pattern: re.Pattern[str]
    leaders: tuple[str, ...]
    fits: Callable[[Change, Change], bool]


def _always(_change: Change, _leader: Change) -> bool:
    return True


def _value(change: Change) -> object:
    return change.bad.value if isinstance(change.bad, Known) else None


def _holds_its_value(change: Change, leader: Change) -> bool:
    """Tell whether the new value names the leader's new value: a user-space library that moved along with the module."""
    return isinstance(_value(leader), str) and str(_value(leader)) in str(_value(change))


def _is_its_version(change: Change, leader: Change) -> bool:
    return is_same_version(_value(change), _value(leader)) or _value(change) is None


def _has_same_sides(change: Change, leader: Change) -> bool:
    return (change.good, change.bad) == (leader.good, leader.bad)


def _is_of_driver(change: Change, leader: Change) -> bool:
    """Tell whether a package of the driver moved with it: to its version, or away with its old one."""
    gone = change.kind == "removed" and isinstance(change.good, Known) and isinstance(leader.good, Known)
    return _holds_its_value(change, leader) or (gone and str(leader.good.value) in str(change.good.value))  # type: ignore[union-attr]  # Known, see gone


def _went_along(change: Change, leader: Change) -> bool:
    """Tell whether both are gone, or both came."""
    return change.kind == leader.kind and change.kind in ("added", "removed")


def _differs_by_release(change: Change, leader: Change) -> bool:
    """Tell whether a kernel command line differs only in the release it names."""
    return _differs_by(change, *_texts(leader))


def _differs_by_environment(change: Change, leader: Change) -> bool:
    """Tell whether a value differs only in the folder of the virtual environment that it names, which is another now, as its interpreter tells."""
    good, bad = (text.rpartition("/bin/")[0] for text in _texts(leader))
    return _differs_by(change, good, bad)


def _texts(change: Change) -> tuple[str, str]:
    """Return both values of a change that are texts, else empty ones."""
    good, bad = (side.value if isinstance(side, Known) and isinstance(side.value, str) else "" for side in (change.good, change.bad))
    return good, bad


def _differs_by(change: Change, good: str, bad: str) -> bool:
    """Tell whether the values of a change are the same but for these two texts."""
    sides = [str(side.value) for side in (change.good, change.bad) if isinstance(side, Known)]
    return bool(good and bad) and len(sides) == 2 and sides[0].replace(good, "*") == sides[1].replace(bad, "*")


_PACKAGE = r"(?P<package>(?:pythons/[^/]+/)?packages/[^/]+)"
_FILES = r"(?P<key>[^/]+)"


def _row(pattern: str, *leaders: str, fits: Callable[[Change, Change], bool] = _always) -> Follow:
    return Follow(re.compile(pattern), leaders, fits)


TABLE = (
    _row(_PACKAGE + r"/(?:text_version|imported_version)", "{package}/version", fits=_is_its_version),
    _row(_PACKAGE + r"/text_file", "{package}/version", "{package}/text_version"),
    _row(_PACKAGE + r"/verified", "{package}/version", "{package}/altered/*", "{package}/missing/*", "{package}/record"),
    _row(_PACKAGE + r"/rewritten/(?P<file>[^/]+)", "{package}/altered/{file}", fits=_has_same_sides),
    _row(_PACKAGE + r"/(?:record|build|location|installer|direct_url|installed_at|requires|imported_file)", "{package}/version", "{package}/record"),
    _row(rf"sources/{_FILES}/files/.*", "git/{key}/head", "packages/{key}/version"),
    _row(rf"sources/{_FILES}/(?:tree|count)", "sources/{key}/files/*", "git/{key}/head", "packages/{key}/version"),
    _row(
        r"site_packages/(?P<module>[^/]+)/(?:tree|count)",
        *(f"packages/{{dist}}/{what}" for what in ("version", "record", "rewritten/*", "altered/*", "missing/*")), "sources/{module}/tree",
        "site_packages/{module}/tree",
    ),
    _row(rf"git/{_FILES}/dirty", "git/{key}/files/*"),
    _row(rf"git/{_FILES}/(?:committed_at|branch|ahead|behind)", "git/{key}/head"),
    _row(r"torch/(?:version|cuda|hip)", "packages/torch/version"),
    _row(r"driver/(?:version|on_disk/version|library/[^/]+/(?:version|path))", "driver/module/version", fits=_holds_its_value),
    _row(r"driver/library/[^/]+/path", "driver/library/libcuda/version", "driver/library/libnvidia-ml/version", fits=_holds_its_value),
    _row(r"cuda/driver", "driver/module/version", "driver/version"),
    _row(r"servers/(?P<server>[^/]+)/args/(?P<name>[^/]+)", "servers/{server}/given/{name}"),
    _row(r"servers/(?P<server>[^/]+)/[^/]+/(?P<what>env|limits|libraries)/(?P<name>[^/]+)", "servers/{server}/{what}/{name}", fits=_has_same_sides),
    _row(
        r"servers/(?P<server>[^/]+)/log/(?!(?:error|path|from|free_before_load_gib|free_after_load_gib)$).*",  # what a run came to, beside why it ended
        "servers/{server}/log/error", "servers/{server}/given/mem_fraction_static", "servers/{server}/args/mem_fraction_static",
    ),
    _row(r"servers/(?P<server>[^/]+)/running", "servers/{server}/log/error"),
    _row(r"modules/nvidia[^/]*/(?:version|srcversion)", "driver/module/version"),
    _row(r"modules/(?P<name>[^/]+)/(?:version|srcversion|taint|state|parameters/.*)", "modules/{name}/loaded"),
    _row(r"loader/(?:picks|also)/lib(?:cuda|nvidia-)[^/]*", "driver/module/version", fits=_holds_its_value),
    _row(r"libraries/(?P<family>[^/]+)/(?:files|folders)", "servers/sglang/libraries/{family}", "servers/vllm/libraries/{family}"),
    _row(r"libraries/lib(?:cuda|nvidia-)[^/]*/.*", "driver/module/version"),
    _row(r"firmware/gsp", "driver/module/version"),
    _row(r"servers/[^/]+/(?:[^/]+/)?libraries/lib(?:cuda|nvidia-)[^/]*", "driver/module/version", fits=_holds_its_value),
    _row(r"os_packages/[^/]*nvidia[^/]*/version", "driver/module/version", fits=_is_of_driver),
    _row(r"pci/[^/]+/driver", "driver/module/version", fits=_went_along),
    _row(r"gpus/.*|nvml/listed_by_kernel", "gpus/count", fits=_went_along),
    _row(r"container_runtime/nvidia_ctk", "os_packages/nvidia-container-toolkit/version"),
    _row(r"containers/(?P<name>[^/]+)/(?!image$).*", "containers/{name}/image", fits=_went_along),
    _row(r"disks/(?P<place>[^/]+)/.*", "mounts/{place}/source"),
    _row(r"services/(?P<name>[^/]+)/(?:sub|exit|said)", "services/{name}/active"),
    _row(r"services/(?P<unit>[^/]+)/env/(?P<name>[^/]+)", "servers/sglang/env/{name}", "servers/vllm/env/{name}", fits=_has_same_sides),
    _row(r"kernel/cmdline", "kernel/release", fits=_differs_by_release),
    _row(r"os/name", "os/version_id"),
    _row(r".*", "python/executable", fits=_differs_by_environment),
)


def folded(changes: list[Change], good: Snapshot, bad: Snapshot) -> list[Change]:
    """Return the changes with the volatile ones folded, and those that follow from another one folded and pointing to it."""
    moved = {change.path: change for change in changes if change.kind != "unknown"}
    first_below = _first_below(moved)
    return [_folded(change, moved, first_below, is_volatile=_is_volatile(change.path, good, bad)) for change in changes]


def _is_volatile(path: str, good: Snapshot, bad: Snapshot) -> bool:
    if good.is_volatile(path) or bad.is_volatile(path):
        return True
    return matches(path, RUN_SPECIFIC) and good.facts.get(_given(path)) == bad.facts.get(_given(path)) is None


def _given(path: str) -> str:
    return path.replace("/args/", "/given/")


def _first_below(moved: Mapping[str, Change]) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(moved):
        cut = path.find("/")
        while cut > 0:
            found.setdefault(path[:cut], path)
            cut = path.find("/", cut + 1)
    return found


def _folded(change: Change, moved: Mapping[str, Change], first_below: Mapping[str, str], *, is_volatile: bool) -> Change:
    if is_volatile:
        return Change(change.path, change.kind, change.good, change.bad, is_folded=True, follows=change.follows, detail=change.detail)
    if change.kind == "unknown":
        return change
    leader = _leader(change, moved, first_below)
    return change if leader is None else replace(change, is_folded=True, follows=leader)


def _leader(change: Change, moved: Mapping[str, Change], first_below: Mapping[str, str]) -> str | None:
    for row in TABLE:
        found = row.pattern.fullmatch(change.path)
        if found is None:
            continue
        for template in row.leaders:
            path = template.format_map({**found.groupdict(), "dist": _distribution(found.groupdict().get("module", ""))})
            path = first_below.get(path[:-2], "") if path.endswith("/*") else path
            if path in moved and path != change.path and row.fits(change, moved[path]):
                return path
    return None


def _distribution(module: str) -> str:
    """Return the distribution that most likely brought a module: the one of its name, as PEP 503 writes it."""
    return re.sub(r"[-_.]+", "-", module.removesuffix(".py")).lower()
